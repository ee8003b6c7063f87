"""Planted noise is recovered: its period and amplitude within 10 %; noise without a period has none."""

import random

import pytest

from seatrial.judgement.nodes.noise import recurrence_of

QUANTUM_S = 650e-6


def planted(
    period_s: float, amplitude_s: float, *, seed: int, jitter: float = 0.01, lasts_s: float = 1.0
) -> list[float]:
    """Times of quanta on a core that something else takes for `amplitude_s` in every period."""
    draw = random.Random(seed)
    times: list[float] = []
    now_s, due_s = 0.0, draw.random() * period_s
    while now_s < lasts_s:
        time_s = QUANTUM_S * (1 + abs(draw.gauss(0, jitter)))
        while due_s < now_s + time_s:  # it also strikes while it delays
            time_s += amplitude_s
            due_s += period_s
        times.append(time_s)
        now_s += time_s
    return times


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("period_s", "amplitude_s"), [(0.1, 1e-3), (0.1, 0.2e-3), (0.02, 0.5e-3), (0.05, 4e-3)])
def test_planted_noise_is_recovered_within_ten_percent(period_s: float, amplitude_s: float, seed: int) -> None:
    found = recurrence_of([planted(period_s, amplitude_s, seed=seed)])
    assert found is not None
    assert found.period_s == pytest.approx(period_s, rel=0.1)
    assert found.amplitude_s == pytest.approx(amplitude_s, rel=0.1)


def test_short_sequences_add_up() -> None:
    """Three repetitions of a third of a second have three delays each, and two gaps."""
    found = recurrence_of([planted(0.1, 1e-3, seed=seed, lasts_s=0.33) for seed in range(3)])
    assert found is not None
    assert found.period_s == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_random_arrivals_have_no_period(seed: int) -> None:
    draw = random.Random(seed)
    times = [QUANTUM_S + (1e-3 if draw.random() < 0.02 else 0.0) for _ in range(3000)]
    assert recurrence_of([times]) is None


def test_quiet_and_missing_quanta_have_none() -> None:
    assert recurrence_of([[QUANTUM_S] * 500]) is None
    assert recurrence_of([[], [QUANTUM_S]]) is None
