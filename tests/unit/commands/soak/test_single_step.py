"""A step in a dozen cycles: seen where any median sees it, and not where a series merely wanders."""

import numpy as np
import pytest

from seatrial.commands.soak.courses import LEAST_BESIDE, Course, best_step, declines

NODES = ("n1", "n2", "n3", "n4")
CYCLES = 12


def wandering(alike: float, noise: float, seed: int) -> np.ndarray:
    """Noise of which neighbours resemble each other, for each node."""
    draw = np.random.default_rng(seed)
    values = draw.normal(0.0, noise, (len(NODES), CYCLES))
    for cycle in range(1, CYCLES):
        values[:, cycle] = alike * values[:, cycle - 1] + np.sqrt(1 - alike**2) * values[:, cycle]
    return values


def named(values: np.ndarray) -> list[tuple[str, bool, float]]:
    """Node, whether it drifts, and since when."""
    times = tuple(10.0 * cycle for cycle in range(CYCLES))
    followed = [
        Course(node=node, label="fma", effect=0.1, times_s=times, losses=tuple(losses))
        for node, losses in zip(NODES, values.tolist(), strict=True)
    ]
    return [(one.node, one.drift, one.since_s) for one in declines(followed)]


@pytest.mark.parametrize("seed", range(5))
def test_a_third_less_in_the_second_half_is_a_step(seed: int) -> None:
    """It was taken for a trend with correlated noise, and named in 1 of 75 simulated soaks."""
    values = wandering(0.0, 0.02, seed)
    values[2, CYCLES // 2 :] += 0.33
    assert named(values) == [("n3", False, 60.0)]


def test_a_line_is_a_drift() -> None:
    values = wandering(0.0, 0.01, 1)
    values[1] += np.linspace(0.0, 0.4, CYCLES)
    assert [(node, drift) for node, drift, _ in named(values)] == [("n2", True)]


def test_nodes_that_all_wander_have_no_step() -> None:
    found = [named(wandering(0.3, 0.06, seed)) for seed in range(100)]
    assert sum(bool(one) for one in found) <= 1


def test_a_gain_and_too_few_cycles_are_no_step() -> None:
    values = wandering(0.0, 0.02, 3)
    values[0, CYCLES // 2 :] -= 0.33
    assert named(values) == []
    assert best_step(np.zeros(2 * LEAST_BESIDE - 1)) is None


def test_the_interval_contains_the_change() -> None:
    hits = 0
    for seed in range(200):
        step = best_step(wandering(0.0, 0.05, seed)[0] + 0.4 * (np.arange(CYCLES) >= 5))
        assert step is not None
        hits += abs(step.change - 0.4) <= step.half_width(0.95)
    assert hits >= 186
