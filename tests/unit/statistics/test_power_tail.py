"""Values beyond the tail of all others: single ones and groups, in noise that is normal or has heavy tails."""

import math

import numpy as np
import pytest

from seatrial.locate.single_pairs import SMALL, power_tail
from seatrial.locate.thresholds import critical_value
from seatrial.statistics.estimates import HEAVY_DEGREES


def line(losses: np.ndarray) -> tuple[float, float]:
    scale = 1.4826 * float(np.median(np.abs(losses - np.median(losses))))
    heavy = critical_value(len(losses), HEAVY_DEGREES, 0.005) * (1 + SMALL / len(losses)) * scale
    tail = power_tail(losses, scale, heavy)
    return tail.line, tail.detectable


@pytest.mark.parametrize("count", [28, 45, 136, 272, 992])
@pytest.mark.parametrize("heavy", [False, True])
def test_healthy_values_are_rarely_out(count: int, heavy: bool) -> None:
    draw = np.random.default_rng(count)
    draws = 400
    out = 0
    for _ in range(draws):
        values = draw.standard_t(3, count) if heavy else draw.standard_normal(count)
        out += line(values)[0] < math.inf
    assert out <= 0.03 * draws


@pytest.mark.parametrize(("count", "planted"), [(136, 1), (136, 8), (136, 20), (3080, 1), (3080, 40)])
@pytest.mark.parametrize("heavy", [False, True])
def test_values_far_beyond_are_out_alone_and_in_groups(count: int, planted: int, heavy: bool) -> None:
    draw = np.random.default_rng(planted)
    values = draw.standard_t(3, count) if heavy else draw.standard_normal(count)
    values[:planted] = 250 * (1 + 0.2 * draw.random(planted))
    least, _ = line(values)
    assert values[planted:].max() < least <= values[:planted].min()


def test_what_would_have_been_out_is_out() -> None:
    draw = np.random.default_rng(5)
    values = draw.standard_normal(3080)
    _, detectable = line(values)
    assert 6 < detectable < 12
    values[17] = detectable * 1.01
    assert line(values)[0] == values[17]


def test_equal_values_and_hardly_any_values() -> None:
    assert power_tail(np.zeros(100), 1.0, 50.0).line == math.inf
    assert power_tail(np.array([0.0, 0.0, 60.0]), 1.0, 50.0).line == 60.0
    assert power_tail(np.zeros(0), 1.0, 50.0).line == math.inf
    quantised = np.append(np.repeat([0.0, 1.0], 500), 40.0)
    assert power_tail(quantised, 1.0, 200.0).line == 40.0
