"""Options that several commands share, and how their values are parsed."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from seatrial.model.errors import UsageError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def default_archive() -> Path:
    """$SEATRIAL_ARCHIVE, or seatrial-runs in the current folder."""
    return Path(os.environ.get("SEATRIAL_ARCHIVE") or "seatrial-runs")


Archive = Annotated[
    Path | None,
    typer.Option("--archive", help="Folder of runs.  [default: $SEATRIAL_ARCHIVE or ./seatrial-runs]", metavar="DIR"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def archive_folder(given: Path | None) -> Path:
    """The folder of runs, absolute, since jobs may start elsewhere."""
    return (given or default_archive()).absolute()


def seconds(text: str, option: str) -> float:
    """`90`, `90s`, `2m`, `1h` in seconds. Raises UsageError that shows the value."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h|)", text.strip())
    if not match or float(match.group(1)) <= 0:
        raise UsageError(f"{option} {text!r} is no length of time.", "Write 90s, 2m or 1h.")
    return float(match.group(1)) * UNITS[match.group(2)]


def width_and_colour() -> tuple[int, bool]:
    """Columns of the terminal, and whether it wants colour (NO_COLOR is heeded)."""
    import shutil

    terminal = sys.stdout.isatty()
    return shutil.get_terminal_size((100, 40)).columns, terminal and not os.environ.get("NO_COLOR")
