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


QUICK_FACTS = {"SEATRIAL_FACTS": "quick"}
"""Environment in which the collector leaves out what takes long and changes no verdict of a check."""


def collector() -> str:
    """The text of facts.sh and its parts, which nodes read on their standard input."""
    folder = source_folder("collect")
    files = [*sorted(folder.glob("parts/*.sh")), folder / "facts.sh"]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
