"""Nodes compared with what they did in the runs of a baseline: the third reference, beside limits and peers.

Of links the best pair of each node counts, of trials of nodes each figure. All of them are one family of tests.
"""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.drift.fact_words import value_text
from seatrial.drift.peer_groups import one_kernel
from seatrial.drift.severity import weight
from seatrial.judgement.nodes.run_values import node_values
from seatrial.locate.thresholds import EFFECT, GROSS_LOSS, LATENCY_EFFECT, LATENCY_STEP_S
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import ImportedValue, Sense
from seatrial.model.judgement import NodeVerdict
from seatrial.model.measurement import Estimate, node_of
from seatrial.model.node_trials import Measure, NodeTrials
from seatrial.model.past import EarlierRun, FactChange, Past, PastRatio
from seatrial.model.run import RecordedRun, RunInfo
from seatrial.model.run_values import Reals
from seatrial.model.settings import PRACTICAL, CheckSettings, Settings
from seatrial.model.subject import CLUSTER, Subject, SubjectKind, node, output
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, natural_sorted, some
from seatrial.statistics.estimates import ERROR_RATE
from seatrial.statistics.run_comparison import RunComparison, compare_runs
from seatrial.statistics.strata import adjusted_together

LATE_LOSS = 1 / 3
"""Loss of speed of small messages that matters if the past is one run, which does not show how much latencies vary:
round trips that take half as long again."""
MOST_ALIKE = 0.5
"""Losses of more than this share of the nodes are one finding on all of them."""
HARDWARE_WEIGHT = 72
"""Facts of hardware, frequency, power, topology and modes weigh as much; versions and settings of the kernel less."""
OUT, IN, LATENCY = "out", "in", "latency"
WORDS = {OUT: "bandwidth out", IN: "bandwidth in", LATENCY: "latency"}
Latest = Mapping[str, Mapping[str, float | None]]
"""Metric -> node -> value of this run; None: not measured."""


class Line(NamedTuple):
    """The smallest loss of one metric that matters, as a share of speed."""

    effect: float
    of_one_run: float = GROSS_LOSS
    """The smallest loss that matters if the past is one run."""
    figure: Measure | None = None


class PastJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the comparison with a baseline adds to a report; empty without one."""

    ratios: tuple[PastRatio, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def judge_past(
    recorded: RecordedRun,
    nodes: Sequence[NodeVerdict],
    trials: NodeTrials,
    others: Sequence[Finding],
    in_waits: Callable[[PastRatio], bool] = lambda _: False,
) -> PastJudgement:
    """`nodes`: best pairs of each, where pairs were measured; `others`: findings that are there already; `in_waits`:
    whether waits for a processor explain what a node lacks."""
    info = recorded.info
    if info.past is None:
        return PastJudgement()
    figures, lines = _figures(recorded, trials)
    effect = EFFECT if info.effect is None else info.effect
    late = LATENCY_EFFECT if info.latency_effect is None else info.latency_effect
    lines = {OUT: Line(effect), IN: Line(effect), LATENCY: Line(late, LATE_LOSS), **lines}
    latest: Latest = {
        OUT: {one.node: one.best_out_bytes_per_s for one in nodes},
        IN: {one.node: one.best_in_bytes_per_s for one in nodes},
        LATENCY: {one.node: one.best_latency_s for one in nodes},
        **figures,
    }
    kernels = ("", info.seatrial)  # others' figures are not compared
    runs = [run if run.seatrial in kernels else msgspec.structs.replace(run, figures={}) for run in info.past.runs]
    then = msgspec.structs.replace(info.past, runs=tuple(runs))
    ratios = tuple(
        msgspec.structs.replace(one, slower=False, in_waits=True) if one.slower and in_waits(one) else one
        for one in compare_past(then, latest, recorded.facts, lines)
    )
    return PastJudgement(
        ratios=ratios,
        findings=(*past_findings(info.past, ratios, others), *changed_nodes(info.settings, info.past)),
        notes=tuple(past_notes(info, info.past, ratios)),
    )


def _figures(recorded: RecordedRun, trials: NodeTrials) -> tuple[Latest, dict[str, Line]]:
    """Figures of the trials of nodes, and the loss of each that matters, by the name of the metric.

    Beside one run, a figure must have lost more than what would distinguish a node from its peers, too.
    """
    latest: dict[str, dict[str, float | None]] = {}
    lines: dict[str, Line] = {}
    coarse = trials.resolutions
    for figure in node_values(recorded.group_measurements, recorded.info.settings):
        measure = figure.metric.kernel
        if isinstance(measure, Measure):
            lines[figure.metric.name] = Line(measure.effect, max(GROSS_LOSS, coarse.get(measure, 0.0)), measure)
            latest.setdefault(figure.metric.name, {})[figure.node] = figure.value
    return latest, lines


def compare_past(
    past: Past, latest: Latest, facts: Mapping[str, NodeFacts], lines: Mapping[str, Line]
) -> tuple[PastRatio, ...]:
    """Every node in every metric that both have. Where nodes share a kernel, its scheduler decides on latencies."""
    compared = {}
    for metric, values in latest.items():
        names, columns = _columns([_of(run, metric) for run in past.runs], values)
        if names and not (metric == LATENCY and one_kernel(facts.values())):
            compared[metric] = (names, columns, compare_runs(*columns))
    chance = adjusted_together([comparison.subjects.p_value for *_, comparison in compared.values()])
    apart = adjusted_together([comparison.subjects.relative_p for *_, comparison in compared.values()])
    return tuple(
        ratio
        for (metric, (names, columns, comparison)), p_values, relative in zip(
            compared.items(), chance, apart, strict=True
        )
        for ratio in _judged(
            metric,
            names,
            columns,
            comparison,
            comparison.subjects.certain(p_values, relative <= ERROR_RATE),
            lines[metric],
        )
    )


def past_of_figure(past: Past, figure: ImportedValue) -> PastRatio | None:
    """The main figure of a benchmark, now over then, both as speeds: of a time its inverse. None: not measured then."""

    def speed(value: float) -> float:
        return 1 / value if figure.sense is Sense.LOWER else value

    runs = tuple(
        msgspec.structs.replace(run, figures={figure.name: {figure.node: speed(value)}})
        for run in past.runs
        if 0 < (value := run.figures.get(figure.name, {}).get(figure.node, 0.0)) < math.inf
    )
    latest = {figure.name: {figure.node: speed(figure.value)}}
    line = {figure.name: Line(PRACTICAL)}
    return next(iter(compare_past(msgspec.structs.replace(past, runs=runs), latest, {}, line)), None)


def slower_benchmark(past: Past, ratio: PastRatio, benchmark: str) -> Finding:
    """The finding on a benchmark whose main figure is slower than in the runs that it was to be compared with."""
    how = f"{share(ratio.loss)} slower than in {past_text(past)}"
    interval = f" ({share(ratio.ratio.confidence)} CI {ends(ratio.ratio)})" if len(past.runs) > 1 else ""
    nodes = [name for change in past.changed for name in change.nodes]
    finding = _finding(past, ratio, output(benchmark), f"{how}{interval}.", nodes)
    return msgspec.structs.replace(finding, brief=f"{FindingKind.SLOWER_THAN_BEFORE}: {how}")


def ends(ratio: Estimate) -> str:
    """`-9.2 to -7.0 %`: the ends of an interval of a ratio."""
    return f"{100 * (ratio.low - 1):+.1f} to {100 * (ratio.high - 1):+.1f} %"


def _judged(
    metric: str,
    names: Sequence[str],
    columns: tuple[Reals, Reals],
    comparison: RunComparison,
    certain: NDArray[np.bool_],
    line: Line,
) -> Iterator[PastRatio]:
    """The nodes of one metric. Of one run in the past nothing is certain, and only a large loss counts."""
    then, latest = columns
    alone = len(then) == 1
    least = max(line.effect, line.of_one_run) if alone else line.effect
    for place, name in enumerate(names):
        estimate = comparison.subjects.ratio(place, comparison.runs)
        ratio = PastRatio(node=name, metric=metric, ratio=estimate, slower=False, figure=line.figure)
        large = ratio.loss > least
        if metric == LATENCY:
            more_s = float(latest[0, place]) * ratio.loss
            large = ratio.ratio.value > 1 + least and more_s > LATENCY_STEP_S
        yield msgspec.structs.replace(ratio, slower=bool(large and (alone or certain[place])))


def _of(run: EarlierRun, metric: str) -> Mapping[str, float]:
    best = {OUT: run.out_bytes_per_s, IN: run.in_bytes_per_s, LATENCY: run.latency_s}
    return best[metric] if metric in best else run.figures.get(metric, {})


def _columns(
    then: Sequence[Mapping[str, float]], latest: Mapping[str, float | None]
) -> tuple[list[str], tuple[Reals, Reals]]:
    """Names of the nodes that both have, and their values: runs down, nodes across."""
    names = [name for name, value in latest.items() if value and any(run.get(name) for run in then)]
    rows = [[run.get(name) or math.nan for name in names] for run in then if any(run.get(name) for name in names)]
    return names, (np.array(rows, float), np.array([[latest[name] for name in names]], float))


def past_findings(past: Past | None, ratios: Sequence[PastRatio], others: Sequence[Finding]) -> list[Finding]:
    """Nodes that are slower than they were, and that no other finding of a measurement names."""
    faults = [one for one in others if one.at_fault and one.verdict is not Verdict.MISCONFIGURED]
    named = {one.subject.name for one in faults if one.subject.kind is SubjectKind.NODE}
    slower: dict[str, PastRatio] = {}
    for ratio in sorted(ratios, key=lambda one: one.loss):
        if ratio.slower and ratio.node not in named:
            slower[ratio.node] = ratio
    if past is None or not slower:
        return []
    everybody = {one.node for one in ratios}
    worst = max(slower.values(), key=lambda one: one.loss)
    if len(slower) > max(MOST_ALIKE * len(everybody), 1):
        names = some(natural_sorted(slower))
        what = f"{count(len(slower), 'node')} of {len(everybody)} ({names}) are slower than they were"
        how = f"{what}; {worst.node}: {_how_much(worst)} than in {past_text(past)}."
        return [_finding(past, worst, CLUSTER, how, list(slower))]
    return [
        _finding(
            past, one, node(one.node), f"Node {one.node} is slower than it was: {_how_much(one)} than in "
            f"{past_text(past)}.", [one.node]
        )
        for one in slower.values()
    ]  # fmt: skip


def _finding(past: Past, ratio: PastRatio, subject: Subject, how: str, nodes: Sequence[str]) -> Finding:
    """`nodes`: those of which the changed facts count."""
    changed = [_change_text(one) for one in past.changed if set(one.nodes) & set(nodes)]
    undo = "Undo what changed on one node and check again; " if changed else ""
    return Finding(
        kind=FindingKind.SLOWER_THAN_BEFORE,
        subject=subject,
        verdict=Verdict.SLOW,
        statement=f"{how} {_changes_text(past, changed)}",
        remedy=f"{undo}`seatrial compare {shlex.quote(past.name)} RUN` ranks all changes.",
        brief=f"{_how_much(ratio, brief=True)} than in {past.called}",
    )


def changed_nodes(settings: Settings | None, past: Past) -> Iterator[Finding]:
    """Returning nodes whose hardware or modes changed since their last good run; a partner's equal change excuses."""
    returning = settings.returning if isinstance(settings, CheckSettings) else ()
    for name in returning:
        own = [one for one in past.changed if name in one.nodes and set(one.nodes) <= set(returning)]
        if heavy := [one for one in own if weight(one.fact) >= HARDWARE_WEIGHT]:
            yield Finding(
                kind=FindingKind.HARDWARE_CHANGED,
                subject=node(name),
                verdict=FindingKind.HARDWARE_CHANGED.verdict,
                statement=f"Node {name} is not what it was. {_changes_text(past, list(map(_change_text, heavy)))}",
                remedy="Undo the change; if it is meant, `seatrial check --nodes` with this node and others makes a "
                "new good run.",
                brief=f"{_change_text(heavy[0])} since {past.facts_run}",
            )


