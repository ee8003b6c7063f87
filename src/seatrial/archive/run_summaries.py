"""What a run was and under which conditions it measured, from its description and the first start of its probe."""

import shlex
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import SessionStarted, decode
from seatrial.archive.layout import DamagedRun, damage, opened_inside
from seatrial.archive.reader import read_info, run_folders
from seatrial.files.inputs import JOURNAL_BYTES, journal_lines
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.measurement import node_of
from seatrial.model.run import RunInfo, run_kind
from seatrial.model.run_values import RunSummary
from seatrial.model.settings import CheckSettings, PlacementSettings, RunSettings, SiteSettings
from seatrial.model.words import count

SESSION = b'"entry":"session"'
BEFORE_BYTES = 32 << 20
"""More than a journal has before the first start of the probe: the plan of the pairs."""
RANGE = ".."


def read_summary(folder: Path) -> RunSummary:
    """The summary of a closed run. Raises SeatrialError for an open run, DamagedRun for one that cannot be read."""
    if layout.is_open(folder):
        raise SeatrialError(f"{folder} is still growing or was cut off.", "seatrial runs recover closes it.")
    return summary_of(read_info(folder), _ranks_per_node(folder))


def summary_of(info: RunInfo, ranks_per_node: float | None = None) -> RunSummary:
    """The summary of a run, from its description alone."""
    site = _site(info)
    return RunSummary(
        run=info.run,
        kind=run_kind(info).value,
        started=info.started,
        ended=info.ended,
        nodes=info.nodes,
        leaf_of=dict(info.fabric.leaf_of),
        seatrial=info.seatrial,
        cluster=info.cluster,
        launcher=info.launcher,
        mpi_library=info.mpi_library,
        mpi=site.mpi if site else "",
        started_by=info.started_by,
        mpirun_options=site.mpirun_options if site else (),
        environment=info.environment,
        wrap=info.wrap,
        ranks_per_node=ranks_per_node,
        seconds=_seconds(info.started, info.ended),
        benchmark=_benchmark(info),
    )


def _benchmark(info: RunInfo) -> str:
    """`hpl --set order=40000, 64 ranks on 2 nodes`, or a check's program; empty for what is not a benchmark."""
    settings = info.settings
    if info.program is not None:
        return shlex.join(info.program.words)
    if not isinstance(settings, RunSettings):
        return ""
    words = [Path(settings.benchmark).stem, *(f"--set {name}={value}" for name, value in settings.parameters.items())]
    if settings.case is not None:
        words.append(f"--case {settings.case}")
    if settings.prepare:
        words.append(f"--prepare {shlex.quote(shlex.join(settings.prepare))}")
    ranks = f"{count(settings.ranks, 'rank')} on " if settings.ranks else ""
    return f"{' '.join(words)}, {ranks}{count(len({node_of(name) for name in info.nodes}), 'node')}"


def _site(info: RunInfo) -> SiteSettings | None:
    match info.settings:
        case None:
            return None
        case CheckSettings():
            return info.settings
        case PlacementSettings() | _:
            return info.settings.site


def _ranks_per_node(folder: Path) -> float | None:
    """The number at the first start of the probe; the journal is read up to it, which is near its beginning."""
    try:
        with opened_inside(folder, folder / layout.JOURNAL_FILE, JOURNAL_BYTES) as journal, damage():
            for line in journal_lines(journal, folder / layout.JOURNAL_FILE):
                if journal.tell() > BEFORE_BYTES:
                    return None
                if SESSION in line:
                    for entry in decode([line]):
                        if isinstance(entry, SessionStarted) and entry.nodes:
                            hosts = {str(rank.get("host", "")) for rank in entry.ranks} or set(entry.nodes)
                            return max(len(entry.ranks), len(entry.nodes)) / len(hosts)
    except (DamagedRun, OSError, msgspec.DecodeError):
        return None
    return None


def _seconds(started: str, ended: str) -> float | None:
    try:
        return max((_moment(ended) - _moment(started)).total_seconds(), 0.0)  # the end is in whole seconds
    except ValueError:
        return None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def runs_between(archive: Path, words: str) -> list[Path]:
    """Closed runs that began within `2026-11-01..2026-11-10`, both days included, oldest first.

    Either end may be empty, or have a time: `2026-11-01T12:00..`. Raises UsageError.
    """
    first, _, last = words.partition(RANGE)
    try:
        since = _moment(first) if first else None
        until = _moment(f"{last}T23:59:59.999999" if len(last) == len("2026-11-01") else last) if last else None
    except ValueError:
        raise UsageError(
            f"{words!r} is not a valid range of dates.", "Write 2026-11-01..2026-11-10, or 2026-11-01.. ."
        ) from None
    folders = []
    for folder in run_folders(archive):
        if layout.is_open(folder):
            continue
        try:
            began = _moment(read_info(folder).started)
        except (DamagedRun, ValueError):
            continue
        if (since is None or began >= since) and (until is None or began <= until):
            folders.append(folder)
    return folders
