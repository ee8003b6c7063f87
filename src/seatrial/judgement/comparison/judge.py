"""Two sets of runs compared as a whole: what the first line names, and the suspects."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.judgement.comparison.records import (
    CONDITIONS,
    Changed,
    Comparison,
    MetricChange,
    RankShare,
    Suspect,
    Unlike,
    unlike_runs,
    unlike_tables,
)
from seatrial.judgement.comparison.subjects import compare_subjects
from seatrial.judgement.comparison.verdicts import find_suspects, judge_metrics, new_problems
from seatrial.judgement.nodes.limits import base_hz_of, most_hz_of
from seatrial.limits.memory import memory_limits
from seatrial.limits.path import path_limit
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.run_values import MetricTable, RunSummary
from seatrial.model.settings import PRACTICAL
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import ComparisonOutcome
from seatrial.model.words import count, some
from seatrial.statistics.estimates import median

Facts = Mapping[str, NodeFacts]
ITERATIONS_APART = 4.0
"""Rounds whose numbers of iterations differ by more are mentioned."""


class RunSet(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison: its name, its runs, and the facts of its newest run that has any."""

    name: str
    runs: tuple[RunSummary, ...]
    facts: Facts = {}


def compare(
    first: RunSet,
    second: RunSet,
    tables: Sequence[MetricTable],
    *,
    threshold: float = PRACTICAL,
    across: Sequence[str] = (),
) -> Comparison:
    """`tables`: all metrics; their first rows are the runs of the first set, the others those of the second.

    `across`: conditions that may differ. Raises UsageError that names the conditions that differ otherwise.
    """
    rows = len(first.runs)
    unlike = unlike_runs(first.runs, second.runs)
    refuse([each for each in unlike if each.condition not in across], first.name, second.name)
    unlike += unlike_tables(tables, rows)
    refuse([each for each in unlike if each.condition not in across], first.name, second.name)
    leaf_of = {node: leaf for run in (*first.runs, *second.runs) for node, leaf in run.leaf_of.items()}
    metrics = judge_metrics(tables, rows, threshold, leaf_of)
    outcome, worst, undecided = _conclusion(metrics)
    suspects: tuple[Suspect, ...] = ()
    if first.facts and second.facts:
        losses, slower = _node_losses(tables, metrics, rows, leaf_of)
        all_slower = any(each.together.outcome is ComparisonOutcome.SLOWER for each in metrics)
        suspects = find_suspects(first.facts, second.facts, losses, slower, all_slower=all_slower)
    return Comparison(
        first=first.name,
        second=second.name,
        first_runs=first.runs,
        second_runs=second.runs,
        outcome=outcome,
        worst=worst,
        undecided=undecided,
        metrics=metrics,
        suspects=suspects,
        new_problems=new_problems(first.facts, second.facts) if suspects else (),
        across=tuple(each for each in unlike if each.condition in across),
        threshold=threshold,
        notes=_notes(first, second, tables, metrics),
        rank_shares=_rank_shares(first, second),
    )


def _ranks(first: RunSet, second: RunSet) -> tuple[float, ...]:
    """Ranks on a node before and after, if they differ."""
    ranks = [[run.ranks_per_node for run in runs.runs if run.ranks_per_node] for runs in (first, second)]
    return tuple(map(median, ranks)) if all(ranks) and median(ranks[0]) != median(ranks[1]) else ()


def _rank_shares(first: RunSet, second: RunSet) -> tuple[RankShare, ...]:
    """The shares of memory and link, if the numbers of ranks a node differ and facts give the limits."""
    if not (ranks := _ranks(first, second)):
        return ()
    before, after = (
        {name: limit / number for name, limit in _node_limits(side.facts).items()}
        for side, number in zip((first, second), ranks, strict=True)
    )
    return tuple(
        RankShare(of=name, before_bytes_per_s=before[name], after_bytes_per_s=after[name])
        for name in before
        if name in after
    )


