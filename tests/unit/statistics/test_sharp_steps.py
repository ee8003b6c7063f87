"""Steps of short series whose neighbours are alike: a change is there at once, noise goes bit by bit."""

import numpy as np
import pytest

from seatrial.statistics.change_points import find_changes
from seatrial.statistics.scan import SharpStep

DRAWS = 60
RECORDED = (
    202.24, 203.26, 203.04, 204.68, 204, 203.18, 202.22, 202.48, 202.03, 202.33, 201.63, 202.28, 202.75, 202.93,
    203.38, 181.79, 182.92, 182.75, 183.65, 182.65, 183.67, 183.61, 182.69, 182.77,
)  # fmt: skip


def alike(count: int, correlation: float, draw: np.random.Generator) -> np.ndarray:
    """An AR(1) process about 100, of deviation 1."""
    values = np.zeros(count + 50)
    for place in range(1, len(values)):
        values[place] = correlation * values[place - 1] + draw.normal() * np.sqrt(1 - correlation**2)
    return np.asarray(100 + values[50:])


def test_a_tenth_that_is_lost_from_one_run_to_the_next_is_found() -> None:
    (change,) = find_changes(RECORDED).changes
    assert change.index == 15
    assert change.p_value < 0.001
    assert find_changes(RECORDED[:15]).changes == ()


@pytest.mark.parametrize("count", [14, 24])
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.7])
def test_a_step_far_beyond_the_noise_is_found_however_alike_neighbours_are(count: int, correlation: float) -> None:
    draw = np.random.default_rng(count)
    changed, same = 0, 0
    for _ in range(DRAWS):
        values = alike(count, correlation, draw)
        same += bool(find_changes(values).changes)
        changed += bool(find_changes(values - 20 * (np.arange(count) >= count // 2)).changes)
    assert changed >= 0.95 * DRAWS
    assert same <= 2, "one in a hundred healthy series"


@pytest.mark.parametrize("count", [24, 60])
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.8])
def test_what_would_have_been_found_is_found(count: int, correlation: float) -> None:
    draw = np.random.default_rng(count)
    tried, changed, far_less = 0, 0, 0
    for _ in range(DRAWS):
        values = alike(count, correlation, draw)
        healthy = find_changes(values)
        if healthy.detectable and not healthy.changes:
            after = healthy.detectable * (np.arange(count) >= count // 2)
            tried += 1
            changed += bool(find_changes(values - after).changes)
            far_less += bool(find_changes(values - after / 10).changes)
    assert tried >= 0.9 * DRAWS
    assert changed >= 0.85 * tried
    assert far_less <= 0.2 * tried


def test_one_value_far_off_from_which_noise_returns_is_no_step() -> None:
    values = alike(60, 0.5, np.random.default_rng(3))
    values[30:] -= 12 * 0.5 ** np.arange(30)
    assert find_changes(values).changes == ()


def test_a_step_is_as_certain_as_the_innovations_that_it_stands_out_of() -> None:
    step = SharpStep(40, 20, 0.6)
    values = alike(40, 0.6, np.random.default_rng(1)) - 5 * (np.arange(40) >= 20)
    size, variance = step.size(values)
    assert size == pytest.approx(-5, abs=2)
    assert variance == pytest.approx(1 - 0.6**2, rel=0.5)
    certain = [step.largest_p(size, variance * factor, 40) for factor in (0.01, 1.0, 100.0)]
    assert certain == sorted(certain)
    assert certain[0] < 0.001 < certain[2]
