"""What the last report said of a closed run, kept beside it, so that a list of runs need not judge every run again.

The file can be deleted at any time: it is written again by the next report or list.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.archive import layout
from seatrial.archive.inputs import MIB
from seatrial.archive.run_files import DamagedRun, read_record

FILE = "headline.json"
MOST_BYTES = MIB


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a report. `seatrial`: the version that judged; another version judges again."""

    seatrial: str
    verdict: str
    headline: str
    exit_code: int


def keep_headline(folder: Path, verdict: str, headline: str, exit_code: int) -> None:
    """Write it beside a closed run; an archive that cannot be written is left as it is."""
    if layout.is_open(folder):
        return
    line = Headline(seatrial=__version__, verdict=verdict, headline=headline, exit_code=exit_code)
    if read_headline(folder) == line:
        return
    temporary = folder / f".{FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):
        try:
            temporary.write_bytes(msgspec.json.encode(line))
            temporary.replace(folder / FILE)
        finally:
            temporary.unlink(missing_ok=True)


def read_headline(folder: Path) -> Headline | None:
    """None where there is none, it cannot be read, or another version wrote it."""
    try:
        line = read_record(folder, folder / FILE, Headline, MOST_BYTES)
    except DamagedRun:
        return None
    return line if line.seatrial == __version__ else None
