"""Medians, and that their intervals cover as often as they say."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.statistics.median import coverage, median, median_estimate

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
    with pytest.raises(ValueError, match="no median of no values"):
        function([])


def test_median_of_even_and_odd_counts() -> None:
    assert median([5.0, 1.0, 9.0]) == 5.0
    assert median([5.0, 1.0, 9.0, 7.0]) == 6.0


def test_of_many_runs_the_normal_interval_is_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from seatrial.statistics import median as module

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
