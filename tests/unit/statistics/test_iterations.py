"""Means and percentiles over iterations, with intervals over runs."""

import time

import numpy as np
import pytest

from seatrial.statistics.iterations import mean_estimate, p99_estimate


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
