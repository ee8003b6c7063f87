"""Medians, and that their intervals cover as often as they say."""

import math
import random
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.statistics.estimates import (
    array_median,
    coverage,
    mean_estimate,
    median,
    median_estimate,
    p99_estimate,
    student_quantile,
    two_groups,
)

FINITE = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("runs", "rank", "exact"),
    [(1, 1, 0.0), (2, 1, 0.5), (3, 1, 0.75), (5, 1, 0.9375), (6, 1, 0.96875), (9, 2, 0.9609375), (10, 2, 0.978515625)],
)
def test_exact_coverage(runs: int, rank: int, exact: float) -> None:
    assert coverage(runs, rank) == exact


@pytest.mark.parametrize(("runs", "confidence"), [(1, 0.0), (3, 0.75), (6, 0.96875), (9, 0.9609375)])
def test_an_estimate_says_its_own_confidence(runs: int, confidence: float) -> None:
    assert median_estimate([float(value) for value in range(runs)]).confidence == confidence


@pytest.mark.parametrize(
    ("values", "least_gap", "lower"),
    [
        ([1.0, 1.1, 1.2, 3.0, 3.1, 3.2], 1.0, 3),
        ([1.0, 1.1, 1.2, 3.0, 3.1, 3.2], 2.1, 0),  # the medians differ by no more than that
        ([1.0, 1.3, 1.6, 3.0, 3.1, 3.2], 1.0, 0),  # a step of 1.4 is less than six scatters of 0.44
        ([1.0, 3.0, 3.1, 3.15, 3.2, 3.3], 1.0, 0),  # one alone is no group
        ([1.0, 1.1, 3.0, 3.1], 1.0, 0),  # there is no room for two groups of three
        ([1.0] * 3 + [2.0] * 4, 0.5, 3),
    ],
)
def test_two_groups_have_a_wide_step_between_them(values: list[float], least_gap: float, lower: int) -> None:
    assert two_groups(values, least_gap, lower=3, upper=3) == lower


def test_one_group_is_seldom_divided() -> None:
    draw = np.random.default_rng(1)
    divided = sum(two_groups(np.sort(draw.normal(size=8)), 0.0, lower=3, upper=3) > 0 for _ in range(2000))
    assert divided / 2000 == pytest.approx(0.011, abs=0.008)


@pytest.mark.parametrize("runs", [3, 6, 9, 17, 30])
def test_the_interval_covers_the_true_median_as_often_as_it_says(runs: int) -> None:
    draw = random.Random(runs)
    trials = 4000
    hits = 0
    for _ in range(trials):
        one = median_estimate([draw.expovariate(1.0) for _ in range(runs)])
        hits += one.low <= 0.6931471805599453 <= one.high
    confidence = median_estimate([0.0] * runs).confidence
    deviation = (confidence * (1 - confidence) / trials) ** 0.5
    assert abs(hits / trials - confidence) < 4 * deviation


@pytest.mark.parametrize("runs", [6, 7, 8, 9, 12, 20, 50])
def test_from_six_runs_on_95_percent_and_no_wider_than_needed(runs: int) -> None:
    one = median_estimate([float(value) for value in range(runs)])
    assert one.confidence >= 0.95
    assert coverage(runs, int(one.low) + 2) < 0.95


@given(values=st.lists(FINITE, min_size=1, max_size=60))
def test_the_value_lies_in_the_interval_and_the_interval_in_the_range(values: list[float]) -> None:
    one = median_estimate(values)
    assert min(values) <= one.low <= one.value <= one.high <= max(values)
    assert one.runs == len(values)
    assert 0 <= one.confidence < 1


@given(values=st.lists(FINITE, min_size=1, max_size=20), seed=st.integers(0, 9))
def test_order_does_not_matter(values: list[float], seed: int) -> None:
    shuffled = list(values)
    random.Random(seed).shuffle(shuffled)
    assert median_estimate(shuffled) == median_estimate(values)


def test_equal_values_of_a_quantised_clock() -> None:
    one = median_estimate([2e-6] * 7)
    assert (one.low, one.value, one.high) == (2e-6, 2e-6, 2e-6)


def test_a_single_value_claims_no_confidence() -> None:
    one = median_estimate([3.0])
    assert (one.value, one.low, one.high, one.confidence, one.runs) == (3.0, 3.0, 3.0, 0.0, 1)


def test_many_runs_do_not_overflow() -> None:
    assert coverage(5000, 1) == 1.0
    assert coverage(5000, 2432) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("function", [median, median_estimate])
def test_no_values_are_refused(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match="no median"):
        function([])


def test_median_of_even_and_odd_counts() -> None:
    assert median([5.0, 1.0, 9.0]) == 5.0
    assert median([5.0, 1.0, 9.0, 7.0]) == 6.0


