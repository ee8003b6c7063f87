"""Which steps of a curve are called protocol switches: seldom one that is none, and nearly always one that is."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from seatrial.experiment.controls import RETEST_RUNS
from seatrial.pairs.sizes import between, geometric_sizes
from seatrial.statistics.estimates import CONFIDENCE, FEWEST_ALIKE
from seatrial.statistics.segments import Segmentation, segment

Truth = Callable[[int], float]
SIZES = geometric_sizes(4 << 20)
SEEDS = 10
MOST_STEPS = 10


def tcp(size: int) -> float:
    """Gigabit Ethernet: a few packets of one MTU cost half a microsecond each, then they overlap."""
    return 20e-6 + 0.5e-6 * min(math.ceil(size / 1448), 8) + size / 117e6


def fast(size: int) -> float:
    """An InfiniBand adapter with an MTU of 4096 B."""
    return 1.3e-6 + 0.03e-6 * min(math.ceil(size / 4096), 8) + size / 12e9


def smooth(size: int) -> float:
    return 20e-6 + size / 117e6


def curved(size: int) -> float:
    """A rate that grows smoothly with size."""
    return 2e-6 + size / (1e9 + 9e9 * size / (size + 1e5))


def stepped(truth: Truth, at: int, step: float) -> Truth:
    """Above `at` bytes everything takes longer by that share of the time there."""
    return lambda size: truth(size) + (step * truth(at) if size > at else 0.0)


class Pair:
    """One pair that is measured over and over, a few runs of each size."""

    def __init__(self, truth: Truth, noise: float, runs: int, seed: int, *, two_modes: bool = False) -> None:
        self.truth, self.noise, self.two_modes = truth, noise, two_modes
        self.draw = np.random.default_rng([seed, runs, round(1000 * noise)])
        self.mood = np.exp(self.draw.normal(0, noise, runs))
        self.seed = seed

    def times(self, size: int) -> list[float]:
        """`two_modes`: three runs of ten are late, as where two ranks sometimes share a core."""
        runs = len(self.mood)
        late = np.where(self.draw.random(runs) < 0.3, 1 + 4 * self.noise, 1.0) if self.two_modes else 1.0
        scatter = self.noise / 3 if self.two_modes else self.noise
        found = self.truth(size) * self.mood * late * np.exp(self.draw.normal(0, scatter, runs))
        return [float(one) for one in found]

    def measured(self) -> Segmentation:
        """As the command does it: all sizes, a closer look at every step, resampling, more runs where in doubt."""
        runs = {size: self.times(size) for size in SIZES}
        for _ in range(MOST_STEPS):
            found = segment(runs, resamples=0)
            gaps = [between(one.last_bytes, one.first_bytes) for one in found.unclear]
            wanted = [size for size in gaps if size is not None]
            if not wanted:
                break
            runs |= {size: self.times(size) for size in wanted}
        if not found.steps:
            return found
        found = segment(runs, seed=self.seed)
        if found.doubtful:
            self.mood = np.exp(self.draw.normal(0, self.noise, RETEST_RUNS))
            runs = {size: [*times, *self.times(size)] for size, times in runs.items()}
            found = segment(runs, seed=self.seed)
        return found


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15])
def test_smooth_curves_and_steps_of_the_adapter_give_no_switch(noise: float) -> None:
    false = draws = 0
    for truth in (smooth, tcp, fast, curved):
        for runs in (6, 3):
            for two_modes in (False, True):
                for seed in range(SEEDS):
                    draws += 1
                    false += bool(Pair(truth, noise, runs, seed, two_modes=two_modes).measured().switches)
    assert false <= 0.02 * draws


@pytest.mark.parametrize(("noise", "step"), [(0.01, 0.2), (0.03, 0.2), (0.05, 0.3)])
def test_true_switches_are_found_where_they_are(noise: float, step: float) -> None:
    right = draws = 0
    for truth in (smooth, fast):
        for at in (1500, 8192, 100_000):
            for seed in range(SEEDS // 2):
                draws += 1
                switches = Pair(stepped(truth, at, step), noise, 6, seed).measured().switches
                right += any(abs(math.log2(one.at_bytes / at)) <= 0.5 and one.jump > 0 for one in switches)
    assert right >= 0.95 * draws


def test_the_place_has_an_interval_that_holds_the_truth() -> None:
    for seed in range(5):
        (switch,) = Pair(stepped(tcp, 8192, 0.5), 0.02, 6, seed).measured().switches
        assert switch.low_bytes <= 8192 <= switch.high_bytes
        assert switch.low_bytes <= switch.last_bytes < switch.first_bytes <= switch.high_bytes
        assert switch.found_share is not None
        assert switch.found_share >= CONFIDENCE


def test_a_true_step_down_is_confirmed_with_its_sign() -> None:
    down = Pair(lambda size: smooth(size) * (0.6 if size > 150 else 1.0), 0.02, 6, 1).measured()
    (switch,) = down.switches
    assert switch.jump == pytest.approx(-0.4, abs=0.05)
    assert switch.last_bytes <= 150 < switch.first_bytes


def test_one_late_run_makes_no_switch() -> None:
    """Its sizes above 1 KiB take a third longer, in one run of three: the median of most resamples does not see it."""
    runs = {size: Pair(smooth, 0.01, 3, size).times(size) for size in SIZES}
    late = {size: [*times[:2], times[2] * (1.35 if size > 1024 else 1.0)] for size, times in runs.items()}
    assert segment(late).switches == ()


@pytest.mark.parametrize("runs", [1, 2])
def test_too_few_runs_confirm_nothing(runs: int) -> None:
    assert runs < FEWEST_ALIKE
    found = segment({size: [stepped(smooth, 8192, 1.0)(size)] * runs for size in SIZES})
    assert [(one.last_bytes, one.found_share, one.switch) for one in found.steps] == [(8192, None, False)]


def test_a_constant_series_has_neither_pieces_nor_steps() -> None:
    found = segment({size: [1e-6] * 6 for size in SIZES})
    assert (len(found.segments), found.breaks) == (1, ())


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf])
def test_times_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="sizes, least time"):
        segment({1: [1e-6], 2: [bad], 3: [1e-6]})
