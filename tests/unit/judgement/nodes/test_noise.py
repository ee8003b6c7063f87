"""What noise costs many ranks."""

import random

import pytest

from seatrial.judgement.nodes.noise import expected_largest, noise_of


def test_the_expected_largest_of_draws_is_that_of_a_simulation() -> None:
    draw = random.Random(3)
    values = sorted(draw.expovariate(1) for _ in range(200))
    for ranks in (1, 10, 100):
        simulated = sum(max(draw.choices(values, k=ranks)) for _ in range(4000)) / 4000
        assert expected_largest(values, ranks) == pytest.approx(simulated, rel=0.05)


def test_it_lies_between_the_mean_and_the_largest() -> None:
    values = [0.0, 0.0, 0.0, 1.0]
    assert expected_largest(values, 1) == pytest.approx(0.25)
    assert expected_largest(values, 10_000) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no largest"):
        expected_largest([], 10)


def test_planted_noise_is_recovered() -> None:
    """One quantum in twenty of one core takes half as long again."""
    quiet = [1e-3] * 1000
    noisy = [1.5e-3 if number % 20 == 0 else 1e-3 for number in range(1000)]
    noise = noise_of({"n1:0": quiet, "n1:1": noisy}, [1e-7] * 900 + [20e-6] * 100)
    assert noise is not None
    assert (noise.worst_place, noise.quanta, noise.quantum_s) == ("n1:1", 2000, 1e-3)
    assert noise.worst_fraction == pytest.approx(0.025)
    assert noise.fraction == pytest.approx(0.0125)
    assert noise.largest_s == pytest.approx(0.5e-3)
    assert noise.detours_per_s == pytest.approx(100)
    assert noise.largest_detour_s == 20e-6
    assert noise.slowdown[1_000] == pytest.approx(0.5)


def test_without_work_nothing_is_known() -> None:
    assert noise_of({}, [1e-6]) is None
    assert noise_of({"n1": [0.0, 0.0]}, ()) is None
