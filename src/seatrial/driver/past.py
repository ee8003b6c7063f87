"""The runs of a baseline as the reference of a check: what each node did then, and which facts have changed since."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from seatrial.archive import layout, samples
from seatrial.archive.clusters import distinguished, left_out, of_others
from seatrial.archive.layout import JOURNAL_FILE, is_open
from seatrial.archive.listing import read_headline
from seatrial.archive.reader import measurements_of, parse_all, read_entries, read_info, run_folders, trusted_runs
from seatrial.archive.run_sets import StoredSet, find_runs, load_tables, read_summary, summary_of
from seatrial.archive.run_values import printed_values
from seatrial.drift.changes import THE_NODE, changes
from seatrial.driver.clock import monotonic_s
from seatrial.files.inputs import BadInput
from seatrial.files.owners import is_own
from seatrial.judgement.comparison.records import unlike_runs
from seatrial.launch.contract import Hurries, Launcher, SeesOwnJob
from seatrial.locate.evidence import APART, Pair, run_value
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import ALL_NODES
from seatrial.model.measurement import Kernel, Measurement, Phase, node_of
from seatrial.model.node_trials import Measure
from seatrial.model.past import EarlierRun, FactChange, OwnJob, Past
from seatrial.model.run import Ending, RunInfo, RunKind
from seatrial.model.run_values import MetricTable, Reals, RunSummary
from seatrial.model.settings import CheckSettings, NodesSettings, RunSettings
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import median

CLOSING_S = 11.0
"""Seconds before the answer that are kept for reading facts a second time and judging."""
LEAST_S = 4.0
"""Measuring for less shows nothing."""
ROUND_TIMEOUT_S = 4.0
"""A hanging pair must not take all of the time."""
EFFECT = 0.10
"""The effect of bandwidth; no job is slow because of less."""
MOST_EARLIER, MOST_OWN_LOOKED_AT = 3, 50
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


def last_runs(archive: Path, info: RunInfo) -> Past | None:
    """The newest checks of this user and root of at least two of these nodes on this cluster that came to their end.

    None where there are none.
    """
    runs: list[EarlierRun] = []
    for folder in _own_cluster(trusted_runs(archive)[:MOST_OWN_LOOKED_AT], info)[0]:
        if len(runs) == MOST_EARLIER:
            break
        try:
            if run := _earlier(folder, info):
                runs.append(run)
        except (SeatrialError, BadInput, OSError):  # of a damaged run
            continue
    oldest_first = tuple(reversed(runs))
    names = ",".join(run.run for run in oldest_first)
    return Past(name=names, label=ITS_PAST, runs=oldest_first) if runs else None


def _own_cluster(folders: Sequence[Path], info: RunInfo) -> tuple[list[Path], str]:
    """The folders without those of another cluster of the same name, and a sentence on these."""
    infos: list[RunInfo] = []
    for folder in folders:
        with suppress(SeatrialError, BadInput, OSError):  # of a damaged run
            infos.append(read_info(folder))
    others = of_others(infos, info)
    return [folder for folder in folders if folder.name not in others], left_out(infos, others)


def _earlier(folder: Path, info: RunInfo) -> EarlierRun | None:
    if is_open(folder) or (folder / JOURNAL_FILE).stat().st_size > MOST_JOURNAL_BYTES:
        return None
    then = read_info(folder)
    common = set(info.nodes) & set(then.nodes)
    alike = (then.cluster, then.launcher) == (info.cluster, info.launcher) and then.kind is RunKind.CHECK
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
    return _best((kernel, pair, median(values)) for (kernel, pair), values in runs.items())


def _best(values: Iterable[tuple[Kernel, Pair, float]]) -> EarlierRun:
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    late: dict[str, float] = {}
    for kernel, (source, target), value in values:
        if kernel is Kernel.ONEWAY:
            sent[source] = max(sent.get(source, 0.0), value)
            received[target] = max(received.get(target, 0.0), value)
        elif kernel is Kernel.PINGPONG:
            for name in (source, target):
                late[name] = min(late.get(name, value), value)
    return EarlierRun(run="", started="", out_bytes_per_s=sent, in_bytes_per_s=received, latency_s=late)


NOT_YET_KNOWN = ("mpi-library", "ranks-per-node")
"""Conditions that the start of the probe decides; of these the report says whether they differ."""
MOST_CHANGES = 500
MOST_RUNS = 100
"""How many of the newest runs are looked at for one that was made alike."""
MOST_PASSED, MOST_LOOKED_AT = 5, 200
"""Earlier checks of a returning node to compare with, and runs to find them among, the newest first."""
ITS_PAST = "its past"
KERNELS = (Kernel.ONEWAY, Kernel.PINGPONG)


def find_past(settings: CheckSettings | NodesSettings | RunSettings, info: RunInfo) -> StoredSet | None:
    """The runs that `--baseline` names, before anything is measured; None without it.

    Raises UsageError where there are none, or they were measured under other conditions or on other nodes; DamagedRun,
    NoDuckdb.
    """
    if not settings.baseline:
        return None
    samples.require()
    kind = info.kind
    replay = settings.site.replay
    own = summary_of(read_info(replay)) if replay else summary_of(info)
    stored = find_runs(settings.site.archive, settings.baseline)
    runs = tuple(
        run
        for run in stored.runs
        if (run.summary.kind, run.summary.benchmark) == (kind, own.benchmark) and run.summary.run != info.run
    )
    if not runs and "--baseline" in settings.site.from_site:
        return None
    if not runs:
        what = f" of {own.benchmark}" if own.benchmark else ""
        raise UsageError(f"--baseline: {settings.baseline} has no run of `{kind.command}`{what}.", "Name other runs.")
    stored = msgspec.structs.replace(stored, runs=runs)
    earlier = distinguished(stored.summaries, own)
    unlike = [each for each in unlike_runs(earlier, [own]) if each.condition not in NOT_YET_KNOWN]
    if unlike:
        named = "; ".join(f"{each.condition}: {each.first} and {each.second}" for each in unlike)
        raise UsageError(
            f"--baseline: {settings.baseline} was not measured under the conditions of this run ({named}).",
            "Name other runs, or set a baseline of this configuration.",
        )
    if not {node for run in runs for node in run.summary.nodes} & set(info.nodes):
        raise UsageError(f"--baseline: {settings.baseline} has none of the nodes of this run.", "Name other runs.")
    return stored


def own_past(settings: CheckSettings, info: RunInfo) -> StoredSet | None:
    """The newest checks of this user and root, of the returning nodes, that passed under the conditions of this one.

    A node in another mode has other values and other facts: its active features are a condition, too.
    """
    own, wanted = summary_of(info), set(settings.returning)
    names: list[str] = []
    folders, apart = _own_cluster(trusted_runs(settings.archive)[:MOST_LOOKED_AT], info)
    for folder in folders:
        if len(names) == MOST_PASSED:
            break
        try:
            passed = (line := read_headline(folder)) is not None and line.verdict == Verdict.PASS
            summary = read_summary(folder) if passed else None
        except (SeatrialError, OSError):  # of a damaged run, or one that is open
            continue
        if summary is None or (summary.kind, summary.benchmark) != (info.kind, own.benchmark):
            continue
        if not wanted <= set(summary.nodes):
            continue
        features = read_info(folder).features
        if any(features.get(name) != info.features.get(name) for name in wanted):
            continue
        if not {each.condition for each in unlike_runs([summary], [own])}.difference(NOT_YET_KNOWN):
            names.append(folder.name)
    try:
        samples.require()
        stored = find_runs(settings.archive, ",".join(names)) if names else None
    except SeatrialError:  # without DuckDB the nodes are compared with limits and partners
        return None
    return stored and msgspec.structs.replace(stored, label=ITS_PAST, left_out=(apart,) if apart else ())


def with_past(
    info: RunInfo,
    stored: StoredSet,
    nodes: Sequence[str],
    facts: Mapping[str, NodeFacts],
    note: Callable[[str], None] | None = None,
) -> RunInfo:
    """The description of a run with what it is compared with: it stays there, whatever becomes of the baseline."""
    return msgspec.structs.replace(info, past=read_past(stored, nodes, facts, note))


def last_alike(archive: Path, info: RunInfo) -> Past | None:
    """The main figure of this user's newest run of the same benchmark on the same nodes, under the same conditions."""
    own = summary_of(info)
    for folder in [folder for folder in reversed(run_folders(archive)) if is_own(folder)][:MOST_RUNS]:
        try:
            then = summary_of(read_info(folder))
            if layout.is_open(folder) or set(then.nodes) != set(own.nodes) or unlike_runs([then], [own]):
                continue
            main = next((value for value in printed_values(folder) if value.main), None)
        except SeatrialError:  # damaged or not valid: nothing to compare with
            continue
        if main is not None:
            run = EarlierRun(run=then.run, started=then.started, figures={main.name: {main.node: main.value}})
            return Past(name=then.run, runs=(run,), mpi_library=then.mpi_library)
    return None


