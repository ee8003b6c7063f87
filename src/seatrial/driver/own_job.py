"""A check in a user's own job: it answers soon, and looks at the job itself and at earlier runs of its nodes."""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.layout import JOURNAL_FILE, is_open
from seatrial.archive.reader import measurements_of, read_entries, read_info, trusted_runs
from seatrial.driver.clock import monotonic_s
from seatrial.files.inputs import BadInput
from seatrial.launch.contract import Hurries, Launcher, SeesOwnJob
from seatrial.locate.evidence import APART, Pair, run_value
from seatrial.model.errors import SeatrialError
from seatrial.model.measurement import Kernel, Measurement
from seatrial.model.past import EarlierRun, OwnJob
from seatrial.model.run import Ending, RunInfo, RunKind, run_kind
from seatrial.model.settings import CheckSettings
from seatrial.statistics.estimates import median

CLOSING_S = 11.0
"""Seconds before the answer that are kept for reading facts a second time and judging."""
LEAST_S = 4.0
"""Measuring for less shows nothing."""
ROUND_TIMEOUT_S = 4.0
"""A hanging pair must not take all of the time."""
EFFECT = 0.10
"""The effect of bandwidth; no job is slow because of less."""
MOST_EARLIER, MOST_LOOKED_AT = 3, 50
"""Earlier runs to compare with, and runs of the archive to find them among, the newest first."""
MOST_JOURNAL_BYTES = 32 << 20
"""A journal of that size takes about a second to read."""
MOST_VALUE = 200
TELLING = re.compile(
    r"OMP_(NUM_THREADS|PROC_BIND|PLACES)|KMP_AFFINITY|GOMP_CPU_AFFINITY|LD_PRELOAD"
    r"|S(LURM|RUN)_CPUS_PER_TASK|SLURM_(CPU_BIND|CPU_BIND_TYPE|DISTRIBUTION|HINT|MPI_TYPE|NTASKS|NTASKS_PER_NODE)"
    r"|(OMPI|PRTE)_MCA_\w+|(UCX|FI|I_MPI|MPIR_CVAR|MPICH|MV2|PSM2|PSM3|HFI)_\w+"
)


def asked_for(settings: CheckSettings, launcher: Launcher) -> bool:
    """Whether this is a check of one's own job: inside an allocation that was there before."""
    return settings.answer_s is not None and bool(launcher.job) and settings.replay is None


def soon(settings: CheckSettings) -> CheckSettings:
    """The settings of a check whose answer is to come soon: no rounds under load, no patience for hanging pairs, and
    only losses that slow a job down, since smaller ones take longer to prove.
    """
    if not settings.answer_s:
        return settings
    return msgspec.structs.replace(
        settings,
        loaded=False,
        round_timeout_s=min(settings.round_timeout_s, ROUND_TIMEOUT_S),
        effect=EFFECT if settings.effect is None else settings.effect,
    )


def hurry(settings: CheckSettings, launcher: Launcher) -> None:
    """Make the launcher of a check whose answer is to come soon give up early on a node that has fallen silent."""
    if settings.answer_s and isinstance(launcher, Hurries):
        launcher.hurried = True


def with_time_left(settings: CheckSettings, began_s: float) -> CheckSettings:
    """The budget that is left of the time until the answer; `began_s`: when the check began, of `monotonic_s`."""
    if not settings.answer_s:
        return settings
    left_s = began_s + settings.answer_s - CLOSING_S - monotonic_s()
    return msgspec.structs.replace(settings, budget_s=min(settings.budget_s, max(left_s, LEAST_S)))


def look_at_job(launcher: Launcher, nodes: Sequence[str]) -> OwnJob:
    """The job's steps, where its ranks may run, and the variables that decide on both. Nothing here is an error."""
    view = launcher.own_job(nodes) if isinstance(launcher, SeesOwnJob) else OwnJob(job=launcher.job)
    variables = {name: value[:MOST_VALUE] for name, value in sorted(os.environ.items()) if TELLING.fullmatch(name)}
    return msgspec.structs.replace(view, variables=variables)


def earlier_runs(archive: Path, info: RunInfo) -> tuple[EarlierRun, ...]:
    """The newest checks of this user and root of at least two of these nodes on this cluster that came to their end."""
    runs: list[EarlierRun] = []
    for folder in trusted_runs(archive)[:MOST_LOOKED_AT]:
        if len(runs) == MOST_EARLIER:
            break
        try:
            if run := _earlier(folder, info):
                runs.append(run)
        except (SeatrialError, BadInput, OSError):  # of a damaged run
            continue
    return tuple(runs)


def _earlier(folder: Path, info: RunInfo) -> EarlierRun | None:
    if is_open(folder) or (folder / JOURNAL_FILE).stat().st_size > MOST_JOURNAL_BYTES:
        return None
    then = read_info(folder)
    common = set(info.nodes) & set(then.nodes)
    alike = (then.cluster, then.launcher) == (info.cluster, info.launcher) and run_kind(then) is RunKind.CHECK
    alike = alike and then.program == info.program
    if not alike or then.run == info.run or then.ending is not Ending.COMPLETE or len(common) < 2:
        return None
    values = best_values(measurements_of(read_entries(folder)), common)
    return msgspec.structs.replace(values, run=then.run, started=then.started) if values.out_bytes_per_s else None


def best_values(measurements: Sequence[Measurement], nodes: set[str]) -> EarlierRun:
    """The best pair of each node, by the median of the runs of each pair."""
    runs: defaultdict[tuple[Kernel, Pair], list[float]] = defaultdict(list)
    for measurement in measurements:
        pair = measurement.pair
        if measurement.phase not in APART and measurement.times_s and nodes.issuperset(pair):
            runs[measurement.shape.kernel, pair].append(run_value(measurement))
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    late: dict[str, float] = {}
    for (kernel, (source, target)), values in runs.items():
        value = median(values)
        if kernel is Kernel.ONEWAY:
            sent[source] = max(sent.get(source, 0.0), value)
            received[target] = max(received.get(target, 0.0), value)
        elif kernel is Kernel.PINGPONG:
            for name in (source, target):
                late[name] = min(late.get(name, value), value)
    return EarlierRun(run="", started="", out_bytes_per_s=sent, in_bytes_per_s=received, latency_s=late)
