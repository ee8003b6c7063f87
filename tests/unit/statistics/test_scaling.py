"""Fits of scaling laws recover what made the curve, and are refused where the data do not support them."""

import random

import pytest

from seatrial.statistics.scaling import fit_amdahl, fit_universal

SIZES = [1, 2, 4, 8, 16, 32, 64]


def rates(sigma: float, kappa: float = 0.0, noise: float = 0.0, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [
        3.0 * size / (1 + sigma * (size - 1) + kappa * size * (size - 1)) * (1 + chance.gauss(0, noise))
        for size in SIZES
    ]


def test_exact_curves_give_their_parameters() -> None:
    amdahl = fit_amdahl(SIZES, rates(0.05))
    assert amdahl.contention is not None
    assert amdahl.contention.value == pytest.approx(0.05, rel=1e-6)
    universal = fit_universal(SIZES, rates(0.03, 0.001))
    assert universal.contention is not None
    assert universal.coherence is not None
    assert universal.coherence.value == pytest.approx(0.001, rel=1e-6)
    assert universal.peak == pytest.approx((0.97 / 0.001) ** 0.5, rel=1e-6)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(200):
        fit = fit_universal(SIZES, rates(0.05, 0.002, noise=0.02, seed=seed))
        if fit.contention is not None:
            covered += fit.contention.low <= 0.05 <= fit.contention.high
    assert 180 <= covered <= 200


def test_sizes_need_not_begin_with_one() -> None:
    fit = fit_amdahl([4 * size for size in SIZES], rates(0.1))
    assert fit.contention is not None
    assert fit.contention.value == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize(
    ("sizes", "values", "why"),
    [
        (SIZES[:5], rates(0.05)[:5], "5 sizes; 6 are needed"),
        ([1, 1, 2, 2, 4, 4, 8], rates(0.05), "4 sizes"),
        (SIZES, [0.0, *rates(0.05)[1:]], "not positive"),
        (SIZES, [size**1.2 for size in SIZES], "negative"),
    ],
)
def test_data_that_do_not_support_a_fit(sizes: list[float], values: list[float], why: str) -> None:
    assert why in fit_universal(sizes, values).refused


def test_amdahl_is_refused_for_a_curve_above_linear() -> None:
    assert "Check its data first" in fit_amdahl(SIZES, [size**1.1 for size in SIZES]).refused
