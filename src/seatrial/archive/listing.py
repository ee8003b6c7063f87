"""One row for each run of an archive. A damaged run has a row that describes the damage, and hides no other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout, reader
from seatrial.archive.contents import shorter
from seatrial.archive.export import sample_counts, samples_problem
from seatrial.archive.liveness import Life, presumed
from seatrial.archive.run_files import DamagedRun
from seatrial.archive.samples import NoDuckdb
from seatrial.model.placement import node_of
from seatrial.model.run import RunInfo, run_kind

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
    """Timed samples; None: no DuckDB or too little memory to count them, or they cannot be read."""
    folder: str
    state: str = DAMAGED
    """`closed`, `damaged`, or how an open run is (`liveness.Life`)."""
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
    uncounted = [folder for folder, row in rows.items() if row.samples is None and row.state == CLOSED]
    for folder, count in _counted(uncounted).items():
        rows[folder] = _with_samples(rows[folder], count)
    return [*reversed(rows.values())]


def _has(info: RunInfo, node: str) -> bool:
    """Whether the run was to measure the node."""
    return node in {*info.nodes, *map(node_of, info.nodes)} or any(state.node == node for state in info.lost)


def _counted(folders: Sequence[Path]) -> Mapping[Path, int | DamagedRun | None]:
    """Timed samples of runs that earlier versions closed, which did not record their number."""
    try:
        return sample_counts(folders)
    except NoDuckdb:
        return dict.fromkeys(folders)


def _with_samples(row: RunRow, samples: int | DamagedRun | None) -> RunRow:
    if isinstance(samples, DamagedRun):
        return msgspec.structs.replace(
            row, ending=DAMAGED, state=DAMAGED, samples=None, problem=row.problem or str(samples)
        )
    return msgspec.structs.replace(row, samples=samples)


def _row(folder: Path, node: str) -> RunRow | None:
    """None for a run without the node. Of run.json only the row is kept: there may be many, and large ones.

    The samples of a closed run whose number is not recorded are None: they are still to be counted.
    """
    try:
        info = reader.read_info(folder)
    except DamagedRun as error:
        return None if node else RunRow(run=folder.name, ending=DAMAGED, folder=str(folder), problem=str(error))
    if node and not _has(info, node):
        return None
    state, host, since = _state(folder)
    row = RunRow(
        run=info.run,
        kind=run_kind(info).value,
        started=info.started,
        ending=info.ending.value,
        launcher=info.launcher,
        nodes=len(set(map(node_of, info.nodes))),
        samples=info.contents.samples if info.contents else None if state == CLOSED else 0,
        folder=str(folder),
        state=state,
        host=host,
        since=since,
    )
    if shorter(folder, info):
        changed = f"{folder / layout.JOURNAL_FILE} has another length than when the run was closed. {reader.RESTORE}"
        return msgspec.structs.replace(row, ending=DAMAGED, state=DAMAGED, problem=changed)
    return _with_samples(row, samples_problem(folder) or row.samples) if info.contents else row


def _state(folder: Path) -> tuple[str, str, str]:
    """`closed`, or how an open run is, with host and time where a process works on it."""
    if not layout.is_open(folder):
        return CLOSED, "", ""
    state = presumed(folder)
    held = state.lease if state.life in (Life.RUNNING, Life.CLOSING, Life.OPEN) else None
    return state.life.value, held.host if held else "", held.since if held else ""