def _how_much(past_ratio: PastRatio, *, brief: bool = False) -> str:
    """Bandwidth out 12 % lower (95 % CI -13 % to -11 %)."""
    ratio = past_ratio.ratio
    what = WORDS.get(past_ratio.metric, past_ratio.metric)
    text = f"{what} {share(abs(ratio.value - 1))} {'higher' if ratio.value > 1 else 'lower'}"
    if brief:
        return text
    if not math.isfinite(ratio.high):
        return f"{text} (one run, no interval)"
    return f"{text} ({share(ratio.confidence)} CI {ends(ratio)})"


def past_text(past: Past) -> str:
    """`5 runs of good, 2026-11-01 to 2026-11-05`."""
    days = sorted(one.started[:10] for one in past.runs)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{count(len(past.runs), 'run')} of {past.called}, {when}"


def references_text(past: Past, ratios: Sequence[PastRatio]) -> str:
    """`5 runs of good, 2026-11-01 to 2026-11-05: n3 lost most, 1.2 %`."""
    slowest = max(ratios, key=lambda one: one.loss)
    least = f"{slowest.node} lost most, {share(slowest.loss)}" if slowest.loss > 0 else "no node is slower"
    return f"{past_text(past)}: {least}"


def _change_text(change: FactChange) -> str:
    before, after = (value_text(change.fact, value) for value in (change.before, change.after))
    return f"{change.fact}: {before} → {after}"


def _changes_text(past: Past, changed: Sequence[str]) -> str:
    if not past.facts_run:
        return "The facts of that time are not kept."
    if not changed:
        return f"No recorded fact changed since {past.facts_run}."
    return f"Changed since {past.facts_run}: {some(changed)}."


def past_notes(info: RunInfo, past: Past, ratios: Sequence[PastRatio]) -> list[str]:
    """What qualifies the comparison with the past."""
    notes = []
    compared = {one.node for one in ratios}
    if missing := [name for name in info.nodes if not {name, node_of(name)} & compared]:
        which = some(missing)
        notes.append(f"Not compared with the past, for {past.called} has no value of them: {which}.")
    if len(past.runs) == 1:
        what = f"Compared with {past.called}, one run, which does not show how much runs vary"
        notes.append(f"{what}: losses below {share(GROSS_LOSS)} do not count.")
    if past.mpi_library and info.mpi_library and past.mpi_library != info.mpi_library:
        notes.append(f"The MPI library is not that of {past.called}: {past.mpi_library} then, {info.mpi_library} now.")
    if older := sorted({one.seatrial for one in past.runs if one.figures and one.seatrial} - {info.seatrial}):
        notes.append(
            f"Trials of nodes by another version of seatrial ({', '.join(older)}) are not compared with the past: its "
            "kernels may differ."
        )
    return notes