def test_of_many_runs_the_normal_interval_is_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from seatrial.statistics import estimates as module

    for runs in (501, 2000):
        exact = module._interval(runs)
        monkeypatch.setattr(module, "EXACT_RUNS", runs - 1)
        module._interval.cache_clear()
        rank, confidence, method = module._interval(runs)
        assert abs(rank - exact[0]) <= 1
        assert confidence == pytest.approx(coverage(runs, rank), abs=2e-4)
        assert str(rank) in method
    module._interval.cache_clear()


def test_a_million_runs_are_estimated_at_once() -> None:
    found = median_estimate([float(value) for value in range(1_000_000)])
    assert (found.low, found.value, found.high) == (499_019.0, 499_999.5, 500_980.0)


# Means and percentiles over iterations, with intervals over runs.


def runs_of(*values: list[float]) -> list[np.ndarray]:
    return [np.array(one, dtype=np.float64) for one in values]


def test_the_mean_is_that_of_all_iterations_whatever_their_number_in_each_run() -> None:
    found = mean_estimate(runs_of([1.0, 2.0, 3.0], [5.0]))
    assert found.value == pytest.approx(11 / 4)
    assert found.runs == 2
    assert "4 iterations in 2 runs" in found.method


def test_equal_runs_give_the_textbook_interval() -> None:
    """Means 1, 2, 3: s = 1, standard error 0.577, Student's t of 2 degrees 4.303."""
    found = mean_estimate(runs_of([0.0, 2.0], [1.0, 3.0], [2.0, 4.0]))
    assert found.value == 2.0
    assert found.high == pytest.approx(2 + 4.303 / 3**0.5, rel=1e-3)
    assert found.low == 0.0  # the textbook's -0.48 ends at the least iteration


def test_the_interval_counts_runs_and_not_iterations() -> None:
    """Each run has a level of its own: 95 % intervals hold the truth in about 95 % of draws, and those from pooled
    iterations would in a sixth of them.
    """
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        levels = draw.normal(10, 1, 6)
        found = mean_estimate([level + draw.normal(0, 1, 200) for level in levels])
        held += found.low <= 10 <= found.high
    assert 0.90 * 300 <= held < 300


def test_one_run_has_no_interval_and_none_has_no_mean() -> None:
    found = mean_estimate(runs_of([1.0, 3.0]))
    assert (found.value, found.low, found.high, found.confidence) == (2.0, 2.0, 2.0, 0.0)
    with pytest.raises(ValueError, match="no runs"):
        mean_estimate([])


def test_p99_is_the_nearest_rank_of_all_iterations() -> None:
    found = p99_estimate([np.arange(1, 101, dtype=np.float64), np.arange(101, 201, dtype=np.float64)])
    assert found is not None
    assert found.value == 198
    assert (found.low, found.high) == (99, 199)


def test_p99_of_fewer_than_a_hundred_iterations_is_not_given() -> None:
    assert p99_estimate([np.ones(50), np.ones(49)]) is None
    assert p99_estimate([]) is None
    assert p99_estimate([np.ones(50), np.ones(50)]) is not None


def test_the_interval_of_p99_holds_its_value() -> None:
    """Nine runs, of which one alone has the late iterations: order statistics leave its own P99 out."""
    runs = [np.ones(100)] * 8 + [np.linspace(1, 50, 100)]
    found = p99_estimate(runs)
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.value > 1


def test_constant_and_zero_times() -> None:
    for value in (0.0, 2e-6):
        runs = [np.full(100, value)] * 3
        mean, late = mean_estimate(runs), p99_estimate(runs)
        assert late is not None
        assert (mean.value, mean.low, mean.high, late.value) == pytest.approx((value,) * 4)


def test_a_million_iterations_take_no_time() -> None:
    runs = [np.random.default_rng(seed).exponential(1.0, 1_000_000) for seed in range(6)]
    began = time.process_time()
    mean, late = mean_estimate(runs), p99_estimate(runs)
    assert time.process_time() - began < 5
    assert mean.value == pytest.approx(1, rel=0.01)
    assert late is not None
    assert late.value == pytest.approx(np.log(100), rel=0.01)


# Student's distribution against printed tables, and intervals that cover what they should.


@pytest.mark.parametrize(
    ("probability", "degrees", "printed"),
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.995, 3, 5.841), (0.995, 4, 4.604), (0.95, 30, 1.697)],
)
def test_quantiles_are_those_of_the_tables(probability: float, degrees: int, printed: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(printed, abs=0.0006)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 999, 1000, 1001, 5000])
def test_the_median_of_an_array_is_numpys(count: int, kind: type[np.floating[Any]]) -> None:
    values = np.random.default_rng(count).normal(size=count).astype(kind)
    before = values.copy()
    assert array_median(values) == float(np.median(values))
    assert np.array_equal(values, before)
    values[0] = np.nan
    assert math.isnan(array_median(values))


def test_the_median_of_a_table_is_that_of_all_its_cells() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert array_median(table) == 2.5
