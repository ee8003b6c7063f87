"""The max-rate model gives its own parameters back, and says what it could not see."""

import math
import random

import pytest

from seatrial.statistics.max_rate import Point, fit_max_rate

SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22)
RANKS = (1, 2, 4, 8)


def made(startup_s: float, node: float, rank: float, *, runs: int = 6, noise: float = 0.0) -> dict[Point, list[float]]:
    draw = random.Random(1)
    return {
        (k, size): [(startup_s + k * size / min(node, k * rank)) * draw.gauss(1, noise) for _ in range(runs)]
        for k in RANKS
        for size in SIZES
    }


def test_the_parameters_come_back() -> None:
    found = fit_max_rate(made(3e-6, 12e9, 5e9))
    assert found.startup_s.value == pytest.approx(3e-6, rel=1e-6)
    assert found.node_bytes_per_s.value == pytest.approx(12e9, rel=1e-6)
    assert found.rank_bytes_per_s.value == pytest.approx(5e9, rel=1e-6)
    assert found.ranks_needed == pytest.approx(2.4)
    assert found.relative_error < 1e-6


def test_intervals_hold_the_truth_under_noise() -> None:
    found = fit_max_rate(made(3e-6, 12e9, 5e9, noise=0.03))
    for interval, truth in ((found.node_bytes_per_s, 12e9), (found.rank_bytes_per_s, 5e9)):
        assert interval.low < truth < interval.high
        assert interval.high / interval.low < 1.15


def test_a_port_that_one_rank_drives_tells_nothing_of_the_rank() -> None:
    found = fit_max_rate(made(3e-6, 117e6, 5e9))
    assert found.node_bytes_per_s.value == pytest.approx(117e6, rel=1e-6)
    assert math.isinf(found.rank_bytes_per_s.value)
    assert found.ranks_needed == 1


def test_a_port_that_all_ranks_do_not_fill_has_no_bound_yet() -> None:
    found = fit_max_rate(made(3e-6, 1e12, 5e9))
    assert math.isinf(found.node_bytes_per_s.value)
    assert found.rank_bytes_per_s.value == pytest.approx(5e9, rel=1e-6)
    assert math.isinf(found.ranks_needed)


def test_runs_that_miss_points() -> None:
    runs = made(3e-6, 12e9, 5e9)
    runs[8, SIZES[0]] = [math.nan] * 5 + runs[8, SIZES[0]][:1]
    assert fit_max_rate(runs).node_bytes_per_s.value == pytest.approx(12e9, rel=1e-6)


@pytest.mark.parametrize("runs", [{}, {(1, 8): [1.0]}, {(1, 8): [1.0], (2, 8): [0.0]}])
def test_what_cannot_be_fitted_is_refused(runs: dict[Point, list[float]]) -> None:
    with pytest.raises(ValueError, match="points, least time"):
        fit_max_rate(runs)