def read_past(
    stored: StoredSet, nodes: Sequence[str], facts: Mapping[str, NodeFacts], note: Callable[[str], None] | None = None
) -> Past:
    """`nodes`: those of the check; `facts`: theirs now; `note`: as `load_tables` takes it.

    Raises DamagedRun, TooLittleMemory.
    """
    metrics = load_tables([stored], trials=True, note=note)
    tables = {kernel: _survey(metrics, kernel) for kernel in KERNELS}
    wanted = frozenset(nodes)
    figures = [table for table in metrics if isinstance(table.metric.kernel, Measure) or table.metric.main]
    facts_run, texts = stored.newest_facts()
    before = parse_all({node: text for node, text in texts.items() if node in facts})
    return Past(
        name=stored.name,
        label=stored.label,
        runs=tuple(_values(tables, figures, row, run.summary, wanted) for row, run in enumerate(stored.runs)),
        mpi_library=stored.runs[-1].summary.mpi_library,
        facts_run=facts_run if before else "",
        changed=tuple(
            FactChange(fact=one.fact, before=one.before, after=one.after, nodes=one.nodes, along_with=one.along_with)
            for one in changes(before, {node: facts[node] for node in before})[:MOST_CHANGES]
            if one.fact != THE_NODE
        ),
    )  # fmt: skip


