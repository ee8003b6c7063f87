"""Planned runs show the change that they were planned for, at the level at which a comparison calls it one."""

import numpy as np
import pytest

from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.planning import Claim, plan_runs
from seatrial.model.imported import Sense
from seatrial.model.measurement import Phase
from seatrial.model.run_values import MetricTable, RunMetric
from seatrial.model.verdict import ComparisonOutcome
from seatrial.statistics.estimates import ERROR_RATE, runs_to_decide
from seatrial.statistics.run_comparison import compare_runs
from tests.support.run_tables import summaries, table_of

DEVIATION, EFFECT = 0.02, 0.05
RATE = RunMetric(phase=Phase.SURVEY, variant="f [B/s]", kernel=Sense.HIGHER, message_bytes=0, window_messages=0)


def rates(chance: np.random.Generator, runs: int, change: float = 1.0) -> "np.ndarray":
    """The columns of one node have a row for each run."""
    return np.asarray(1e9 * change * np.exp(chance.normal(0, DEVIATION, (runs, 1))))


def of_nodes(values: "np.ndarray") -> MetricTable:
    return table_of(RATE, (("n1", "n1"),), values)


def test_nine_of_ten_times_the_planned_runs_show_the_change() -> None:
    shown = 0
    for seed in (2, 3, 4):
        chance = np.random.default_rng(seed)
        plan = plan_runs(summaries(1, 40), [of_nodes(rates(chance, 40))], EFFECT, {})
        (need,) = plan.needs
        assert need.runs is not None and need.deviation == pytest.approx(DEVIATION, rel=0.2)
        for _ in range(40):
            both = np.vstack([rates(chance, need.runs), rates(chance, need.runs, 1 - EFFECT)])
            sets = [RunSet(name=name, runs=summaries(first, need.runs)) for name, first in (("A", 1), ("B", 90))]
            shown += compare(sets[0], sets[1], [of_nodes(both)]).outcome is ComparisonOutcome.SLOWER
    assert shown >= 0.85 * 120


@pytest.mark.parametrize(("change", "deviation"), [(0.0, 0.012), (0.05, 0.02), (0.03, 0.01)])
def test_as_many_runs_as_would_decide_mostly_do(change: float, deviation: float) -> None:
    needed, chance = runs_to_decide(change, 0.02, deviation), np.random.default_rng(5)
    assert needed is not None
    decided = 0
    for _ in range(100):
        logs = chance.normal(0, deviation, (2, needed, 1))
        change_of_all = compare_runs(np.exp(logs[0]), np.exp(logs[1] - change)).together
        decided += bool(change_of_all.within(0.02)[0] or change_of_all.p_value[0] <= ERROR_RATE)
    assert decided >= 80


def test_a_figure_of_nodes_is_planned_with_as_many_runs_as_name_a_node() -> None:
    logs = np.random.default_rng(1).normal(0, 0.002, (20, 6))
    table = table_of(RATE, tuple((f"n{place}", f"n{place}") for place in range(6)), 1e9 * np.exp(logs))
    needs = {need.claim: need for need in plan_runs(summaries(1, 20), [table], 0.1, {}).needs}
    assert needs[Claim.EVERYTHING].more_runs == 1
    assert needs[Claim.THIS_NODE].more_runs == needs[Claim.ANY_NODE].more_runs == 2
