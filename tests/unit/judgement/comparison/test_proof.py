"""What a proof measures again."""

import msgspec
import numpy as np
import pytest

from seatrial.commands.compare.wording import sentence
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.proof import MOST_BLOCKS, blocks_to_decide, judge_proof, lost_row, with_proofs
from seatrial.judgement.comparison.records import Comparison, Proof, ProofOutcome
from seatrial.model.imported import Sense
from seatrial.model.measurement import Estimate, Phase
from seatrial.model.run_values import MetricTable, RunMetric
from seatrial.model.verdict import ComparisonOutcome
from tests.support.run_tables import BANDWIDTH, JUMPING_PAIRS, LATENCY, complete_pairs, summaries, table, table_of


def compared(tables: list[MetricTable], runs: int) -> Comparison:
    first, second = (RunSet(name=name, runs=summaries(1 + at * runs, runs)) for at, name in enumerate("AB"))
    return compare(first, second, tables)


def with_sizes(*sizes: int) -> list[MetricTable]:
    return [
        table((3, 3), nodes=4, metric=msgspec.structs.replace(LATENCY, message_bytes=size), seed=size, of_runs=0.2)
        for size in sizes
    ]


def test_of_what_is_slower_the_greatest_loss_is_measured_again() -> None:
    found = compared([table((5, 5), slow={"n3": 0.9, "n5": 0.8})], 5)
    row = lost_row(found)
    assert row is not None
    assert row.subject.text == "node:n5"


def test_a_smaller_loss_that_is_surer_is_measured_again_before_a_greater_one() -> None:
    small = msgspec.structs.replace(LATENCY, message_bytes=64)
    unsteady = table((4, 4), nodes=4, metric=small, everything=1.13, of_runs=0.03)
    steady = table((4, 4), nodes=4, metric=BANDWIDTH, everything=0.88, of_runs=0.001)
    found = compared([unsteady, steady], 4)
    both = [metric.together for metric in found.metrics]
    assert [row.outcome for row in both] == [ComparisonOutcome.SLOWER, ComparisonOutcome.SLOWER]
    greatest, surest = sorted(both, key=lambda row: -row.loss)
    assert greatest.metric.name == small.name, "the case is about a greater loss that is less sure"
    assert greatest.ratio.low < 1 / surest.ratio.high
    row = lost_row(found)
    assert row is not None
    assert row.metric.name == BANDWIDTH.name


def test_a_small_loss_is_not_measured_again_for_a_great_one_however_sure_it_is() -> None:
    great = table((4, 4), nodes=4, metric=LATENCY, everything=1.5, of_runs=0.01)
    small = table((4, 4), nodes=4, metric=BANDWIDTH, everything=0.93, of_runs=0.0002, of_pairs=0.0002)
    row = lost_row(compared([great, small], 4))
    assert row is not None
    assert row.metric.name == LATENCY.name


def test_where_nothing_is_shown_to_be_slower_the_surest_loss_is_measured_again_not_the_greatest() -> None:
    steady = table((3, 3), nodes=4, metric=BANDWIDTH, everything=0.98, of_runs=0.008)
    found = compared([*with_sizes(1, 2, 4, 8, 16), steady], 3)
    rows = [row for metric in found.metrics for row in (metric.together, *metric.changed)]
    slower = {row.metric.name for row in rows if row.outcome is ComparisonOutcome.SLOWER}
    assert not slower, "the case is about losses that are not shown"
    greatest = max(rows, key=lambda row: row.loss)
    row = lost_row(found)
    assert row is not None
    assert (row.metric.name, greatest.metric.name != row.metric.name) == (BANDWIDTH.name, True)
    assert row.loss < greatest.loss


def test_single_runs_have_no_certainty_and_the_greatest_loss_is_measured_again() -> None:
    small = table((1, 1), nodes=4, metric=LATENCY, everything=1.02)
    found = compared([small, table((1, 1), nodes=4, everything=0.9)], 1)
    row = lost_row(found)
    assert row is not None
    assert row.metric.name == BANDWIDTH.name


def test_a_proof_is_no_surer_than_the_jumps_of_its_pairs_permit() -> None:
    """The medians of n2's pairs agree within both sets by chance: 1.024, and 1.007 to 1.042 if nothing jumped."""
    lost = compared([table((4, 4), nodes=3, metric=LATENCY, slow={"n2": 1.03}, of_runs=1e-3, of_pairs=1e-3)], 4)
    again = table_of(LATENCY, complete_pairs(3), JUMPING_PAIRS[:, [0, 1, 3, 2, 5, 4]] * 1e-6)
    planned = Proof(facts=(), nodes=("n2",), outcome=ProofOutcome.UNTESTABLE, statement="")
    proof = judge_proof(planned, lost, [again], 2, {})
    assert proof.ratio is not None
    assert proof.subject is not None
    assert proof.subject.text == "node:n2"
    assert proof.ratio.value == pytest.approx(1.024, abs=0.001)
    assert proof.ratio.low < 1 < proof.ratio.high
    assert proof.outcome is ProofOutcome.UNTESTABLE


def test_a_confirmed_proof_decides_what_the_compared_runs_left_open() -> None:
    found = compared([table((1, 1), nodes=4, everything=0.9)], 1)
    assert found.outcome is ComparisonOutcome.INCONCLUSIVE, "the case is about too few runs"
    ratio = Estimate(value=0.9, low=0.88, high=0.92, confidence=0.95, runs=12, method="")
    lost = lost_row(found)
    assert lost is not None
    proof = Proof(facts=(), nodes=("n2",), outcome=ProofOutcome.CONFIRMED, statement="", subject=lost.subject,
                  metric=lost.metric, ratio=ratio)  # fmt: skip
    proved = with_proofs(found, [proof])
    assert (proved.outcome, proved.proofs) == (ComparisonOutcome.SLOWER, (proof,))
    assert proved.worst is not None
    assert (proved.worst.subject, proved.worst.ratio) == (lost.subject, ratio)
    said = sentence(proved)
    assert "10.0 % lower (95 % CI -12.0 to -8.0 %); " in said
    assert "confirmed: " in said
    assert "more run" not in said
    open_still = msgspec.structs.replace(proof, outcome=ProofOutcome.UNTESTABLE)
    assert with_proofs(found, [open_still]).outcome is ComparisonOutcome.INCONCLUSIVE


def printed(phase: Phase, before: list[float], after: list[float]) -> MetricTable:
    rate = RunMetric(phase=phase, variant="hpl", kernel=Sense.HIGHER, message_bytes=0, window_messages=0)
    return table_of(rate, (("all", "all"),), np.array([[value] for value in (*before, *after)]))


def test_the_main_figure_of_a_benchmark_is_measured_again_whatever_else_became_slower() -> None:
    main = printed(Phase.MAIN, [760, 763, 764], [605, 609, 615])
    other = printed(Phase.IMPORTED, [500, 500.1, 499.9], [100, 100.1, 99.9])
    row = lost_row(compared([main, other], 3))
    assert row is not None
    assert row.metric.main


@pytest.mark.parametrize(
    ("before", "after", "blocks"),
    [
        ([760, 763, 764], [605, 609, 615], 3),
        ([760, 700, 800], [640, 690, 600], 9),
        ([760, 600, 900], [740, 580, 890], MOST_BLOCKS),
        ([760], [600], 3),
    ],
)
def test_a_proof_has_as_many_blocks_as_the_variance_of_the_runs_asks_for(
    before: list[float], after: list[float], blocks: int
) -> None:
    assert blocks_to_decide(compared([printed(Phase.MAIN, before, after)], len(before))) == blocks