def _survey(tables: Sequence[MetricTable], kernel: Kernel) -> MetricTable | None:
    """The metric of the survey that most values are of."""
    fitting = [one for one in tables if one.metric.phase is Phase.SURVEY and one.metric.kernel is kernel]
    return max(fitting, key=lambda one: int(np.sum(~np.isnan(one.values))), default=None)


def _values(
    tables: Mapping[Kernel, MetricTable | None],
    figures: Sequence[MetricTable],
    row: int,
    run: RunSummary,
    nodes: frozenset[str],
) -> EarlierRun:
    """The best pair of each node in one run, and its figures; only pairs of which this run has both nodes."""
    best = _best(
        (kernel, pair, value)
        for kernel, table in tables.items()
        for pair, value in _pairs(table, row)
        if nodes.issuperset(pair)
    )
    hosts = {ALL_NODES, *map(node_of, nodes)}
    tried = {
        table.metric.name: {name: value for (name, _), value in _pairs(table, row) if name in hosts}
        for table in figures
    }
    shown = {name: values for name, values in tried.items() if values}
    return msgspec.structs.replace(best, run=run.run, started=run.started, figures=shown, seatrial=run.seatrial)


def _pairs(table: MetricTable | None, row: int) -> list[tuple[tuple[str, str], float]]:
    if table is None:
        return []
    values: Reals = table.values[row]
    return [(table.pairs[column], float(values[column])) for column in np.flatnonzero(~np.isnan(values))]
