"""Student's distribution against printed tables, and intervals that cover what they should."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.statistics.paired import paired_ratio, student_cdf, student_quantile


@pytest.mark.parametrize(
    ("probability", "degrees", "printed"),
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.995, 3, 5.841), (0.995, 4, 4.604), (0.95, 30, 1.697)],
)
def test_quantiles_are_those_of_the_tables(probability: float, degrees: int, printed: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(printed, abs=0.0006)


@given(st.integers(1, 40), st.floats(-50, 50))
def test_the_distribution_is_symmetric(degrees: int, t: float) -> None:
    assert student_cdf(t, degrees) + student_cdf(-t, degrees) == pytest.approx(1)


def test_the_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(2000):
        blocks = [math.exp(draw.gauss(0, 0.5)) for _ in range(4)]
        pairs = [(2 * block * math.exp(draw.gauss(0, 0.1)), block * math.exp(draw.gauss(0, 0.1))) for block in blocks]
        found = paired_ratio(pairs, 0.95)
        hits += found.low <= 2 <= found.high
    assert 0.935 < hits / 2000 < 0.965


@given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)), min_size=2, max_size=9))
def test_turned_round_the_ratio_is_its_inverse(pairs: list[tuple[float, float]]) -> None:
    there = paired_ratio(pairs, 0.99)
    back = paired_ratio([(second, first) for first, second in pairs], 0.99)
    assert there.value * back.value == pytest.approx(1)
    assert there.low <= there.value <= there.high


def test_one_block_gives_no_interval() -> None:
    found = paired_ratio([(2.0, 1.0)], 0.95)
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == (0, math.inf)


@pytest.mark.parametrize("pairs", [[], [(0.0, 1.0)], [(1.0, -1.0)]])
def test_what_has_no_ratio_is_refused(pairs: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="no ratios"):
        paired_ratio(pairs, 0.95)
