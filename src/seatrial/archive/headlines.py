"""What the last report said of a closed run, kept so that a list of runs need not judge every run again.

The owner's is beside the run, and written when the run is closed; a reader's of another user's run is in the reader's
cache. The file can be deleted at any time: it is written again by the next report or list.
"""

import contextlib
import re
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.archive import layout
from seatrial.archive.reader_cache import kept_file
from seatrial.archive.run_files import DamagedRun, read_record
from seatrial.files.writing import own_folder
from seatrial.model.errors import ExitCode

FILE = "headline.json"
MOST_BYTES = 64 << 10
MOST_CHARACTERS = 2000
WORD = re.compile(r"[A-Z][A-Z_ -]{0,30}|")
"""What every report has as its first word; of an imported run it is empty."""


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a report. `seatrial`: the version that judged; another version judges again."""

    seatrial: str
    verdict: str
    headline: str
    exit_code: int


def keep_headline(folder: Path, verdict: str, headline: str, exit_code: int) -> None:
    """Keep it for a closed run; where nothing can be written it is not kept."""
    if layout.is_open(folder):
        return
    line = Headline(seatrial=__version__, verdict=verdict, headline=headline, exit_code=exit_code)
    path = kept_file(folder, FILE)
    if path is None or _read(path) == line:
        return
    with contextlib.suppress(OSError), own_folder(path.parent) as own:
        own.replace(path.name, msgspec.json.encode(line))


def read_headline(folder: Path) -> Headline | None:
    """None where there is none, it cannot be read, or another version wrote it.

    Of another user's run that was not judged here, what its owner wrote counts, whatever the version: it says no more
    than the measurements, which are the owner's, too.
    """
    path = kept_file(folder, FILE)
    line = _read(path) if path is not None else None
    if line is not None and line.seatrial == __version__:
        return line
    return _read(folder / FILE) if path is None or path.parent != folder else None


def _read(path: Path) -> Headline | None:
    """What any user may have written; None unless it looks like a headline."""
    try:
        line = read_record(path.parent, path, Headline, MOST_BYTES)
    except DamagedRun:
        return None
    sound = WORD.fullmatch(line.verdict) and len(line.headline) <= MOST_CHARACTERS and line.exit_code in (*ExitCode,)
    return line if sound else None
