"""One row for each run of an archive. A damaged run has a row that describes the damage, and hides no other."""

from collections.abc import Mapping
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
"""In place of the ending of a run that cannot be read."""


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
    """The host of the process that works on an open run ..."""
    since: str = ""
    """... and since when."""
    problem: str = ""
    """What is wrong with a damaged run, and what to do."""
    verdict: str = ""
    """The first word of the run's report; empty for an open run."""
    headline: str = ""
    """The first line of the run's report."""
    exit_code: int | None = None
    """Of the run's report; None for an open run, and for one that was not judged."""
    unjudged: str = ""
    """Why a closed run has no verdict here, and what to do; empty for all others."""


def list_archive(archive: Path, node: str = "") -> list[RunRow]:
    """All runs, newest first, those still growing or cut off included; with `node` only runs of that node."""
    infos: dict[Path, RunInfo | DamagedRun] = {}
    for listed in reader.run_folders(archive):
        folder = reader.where_now(listed)  # it may be closed at this moment
        try:
            infos[folder] = reader.read_info(folder)
        except DamagedRun as error:
            infos[folder] = error
    if node:
        infos = {folder: info for folder, info in infos.items() if isinstance(info, RunInfo) and _has(info, node)}
    counts = _counts({folder: info for folder, info in infos.items() if isinstance(info, RunInfo)})
    return [_row(folder, info, counts.get(folder)) for folder, info in reversed(infos.items())]


def _has(info: RunInfo, node: str) -> bool:
    """Whether the run was to measure the node."""
    return node in {*info.nodes, *map(node_of, info.nodes)} or any(state.node == node for state in info.lost)


def _counts(infos: Mapping[Path, RunInfo]) -> Mapping[Path, int | DamagedRun | None]:
    """Timed samples of each run: as recorded when it was closed, else counted."""
    recorded = {folder: info.contents.samples for folder, info in infos.items() if info.contents}
    unrecorded = [folder for folder in infos if folder not in recorded and not layout.is_open(folder)]
    counts: dict[Path, int | DamagedRun | None] = dict.fromkeys(infos, 0)
    for folder, samples in recorded.items():
        counts[folder] = samples_problem(folder) or samples
    try:
        counts |= sample_counts(unrecorded)
    except NoDuckdb:
        counts |= dict.fromkeys(unrecorded)
    return counts


def _row(folder: Path, info: RunInfo | DamagedRun, samples: int | DamagedRun | None) -> RunRow:
    if isinstance(info, DamagedRun):
        return RunRow(run=folder.name, ending=DAMAGED, folder=str(folder), problem=str(info))
    state, host, since = _state(folder)
    problem = str(samples) if isinstance(samples, DamagedRun) else ""
    if shorter(folder, info):
        problem = f"{folder / layout.JOURNAL_FILE} has another length than when the run was closed. {reader.RESTORE}"
    return RunRow(
        run=info.run,
        kind=run_kind(info).value,
        started=info.started,
        ending=DAMAGED if problem else info.ending.value,
        launcher=info.launcher,
        nodes=len(set(map(node_of, info.nodes))),
        samples=None if isinstance(samples, DamagedRun) else samples,
        folder=str(folder),
        state=DAMAGED if problem else state,
        host=host,
        since=since,
        problem=problem,
    )


def _state(folder: Path) -> tuple[str, str, str]:
    """`closed`, or how an open run is, with host and time where a process works on it."""
    if not layout.is_open(folder):
        return CLOSED, "", ""
    state = presumed(folder)
    held = state.lease if state.life in (Life.RUNNING, Life.CLOSING, Life.OPEN) else None
    return state.life.value, held.host if held else "", held.since if held else ""
