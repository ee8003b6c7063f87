"""Experiments beside controls: the order of rounds, ratios round by round, and what an interval decides."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.experiment.controls import (
    RETEST_RUNS,
    above,
    alternating,
    below,
    mean_ratio,
    median_ratio,
    shuffled,
    usual_of_rounds,
)
from seatrial.statistics.estimates import CONFIDENCE, coverage, median_estimate


def test_there_and_back_so_that_drift_falls_on_all_alike() -> None:
    assert [*alternating("AB", 3)] == [(0, "A"), (0, "B"), (1, "B"), (1, "A"), (2, "A"), (2, "B")]
    assert [*alternating("xyz", 2)] == [(0, "x"), (0, "y"), (0, "z"), (1, "z"), (1, "y"), (1, "x")]
    order = [variant for _, variant in alternating("AB", 4)]
    places = {variant: [place for place, one in enumerate(order) if one == variant] for variant in "AB"}
    assert sum(places["A"]) == sum(places["B"])


def test_every_item_once_in_each_round_in_another_order_from_one_seed() -> None:
    rounds = [*shuffled("abcdefgh", range(3, 7), random.Random(1))]
    assert [number for number, _ in rounds] == [number for number in range(3, 7) for _ in range(8)]
    orders = {number: [item for round_number, item in rounds if round_number == number] for number in range(3, 7)}
    assert all(sorted(order) == [*"abcdefgh"] for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) == 4
    assert rounds == [*shuffled("abcdefgh", range(3, 7), random.Random(1))]


def test_a_retest_has_the_fewest_runs_that_can_decide() -> None:
    assert coverage(RETEST_RUNS - 1, 1) < CONFIDENCE <= coverage(RETEST_RUNS, 1)


def test_the_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(2000):
        blocks = [math.exp(draw.gauss(0, 0.5)) for _ in range(4)]
        pairs = [(2 * block * math.exp(draw.gauss(0, 0.1)), block * math.exp(draw.gauss(0, 0.1))) for block in blocks]
        found = mean_ratio(pairs, 0.95)
        hits += found.low <= 2 <= found.high
    assert 0.935 < hits / 2000 < 0.965


@given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)), min_size=2, max_size=9))
def test_turned_round_the_ratio_is_its_inverse(pairs: list[tuple[float, float]]) -> None:
    there = mean_ratio(pairs, 0.99)
    back = mean_ratio([(second, first) for first, second in pairs], 0.99)
    assert there.value * back.value == pytest.approx(1)
    assert there.low <= there.value <= there.high


def test_one_block_gives_no_interval() -> None:
    found = mean_ratio([(2.0, 1.0)], 0.95)
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == (0, math.inf)


@pytest.mark.parametrize("pairs", [[], [(0.0, 1.0)], [(1.0, -1.0)]])
def test_what_has_no_ratio_is_refused(pairs: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="no ratios"):
        mean_ratio(pairs, 0.95)


def test_a_round_has_a_usual_value_where_enough_took_part() -> None:
    columns = [{0: 1.0, 1: 5.0}, {0: 2.0, 1: 7.0}, {0: 9.0, 2: 3.0}]
    assert usual_of_rounds(columns) == {0: 2.0, 1: 6.0, 2: 3.0}
    assert usual_of_rounds(columns, 2) == {0: 2.0, 1: 6.0}
    assert usual_of_rounds(columns, 3) == {0: 2.0}
    assert usual_of_rounds([]) == {}


def test_rounds_that_lack_a_value_say_nothing() -> None:
    found = median_ratio([(1.0, 2.0), (math.nan, 1.0), (1.0, math.nan), (1.0, 0.0), (3.0, 4.0)])
    assert found is not None
    assert (found.value, found.runs) == (0.625, 2)
    assert median_ratio([(math.nan, 1.0)]) is None


def test_only_a_whole_interval_of_enough_runs_decides() -> None:
    ratios = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95]
    enough, few = median_estimate(ratios), median_estimate(ratios[:-1])
    assert [below(enough, line) for line in (0.95, 0.951)] == [False, True]
    assert [above(enough, line) for line in (0.90, 0.899)] == [False, True]
    assert not below(few, 2.0)
    assert not above(few, 0.1)
    assert not below(None, 2.0)
    assert not above(None, 0.1)
    assert not below(mean_ratio([(1.0, 2.0)], CONFIDENCE), 2.0)
