"""Nodes compared with what they did in the runs of a baseline: the third reference, beside limits and peers."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.drift.fact_words import value_text
from seatrial.drift.peer_groups import one_kernel
from seatrial.judgement.comparison.records import ERROR_RATE
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import NodeVerdict
from seatrial.model.measurement import Estimate
from seatrial.model.own_job import EarlierRun
from seatrial.model.past import Past, PastRatio
from seatrial.model.run import RunInfo
from seatrial.model.run_values import Reals
from seatrial.model.subject import CLUSTER, Subject, SubjectKind, node
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, natural_sorted, some
from seatrial.statistics.rank_sum import adjusted_together
from seatrial.statistics.run_comparison import CONFIDENCE, RunComparison, compare_runs

EFFECT, LATENCY_EFFECT = 0.03, 0.10
"""Practical effects, as shares: a smaller loss since then does not matter, unless the command line says otherwise."""
LATENCY_LEAST_S = 0.3e-6
ONE_RUN_EFFECT = 0.10
"""Of one run in the past it is not known how much runs vary: a smaller loss than this is not one."""
MOST_ALIKE = 0.5
"""With more than this share of the nodes it is one finding of all of them."""
MOST_NODES, MOST_FACTS = 6, 3
OUT, IN, LATENCY = "out", "in", "latency"
WORDS = {OUT: "bandwidth out", IN: "bandwidth in", LATENCY: "latency"}


class PastJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the comparison with a baseline adds to a report; empty without one."""

    ratios: tuple[PastRatio, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def judge_past(
    info: RunInfo, nodes: Sequence[NodeVerdict], facts: Mapping[str, NodeFacts], others: Sequence[Finding]
) -> PastJudgement:
    """`nodes`: best values of each; `others`: findings that are there already."""
    ratios = compare_past(info.past, nodes, facts, info.effect, info.latency_effect)
    return PastJudgement(
        ratios=ratios,
        findings=tuple(past_findings(info.past, ratios, others)),
        notes=tuple(past_notes(info.past, ratios, info.nodes, info.mpi_library)),
    )


def compare_past(
    past: Past | None,
    nodes: Sequence[NodeVerdict],
    facts: Mapping[str, NodeFacts],
    effect: float | None = None,
    latency_effect: float | None = None,
) -> tuple[PastRatio, ...]:
    """Every node in every metric that both have. Where nodes share a kernel, its scheduler decides on latencies."""
    if past is None:
        return ()
    latest = {
        OUT: {one.node: one.best_out_bytes_per_s for one in nodes},
        IN: {one.node: one.best_in_bytes_per_s for one in nodes},
        LATENCY: {one.node: one.best_latency_s for one in nodes},
    }
    compared = {}
    for metric, values in latest.items():
        names, columns = _columns([_of(run, metric) for run in past.runs], values)
        if names and not (metric == LATENCY and one_kernel(facts.values())):
            compared[metric] = (names, columns, compare_runs(*columns))
    chance = adjusted_together([comparison.subjects.p_value for *_, comparison in compared.values()])
    apart = adjusted_together([comparison.subjects.relative_p for *_, comparison in compared.values()])
    least = {
        OUT: EFFECT if effect is None else effect,
        LATENCY: LATENCY_EFFECT if latency_effect is None else latency_effect,
    }
    least[IN] = least[OUT]
    return tuple(
        ratio
        for (metric, (names, columns, comparison)), p_values, relative in zip(
            compared.items(), chance, apart, strict=True
        )
        for ratio in _judged(
            metric, names, columns, comparison, _certain(comparison, p_values, relative), least[metric]
        )
    )


def _judged(
    metric: str,
    names: Sequence[str],
    columns: tuple[Reals, Reals],
    comparison: RunComparison,
    certain: NDArray[np.bool_],
    effect: float,
) -> Iterator[PastRatio]:
    """The nodes of one metric. Of one run in the past nothing is certain, and only a large loss counts."""
    then, latest = columns
    alone = len(then) == 1
    least = max(effect, ONE_RUN_EFFECT) if alone else effect
    for place, name in enumerate(names):
        ratio = PastRatio(node=name, metric=metric, ratio=_estimate(comparison, place, len(then)), slower=False)
        large = ratio.loss > least
        if metric == LATENCY:
            more_s = float(latest[0, place]) * ratio.loss
            large = ratio.ratio.value > 1 + least and more_s > LATENCY_LEAST_S
        yield msgspec.structs.replace(ratio, slower=bool(large and (alone or certain[place])))


def _of(run: EarlierRun, metric: str) -> Mapping[str, float]:
    return {OUT: run.out_bytes_per_s, IN: run.in_bytes_per_s, LATENCY: run.latency_s}[metric]


def _columns(
    then: Sequence[Mapping[str, float]], latest: Mapping[str, float | None]
) -> tuple[list[str], tuple[Reals, Reals]]:
    """Names of the nodes that both have, and their values: runs down, nodes across."""
    names = [name for name, value in latest.items() if value and any(run.get(name) for run in then)]
    rows = [[run.get(name) or math.nan for name in names] for run in then if any(run.get(name) for name in names)]
    return names, (np.array(rows, float), np.array([[latest[name] for name in names]], float))


def _certain(comparison: RunComparison, p_values: Reals, relative: Reals) -> NDArray[np.bool_]:
    """By its own test, or where a node changed otherwise than the others, and its interval does not hold 1."""
    change = comparison.subjects
    away = ((change.low > 0) | (change.high < 0)) & (relative <= ERROR_RATE)
    with np.errstate(invalid="ignore"):
        same_way = np.sign(change.relative) == np.sign(change.change)
        return np.asarray((p_values <= ERROR_RATE) | (away & same_way))


def _estimate(comparison: RunComparison, place: int, runs: int) -> Estimate:
    low, value, high = (
        float(numbers[place])
        for numbers in (comparison.subjects.low, comparison.subjects.change, comparison.subjects.high)
    )
    bounded = math.isfinite(low) and math.isfinite(high) and high < math.log(1e6)
    return Estimate(
        value=math.exp(value),
        low=math.exp(low) if bounded else 0.0,
        high=math.exp(high) if bounded else math.inf,
        confidence=CONFIDENCE,
        runs=runs + 1,
        method=f"ratio to the geometric mean of {count(runs, 'run')}; Student's interval over runs",
    )


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
        names = some(natural_sorted(slower), MOST_NODES)
        what = f"{count(len(slower), 'node')} of {len(everybody)} ({names}) are slower than they were"
        statement = f"{what}; {worst.node}: {_how_much(worst)} than in {past_text(past)}. {_changed(past, slower)}"
        return [_finding(past, worst, CLUSTER, statement)]
    return [
        _finding(
            past, one, node(one.node), f"Node {one.node} is slower than it was: {_how_much(one)} than in "
            f"{past_text(past)}. {_changed(past, [one.node])}"
        )
        for one in slower.values()
    ]  # fmt: skip


def _finding(past: Past, ratio: PastRatio, subject: Subject, statement: str) -> Finding:
    return Finding(
        kind=FindingKind.SLOWER_THAN_BEFORE,
        subject=subject,
        verdict=Verdict.SLOW,
        statement=statement,
        remedy=f"Undo what changed on one node and check again; `seatrial compare {past.name} RUN` ranks all changes.",
        brief=f"{_how_much(ratio, brief=True)} than in {past.name}",
    )


def _how_much(past_ratio: PastRatio, *, brief: bool = False) -> str:
    """Bandwidth out 12 % lower (95 % CI -13 % to -11 %)."""
    ratio = past_ratio.ratio
    text = f"{WORDS[past_ratio.metric]} {share(abs(ratio.value - 1))} {'higher' if ratio.value > 1 else 'lower'}"
    if brief:
        return text
    if not math.isfinite(ratio.high):
        return f"{text} (one run, no interval)"
    return f"{text} ({share(ratio.confidence)} CI {100 * (ratio.low - 1):+.1f} to {100 * (ratio.high - 1):+.1f} %)"


def past_text(past: Past) -> str:
    """`5 runs of good, 2026-11-01 to 2026-11-05`."""
    days = sorted(one.started[:10] for one in past.runs)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{count(len(past.runs), 'run')} of {past.name}, {when}"


def _changed(past: Past, nodes: "Sequence[str] | Mapping[str, PastRatio]") -> str:
    """Which facts changed on these nodes since the newest run with facts."""
    if not past.facts_run:
        return "The facts of that time are not kept."
    changed = [one for one in past.changed if set(one.nodes) & set(nodes)]
    if not changed:
        return f"No recorded fact changed since {past.facts_run}."
    texts = [f"{one.fact}: {value_text(one.fact, one.before)} → {value_text(one.fact, one.after)}" for one in changed]
    return f"Changed since {past.facts_run}: {some(texts, MOST_FACTS)}."


def past_notes(past: Past | None, ratios: Sequence[PastRatio], nodes: Sequence[str], mpi_library: str) -> list[str]:
    """What qualifies the comparison with the past."""
    if past is None:
        return []
    notes = []
    compared = {one.node for one in ratios}
    if missing := [name for name in nodes if name not in compared]:
        notes.append(f"Not compared with the past, for {past.name} has no value of them: {some(missing, MOST_NODES)}.")
    if len(past.runs) == 1:
        least = share(ONE_RUN_EFFECT)
        what = f"{past.name} is one run, which does not show how much runs vary"
        notes.append(f"{what}: losses below {least} do not count.")
    if past.mpi_library and mpi_library and past.mpi_library != mpi_library:
        notes.append(f"The MPI library is not that of {past.name}: {past.mpi_library} then, {mpi_library} now.")
    return notes