def _clocks(first: RunSet, second: RunSet) -> list[str]:
    """What fewer ranks a node can gain by the clock: facts give its bounds."""
    ranks, facts = _ranks(first, second), next(iter(second.facts.values()), None)
    if not ranks or facts is None:
        return []
    base, most = base_hz_of(facts), most_hz_of(facts)
    if not base or not most or most <= base:
        return []
    fewer, more = sorted(ranks)
    return [
        f"Clocks: with {fewer:g} instead of {more:g} ranks a node fewer cores are busy, which may run faster: all "
        f"cores have {base / 1e9:.2f} GHz in any case, one core at most {most / 1e9:.2f} GHz."
    ]


def _node_limits(facts: Facts) -> dict[str, float]:
    """Bytes per second of the memory of the first node, and of its path to the second."""
    nodes = list(facts.values())[:2]
    memory = memory_limits(nodes[0]) if nodes else ()
    packages = [limit.limit_bytes_per_s for limit in memory if isinstance(limit, Limit)]
    limits = {"memory": sum(packages)} if packages and len(packages) == len(memory) else {}
    link = path_limit(*nodes) if len(nodes) > 1 else None
    return {**limits, "link": link.limit_bytes_per_s} if isinstance(link, Limit) else limits


def refuse(unlike: Sequence[Unlike], first: str, second: str) -> None:
    """Raise UsageError where there are any."""
    if not unlike:
        return
    named = "; ".join(f"{each.condition}: {_both(each)}" for each in unlike)
    words = " ".join(f"--across {each.condition}" for each in unlike if each.condition in CONDITIONS)
    remedy = f"If that is the change you want to measure, add {words}." if words else "Compare other runs."
    raise UsageError(f"{first} and {second} were not measured under the same conditions ({named}).", remedy)


def _both(unlike: Unlike) -> str:
    """Both values, lists of several apart from each other."""
    lists = "," in unlike.first + unlike.second and unlike.condition not in CONDITIONS
    return f"{unlike.first} before, {unlike.second} after" if lists else f"{unlike.first} and {unlike.second}"


def _conclusion(metrics: Sequence[MetricChange]) -> tuple[ComparisonOutcome, Changed | None, Changed | None]:
    """The outcome of everything, the subject that the first line names, which lost or changed most, and the open one.

    The main figures of benchmarks decide; where they stayed the same, another figure may be slower. What is the same as
    a whole is not decided while one subject is open.
    """
    main = [metric for metric in metrics if metric.metric.main] or metrics
    every, (outcome, worst) = _conclusion_of(metrics), _conclusion_of(main)
    if outcome is ComparisonOutcome.SAME and every[0] is ComparisonOutcome.SLOWER:
        outcome, worst = every
    undecided = max((each.undecided for each in main if each.undecided), key=lambda row: row.loss, default=None)
    if outcome is ComparisonOutcome.SAME and undecided:
        return ComparisonOutcome.INCONCLUSIVE, undecided, undecided
    return outcome, worst, undecided


def _conclusion_of(metrics: Sequence[MetricChange]) -> tuple[ComparisonOutcome, Changed | None]:
    everything = [row for metric in metrics for row in (metric.together, *metric.changed)]
    for outcome in (ComparisonOutcome.SLOWER, ComparisonOutcome.FASTER):
        if chosen := [row for row in everything if row.outcome is outcome]:
            return outcome, max(chosen, key=_prominence)
    undecided = [row for row in everything if row.outcome is ComparisonOutcome.INCONCLUSIVE]
    if undecided or not metrics:
        deviating = [row for row in undecided if row.deviates]
        nearest = max(
            deviating or undecided,
            key=lambda row: (row.metric.plateau_bytes, row.certainty, abs(row.loss)),
            default=None,
        )
        return ComparisonOutcome.INCONCLUSIVE, nearest
    return ComparisonOutcome.SAME, max((each.together for each in metrics), key=lambda row: abs(row.loss))


