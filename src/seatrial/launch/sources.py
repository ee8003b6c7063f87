"""Where the probe's sources and the collector lie: in the installed package, or beside it in a checkout."""

from pathlib import Path

from seatrial.model.errors import SeatrialError


def source_folder(name: str) -> Path:
    """The folder `probe` or `collect`. Raises SeatrialError where the installation lost it."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_sources" / name, package.parent.parent / name):
        if folder.is_dir():
            return folder
    raise SeatrialError(f"seatrial's own folder {name!r} is missing.", "Install seatrial again.")


def collector() -> str:
    """The text of facts.sh, which nodes read on their standard input."""
    return (source_folder("collect") / "facts.sh").read_text(encoding="utf-8")
