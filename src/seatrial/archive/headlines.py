"""What the last report said of a closed run: its first line, and how each node is.

Both are kept so that a list of runs, and monitoring, need not judge every run again. The owner's are beside the run,
and written when the run is closed; a reader's of another user's run are in the reader's cache. The files can be deleted
at any time: the next report or list writes them again.
"""

import contextlib
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from seatrial import __version__
from seatrial.archive import layout
from seatrial.archive.reader_cache import kept_file
from seatrial.archive.run_files import DamagedRun, read_record
from seatrial.files.writing import own_folder
from seatrial.model.errors import ExitCode
from seatrial.model.monitoring import Standing

FILE, NODES_FILE = "headline.json", "standings.json"
MOST_BYTES, MOST_NODES_BYTES = 64 << 10, 16 << 20
"""A hundred bytes a node; those of a first line are read by the thousand."""
MOST_CHARACTERS = 2000
WORD = re.compile(r"[A-Z][A-Z_ -]{0,30}|")
"""What every report has as its first word; of an imported run it is empty."""
_Record = TypeVar("_Record", "StoredHeadline", "Standings")


class StoredHeadline(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a report. `seatrial`: the version that judged; another version judges again."""

    seatrial: str
    verdict: str
    headline: str
    exit_code: int


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """How the nodes of a run are; none of a run that judges something else."""

    seatrial: str
    nodes: tuple[Standing, ...]


def keep_report(folder: Path, verdict: str, headline: str, exit_code: int, nodes: tuple[Standing, ...]) -> None:
    """Keep what the report of a closed run says; where nothing can be written it is not kept."""
    if layout.is_open(folder):
        return
    _keep(folder, FILE, StoredHeadline(seatrial=__version__, verdict=verdict, headline=headline, exit_code=exit_code))
    if nodes:
        _keep(folder, NODES_FILE, Standings(seatrial=__version__, nodes=nodes))


def _keep(folder: Path, name: str, record: _Record) -> None:
    path = kept_file(folder, name)
    if path is None or _read(path, type(record), MOST_NODES_BYTES) == record:
        return
    with contextlib.suppress(OSError), own_folder(path.parent) as own:
        own.replace(path.name, msgspec.json.encode(record))


def read_headline(folder: Path) -> StoredHeadline | None:
    """None where there is none, it cannot be read, or another version wrote it.

    Of another user's run that was not judged here, what its owner wrote counts, whatever the version: it says no more
    than the measurements, which are the owner's, too.
    """
    path = kept_file(folder, FILE)
    line = _sound(path) if path is not None else None
    if line is not None and line.seatrial == __version__:
        return line
    return _sound(folder / FILE) if path is None or path.parent != folder else None


def read_standings(folder: Path) -> tuple[Standing, ...] | None:
    """How the nodes of this user's run, or of root's, are; None as with `read_headline`."""
    path = kept_file(folder, NODES_FILE)
    kept = _read(path, Standings, MOST_NODES_BYTES) if path is not None else None
    if kept is None and path is not None and path.parent != folder:
        kept = _read(folder / NODES_FILE, Standings, MOST_NODES_BYTES)
    return kept.nodes if kept is not None and kept.seatrial == __version__ else None


def _sound(path: Path) -> StoredHeadline | None:
    """What any user may have written; None unless it looks like a headline."""
    line = _read(path, StoredHeadline, MOST_BYTES)
    if line is None:
        return None
    sound = WORD.fullmatch(line.verdict) and len(line.headline) <= MOST_CHARACTERS and line.exit_code in (*ExitCode,)
    return line if sound else None


def _read(path: Path, kind: type[_Record], most_bytes: int) -> _Record | None:
    try:
        return read_record(path.parent, path, kind, most_bytes)
    except DamagedRun:
        return None