def _prominence(row: Changed) -> tuple[int, float]:
    """How much a row deserves the first line: by its change, in a curve the bandwidth of the largest message first.

    There a link settles; in the latency of one small size a single disturbed run changes most.
    """
    return row.metric.plateau_bytes, abs(row.loss)


def _lost(row: Changed) -> bool:
    """Whether a subject is slower, or one that is not decided lost more than the others did."""
    more = row.deviates and row.metric.sign * (row.beyond_others - 1) > 0
    return row.loss > 0 and (row.outcome is ComparisonOutcome.SLOWER or more)


def _node_losses(
    tables: Sequence[MetricTable], metrics: Sequence[MetricChange], first: int, leaf_of: Mapping[str, str]
) -> tuple[dict[str, float], set[str]]:
    """Node -> loss of speed in the metric that shows most, and the nodes that are slower."""
    slower = {
        node
        for metric in metrics
        for row in metric.changed
        if _lost(row) and row.subject.kind in (SubjectKind.NODE, SubjectKind.PAIR)
        for node in row.subject.name.split(">")
    }
    table_of = {table.metric: table for table in tables}
    worst = max(metrics, key=lambda each: max(row.loss for row in (each.together, *each.changed)), default=None)
    nodes = compare_subjects(table_of[worst.metric], first, leaf_of)[1] if worst else None
    if worst is None or nodes is None:
        return {}, slower
    losses = nodes.comparison.subjects.change * worst.metric.sign
    return {name: float(loss) for name, loss in zip(nodes.columns.names, losses, strict=True)}, slower


def _repeated(first: RunSet, second: RunSet, tables: Sequence[MetricTable]) -> list[str]:
    """Runs that have exactly the same values, as the same file imported twice has: they are not independent."""
    names: dict[bytes, list[str]] = {}
    for row, run in enumerate((*first.runs, *second.runs)):
        names.setdefault(b"".join(table.values[row].tobytes() for table in tables), []).append(run.run)
    return [
        f"{some(same)} have exactly the same values. If they are one measurement, or are rounded, the "
        "intervals are too narrow."
        for same in names.values()
        if len(same) > 1 and tables
    ]


def _notes(
    first: RunSet, second: RunSet, tables: Sequence[MetricTable], metrics: Sequence[MetricChange]
) -> tuple[str, ...]:
    notes = []
    rows = (len(first.runs), len(second.runs))
    if rows == (1, 1):
        notes.append(
            "One run each: how much whole runs vary is not known, so no change of all pairs together can be shown or "
            "excluded. A node or pair that changed otherwise than the others is named, but one run cannot show whether "
            "it stays so."
        )
    elif min(rows) == 1:
        notes.append(f"One set has one run: how much runs vary is known from the {max(rows)} runs of the other alone.")
    if any(not any(msgspec.structs.astuple(each.pairs)) and not each.metric.of_nodes for each in metrics):
        notes.append("No pair was measured in both sets: nodes are compared over the pairs that each run drew.")
    shared = {metric.metric for metric in metrics}
    notes += _repeated(first, second, [table for table in tables if table.metric in shared])
    apart = [table for table in tables if table.metric not in shared]
    if apart:
        notes.append(f"{count(len(apart), 'metric')} of one set alone were not compared.")
    for table in tables:
        numbers = table.iterations[table.iterations == table.iterations]
        if table.metric in shared and len(numbers) and max(numbers) > ITERATIONS_APART * min(numbers):
            notes.append(
                f"{table.metric.name}: rounds have {min(numbers):g} to {max(numbers):g} iterations, as their pace "
                "demanded; values of few iterations scatter more."
            )
    notes += _clocks(first, second)
    if not (first.facts and second.facts):
        notes.append("Facts of both sets are needed to name suspects; at least one set has none.")
    return tuple(notes)
