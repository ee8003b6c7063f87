"""One row for each run of an archive, and what the last report said of a closed run.

A damaged run has a row that describes the damage, and hides no other.
"""

import contextlib
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from seatrial import __version__
from seatrial.archive import layout, reader
from seatrial.archive.contents import shorter
from seatrial.archive.export import samples_problem
from seatrial.archive.layout import DamagedRun, kept_file, read_record
from seatrial.archive.lease import Life, presumed
from seatrial.files.writing import own_folder
from seatrial.model.errors import ExitCode
from seatrial.model.measurement import node_of
from seatrial.model.monitoring import Standing
from seatrial.model.run import RunInfo

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
    if kept is None and (path is None or path.parent != folder):
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


CLOSED = "closed"
DAMAGED = "damaged"
"""Stands for the ending of a run that cannot be read."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """What `runs list` shows of a run."""

    run: str
    kind: str = ""
    started: str = ""
    ending: str
    launcher: str = ""
    nodes: int = 0
    samples: int | None = 0
    """Timed samples; None: the run is damaged."""
    folder: str
    state: str = DAMAGED
    """`closed`, `damaged`, or how an open run is (`lease.Life`)."""
    host: str = ""
    """The host of the process that works on an open run."""
    since: str = ""
    """The time since which the process works on an open run."""
    problem: str = ""
    """What is wrong with a damaged run, and what to do."""
    verdict: str = ""
    """The first word of the run's report; empty for an open run."""
    headline: str = ""
    """The first line of the run's report."""
    exit_code: int | None = None
    """The exit code of the run's report; None for an open run, and for one that was not judged."""
    unjudged: str = ""
    """Why a closed run has no verdict here, and what to do; empty for all others."""


def list_archive(archive: Path, node: str = "") -> list[RunRow]:
    """All runs, newest first, those still growing or cut off included; with `node` only runs of that node."""
    rows: dict[Path, RunRow] = {}
    for listed in reader.run_folders(archive):
        folder = reader.where_now(listed)  # it may be closed at this moment
        if (row := _row(folder, node)) is not None:
            rows[folder] = row
    return [*reversed(rows.values())]


def _has(info: RunInfo, node: str) -> bool:
    """Whether the run was to measure the node."""
    return node in {*info.nodes, *map(node_of, info.nodes)} or any(state.node == node for state in info.lost)


def _row(folder: Path, node: str) -> RunRow | None:
    """None for a run without the node. Of run.json only the row is kept: there may be many, and large ones."""
    try:
        info = reader.read_info(folder)
    except DamagedRun as error:
        return None if node else RunRow(run=folder.name, ending=DAMAGED, folder=str(folder), problem=str(error))
    if node and not _has(info, node):
        return None
    state, host, since = _state(folder)
    row = RunRow(
        run=info.run,
        kind=info.kind.value,
        started=info.started,
        ending=info.ending.value,
        launcher=info.launcher,
        nodes=len(set(map(node_of, info.nodes))),
        samples=info.contents.samples if info.contents else 0,
        folder=str(folder),
        state=state,
        host=host,
        since=since,
    )
    problem = str(samples_problem(folder) or "") if info.contents else ""
    if shorter(folder, info):
        problem = f"{folder / layout.JOURNAL_FILE} has another length than when the run was closed. {reader.RESTORE}"
    return (
        msgspec.structs.replace(row, ending=DAMAGED, state=DAMAGED, samples=None, problem=problem) if problem else row
    )


def _state(folder: Path) -> tuple[str, str, str]:
    """`closed`, or how an open run is, with host and time where a process works on it."""
    if not layout.is_open(folder):
        return CLOSED, "", ""
    state = presumed(folder)
    held = state.lease if state.life in (Life.RUNNING, Life.CLOSING, Life.OPEN) else None
    return state.life.value, held.host if held else "", held.since if held else ""
