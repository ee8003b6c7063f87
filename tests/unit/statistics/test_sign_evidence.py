"""Evidence after every run: false alarms over 300 looks, runs until a slow node is flagged, coverage at all times."""

import math
import time

import numpy as np
import pytest

from seatrial.statistics.fleets import alarm_count, median_sequence, sign_evidence

SCATTER = 1.15
MOST_RUNS = 300


def first_alarms(loss_percent: float, draws: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """After how many runs each node is flagged at 5 %; `MOST_RUNS` + 1: never."""
    values = np.random.default_rng(seed).normal(-loss_percent, SCATTER, (draws, MOST_RUNS))
    below = np.cumsum(values < 0, axis=1)
    alarms = below >= np.array([alarm_count(runs) for runs in range(1, MOST_RUNS + 1)])
    return np.asarray(np.where(alarms.any(axis=1), alarms.argmax(axis=1) + 1, MOST_RUNS + 1))


@pytest.mark.parametrize(("below", "runs"), [(0, 0), (0, 5), (5, 5), (3, 8), (150, 200)])
def test_the_sum_is_the_integral(below: int, runs: int) -> None:
    share = np.linspace(0.5, 1, 200_001)
    heights = share**below * (1 - share) ** (runs - below)
    integral = float(np.trapezoid(heights, share))
    assert sign_evidence(below, runs) == pytest.approx(2.0 ** (runs + 1) * integral, rel=1e-4)


def test_the_alarm_count_is_the_fewest_that_are_evidence() -> None:
    assert [alarm_count(runs) for runs in (0, 6, 7, 8)] == [1, 7, 7, 8]
    for runs in (20, 100):
        fewest = alarm_count(runs)
        assert sign_evidence(fewest - 1, runs) < 20 <= sign_evidence(fewest, runs)


def test_an_impossible_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="6 of 5"):
        sign_evidence(6, 5)


def test_looking_after_every_run_keeps_the_error_rate() -> None:
    assert np.mean(first_alarms(0.0, 4000, 1) <= MOST_RUNS) <= 0.05


@pytest.mark.parametrize(("loss_percent", "most_runs"), [(2.0, 9.0), (1.0, 27.0)])
def test_a_slow_node_is_flagged_soon(loss_percent: float, most_runs: float) -> None:
    alarms = first_alarms(loss_percent, 2000, 2)
    assert np.mean(alarms) <= most_runs
    assert alarms.min() == 7


def test_the_interval_contains_the_median_after_every_run() -> None:
    generator = np.random.default_rng(3)
    missed = 0
    for _ in range(60):
        values = generator.standard_t(3, 120).tolist()
        intervals = [median_sequence(values[:runs]) for runs in range(1, 121)]
        missed += any(not low <= 0 <= high for low, high in intervals)
    assert missed <= 5
    assert median_sequence([1.0] * 5) == (-math.inf, math.inf)
    low, high = median_sequence(np.linspace(0, 1, 1001).tolist())
    assert 0.4 < low < 0.5 < high < 0.6
    assert low + high == pytest.approx(1)


def test_many_runs_take_no_longer_and_do_not_overflow() -> None:
    began = time.process_time()
    assert sign_evidence(6_000, 8_000) == 1e300
    assert alarm_count(30_000) < 15_600
    assert time.process_time() - began < 4
