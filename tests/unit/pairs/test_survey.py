"""The survey's plan: what a budget buys, and that the plan says what it leaves out."""

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.measurement import Kernel, Phase
from seatrial.pairs.survey import LATENCY, SurveyPlan, bandwidth_shape, plan_survey

WINDOW_S = 0.036


def plan(count: int, budget_s: float, seed: int = 1, pairs_at_once: int = 2) -> SurveyPlan:
    nodes = [f"n{place}" for place in range(count)]
    return plan_survey(nodes, pairs_at_once=pairs_at_once, window_s=WINDOW_S, budget_s=budget_s, seed=seed)


def one_way(planned: SurveyPlan) -> Counter[tuple[str, str]]:
    return Counter(pair for one in planned.rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs)


def seconds(planned: SurveyPlan) -> float:
    took = 0.0
    for one in planned.rounds:
        windows = one.shape.iterations + one.shape.warmup if one.shape.kernel is Kernel.ONEWAY else 0
        took += windows * WINDOW_S + 0.03
    return took


def test_with_time_enough_all_ordered_pairs_nine_times() -> None:
    planned = plan(6, 1e6)
    assert one_way(planned) == dict.fromkeys(permutations([f"n{place}" for place in range(6)], 2), 9)
    assert planned.design.name == "complete"
    assert planned.design.statement == "All 30 ordered pairs, in 9 rounds each, up to 2 pairs at once."


def test_a_smaller_budget_first_takes_repetitions_and_only_then_pairs() -> None:
    steps = [
        (one.design.repetitions, one.design.planned_pairs)
        for one in (plan(8, budget) for budget in (1e6, 30, 22, 14, 9, 6, 3, 1, 0.0))
    ]
    assert steps == sorted(steps, reverse=True)
    assert {pairs for repetitions, pairs in steps if repetitions > 1} == {56}
    assert {repetitions for repetitions, _ in steps} == {9, 5, 4, 2, 1}
    assert steps[-1] == (1, 8)


@given(count=st.integers(2, 21), budget_s=st.floats(0, 100), seed=st.integers(0, 5))
def test_never_nothing_and_every_node_has_a_partner(count: int, budget_s: float, seed: int) -> None:
    planned = plan(count, budget_s, seed)
    met = one_way(planned)
    assert {name for pair in met for name in pair} == {f"n{place}" for place in range(count)}
    assert sum(met.values()) == planned.design.planned_pairs * planned.design.repetitions
    least = 1 if count % 2 == 0 else 2
    if planned.design.planned_pairs > least * 2 * (count // 2):
        assert seconds(planned) <= budget_s


@given(count=st.integers(2, 15), budget_s=st.floats(0, 20), at_once=st.integers(1, 8))
def test_both_directions_of_every_planned_pair_and_its_latency(count: int, budget_s: float, at_once: int) -> None:
    planned = plan(count, budget_s, pairs_at_once=at_once)
    met = one_way(planned)
    assert all(met[target, source] == times for (source, target), times in met.items())
    small = Counter(frozenset(pair) for one in planned.rounds if one.shape == LATENCY for pair in one.pairs)
    assert small == Counter({frozenset(pair): times for pair, times in met.items()})
    assert all(len(one.pairs) <= at_once and one.phase is Phase.SURVEY for one in planned.rounds)


def test_the_statement_tells_the_share_and_what_it_cannot_see() -> None:
    design = plan(8, 1).design
    assert design.name == "sparse"
    assert design.statement.startswith("8 of 56 ordered pairs (14 %), once, up to 2 pairs at once: ")
    assert "would not be detected" in design.statement
    assert "--budget" in design.statement


def test_one_pair_at_a_time_is_said() -> None:
    assert plan(2, 1e6, pairs_at_once=1).design.statement == (
        "All 2 ordered pairs, in 9 rounds each, one pair at a time."
    )


def test_a_seed_decides_everything() -> None:
    assert plan(9, 5, seed=3) == plan(9, 5, seed=3)
    assert plan(9, 5, seed=3) != plan(9, 5, seed=4)


def test_which_pairs_a_small_budget_leaves_out_changes_with_the_seed() -> None:
    assert len({frozenset(one_way(plan(8, 1, seed=seed))) for seed in range(8)}) > 1


@pytest.mark.parametrize(
    ("window_s", "iterations"), [(0.036, 3), (0.01, 10), (1e-3, 100), (1e-9, 1000), (0.0, 1000), (5.0, 3)]
)
def test_windows_fill_a_tenth_of_a_second(window_s: float, iterations: int) -> None:
    assert bandwidth_shape(window_s).iterations == iterations


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_nodes_plan_nothing(count: int) -> None:
    planned = plan(count, 10)
    assert planned.rounds == ()
    assert planned.design.planned_pairs == planned.design.ordered_pairs == 0
