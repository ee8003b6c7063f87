"""What a measurement with and without a suspected change proves: confirmed, refuted, or not decided."""

import math
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.judgement.comparison.records import Changed, Comparison, Proof, ProofOutcome, Suspect
from seatrial.judgement.comparison.subjects import compare_subjects
from seatrial.model.measurement import Estimate
from seatrial.model.run_values import MetricTable
from seatrial.model.subject import FABRIC, Subject, SubjectKind
from seatrial.model.verdict import ComparisonOutcome
from seatrial.statistics.estimates import runs_to_detect

EXPLAINS = 0.5
"""A cause explains at least this part of the loss."""
FEWEST_BLOCKS, MOST_BLOCKS = 3, 10
"""Blocks of four runs each. Fewer leave an interval too wide for most losses; more take longer than anybody waits."""


def with_proofs(comparison: Comparison, proofs: Sequence[Proof]) -> Comparison:
    """The comparison with its proofs. A confirmed one shows a loss that the compared runs were too few to show."""
    proved = msgspec.structs.replace(comparison, proofs=tuple(proofs))
    confirmed = next((each for each in proofs if each.outcome is ProofOutcome.CONFIRMED), None)
    lost = lost_row(comparison)
    if (
        comparison.outcome is not ComparisonOutcome.INCONCLUSIVE
        or confirmed is None
        or confirmed.ratio is None
        or lost is None
    ):
        return proved
    shown = msgspec.structs.replace(
        lost,
        outcome=ComparisonOutcome.SLOWER,
        ratio=confirmed.ratio,
        after=lost.before * confirmed.ratio.value,
        more_runs=0,
    )
    return msgspec.structs.replace(proved, outcome=ComparisonOutcome.SLOWER, worst=shown)


def worth_testing(comparison: Comparison) -> tuple[Suspect, ...]:
    """Suspects that touch a slower node, or all of them where everything became slower; in their order."""
    everything = any(each.together.outcome is ComparisonOutcome.SLOWER for each in comparison.metrics)
    return tuple(
        each
        for each in comparison.suspects
        if each.slower_nodes or (everything and len(each.nodes) == each.of) or not each.all_slower
    )


def lost_row(comparison: Comparison) -> Changed | None:
    """What the proof measures again: of what is slower the surest of the great losses.

    Great are those that surely are at least half as large as the one whose interval ends farthest from no loss. The
    greatest of many losses is mostly chance, and of a restless metric: a proof that measures it again cannot decide.
    Where nothing is slower, the loss that is the surest. If a benchmark's main figure is slower, that is it.
    """
    rows = [row for metric in comparison.metrics for row in metric.rows if row.loss > 0]
    rows = [row for row in rows if row.metric.main and row.outcome is ComparisonOutcome.SLOWER] or rows
    slower = [row for row in rows if row.outcome is ComparisonOutcome.SLOWER]
    greatest = max(map(_least_loss, slower), default=0.0)
    great = [row for row in slower if _least_loss(row) >= EXPLAINS * greatest]
    return max(great or slower or rows, key=lambda row: (row.certainty, row.loss), default=None)


def blocks_to_decide(comparison: Comparison) -> int:
    """Blocks of A B B A that most likely decide whether the whole loss or less than half of it comes from a change.

    From how much the compared runs vary; at least `FEWEST_BLOCKS`, and at most `MOST_BLOCKS`.
    """
    row = lost_row(comparison)
    levels = next(
        (metric.levels for metric in comparison.metrics if row is not None and metric.metric == row.metric), None
    )
    if row is None or levels is None or levels.one_run == 0:  # one run each shows nothing
        return FEWEST_BLOCKS
    half = -math.expm1(-(1 - EXPLAINS) * abs(math.log(row.ratio.value)))
    runs = runs_to_detect(half, levels.one_run)
    return MOST_BLOCKS if runs is None else min(max(math.ceil(runs / 2), FEWEST_BLOCKS), MOST_BLOCKS)


def _least_loss(row: Changed) -> float:
    """The loss at the better end of its interval, a logarithm; 0 without bounds."""
    better = row.ratio.low if row.metric.sign > 0 else row.ratio.high
    return row.metric.sign * math.log(better) if 0 < better < math.inf else 0.0


def slowest_node(comparison: Comparison, suspect: Suspect) -> str:
    """The suspect's node that lost most; its first node if nothing shows a loss."""
    rows = [row for metric in comparison.metrics for row in metric.changed if row.subject.kind is SubjectKind.NODE]
    rows = [row for row in rows if row.subject.name in suspect.nodes and row.outcome is ComparisonOutcome.SLOWER]
    return max(rows, key=lambda row: row.loss).subject.name if rows else suspect.nodes[0]


def judge_proof(
    planned: Proof, comparison: Comparison, tables: Sequence[MetricTable], without: int, leaf_of: Mapping[str, str]
) -> Proof:
    """`tables`: the first `without` rows are runs without the change, the others runs with it."""
    row = lost_row(comparison)
    if row is None:
        return _decided(planned, ProofOutcome.UNTESTABLE, "nothing became slower, so there is no loss to explain", None)
    measured = _measured(row, planned.nodes, tables, without, leaf_of)
    if measured is None:
        return _decided(planned, ProofOutcome.UNTESTABLE, f"the benchmark did not measure {row.metric.name}", None)
    subject, ratio = measured
    planned = msgspec.structs.replace(planned, subject=subject, metric=row.metric)
    lost = abs(math.log(row.ratio.value))
    bounds = sorted(row.metric.sign * math.log(bound) if 0 < bound < math.inf else math.copysign(math.inf, bound - 1)
                    for bound in (ratio.low, ratio.high))  # fmt: skip
    if bounds[0] > 0 and bounds[1] >= EXPLAINS * lost:
        return _decided(planned, ProofOutcome.CONFIRMED, "without the change the loss is gone, or most of it", ratio)
    if bounds[1] < EXPLAINS * lost:
        return _decided(planned, ProofOutcome.REFUTED, "without the change most of the loss remains", ratio)
    return _decided(planned, ProofOutcome.UNTESTABLE, "more runs are needed to decide; increase --blocks", ratio)


def _decided(planned: Proof, outcome: ProofOutcome, statement: str, ratio: Estimate | None) -> Proof:
    return msgspec.structs.replace(planned, outcome=outcome, statement=statement, ratio=ratio)


def _measured(
    row: Changed, nodes: Sequence[str], tables: Sequence[MetricTable], without: int, leaf_of: Mapping[str, str]
) -> tuple[Subject, Estimate] | None:
    """The lost subject's ratio, with the change over without it; a changed node's where all pairs were the worst."""
    table = next((each for each in tables if each.metric == row.metric), None)
    if table is None:
        return None
    by_pair, by_node = compare_subjects(table, without, leaf_of)
    leading = by_pair or by_node
    everywhere = row.subject == FABRIC and len(nodes) >= (len(by_node.columns.names) if by_node else 0)
    if leading and everywhere:
        return FABRIC, leading.comparison.together.ratio(0, leading.comparison.runs)
    wanted = row.subject.name if row.subject != FABRIC else next(iter(nodes), "")
    for subjects in (by_node, by_pair):
        if subjects and wanted in subjects.columns.names:
            place = subjects.columns.names.index(wanted)
            ratio = subjects.comparison.subjects.ratio(place, subjects.comparison.runs)
            return Subject(kind=subjects.kind, name=wanted), ratio
    return None
