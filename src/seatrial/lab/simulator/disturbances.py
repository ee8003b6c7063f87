"""What disturbs measurements on a simulated fabric, in simulated time: noise, drift, background jobs."""

from collections.abc import Sequence

import numpy as np

from seatrial.fabric.routes import Path, Routes
from seatrial.lab.simulator.conditions import Conditions, Stream, noise, stream_seed
from seatrial.lab.simulator.jobs import Jobs
from seatrial.model.pair_table import Reals
from seatrial.pairs.complete import Pair

DRIFT_S = 60.0
"""Correlation time of the drift: after that many simulated seconds 37 % of a deviation is left."""


class PairNoise:
    """The offset of each ordered pair, drawn once and kept."""

    def __init__(self, spread: float, seed: int) -> None:
        self._spread = spread
        self._chance = np.random.default_rng(seed)
        self._factors: dict[Pair, float] = {}

    def factors(self, pairs: Sequence[Pair]) -> Reals:
        """One factor for each pair; lognormal."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._factors]
        drawn = np.exp(self._spread * self._chance.standard_normal(len(new)))
        self._factors.update(zip(new, drawn.tolist(), strict=True))
        return np.array([self._factors[pair] for pair in pairs])


class Drift:
    """The slow drift of the whole fabric: an Ornstein-Uhlenbeck process of the logarithm, in simulated time."""

    def __init__(self, spread: float, seed: int) -> None:
        self._spread = spread
        self._chance = np.random.default_rng(seed)
        self._deviation = spread * float(self._chance.standard_normal())

    @property
    def factor(self) -> float:
        """What all bandwidths are multiplied by now."""
        return float(np.exp(self._deviation))

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        kept = float(np.exp(-seconds / DRIFT_S))
        fresh = self._spread * float(np.sqrt(1 - kept**2)) * float(self._chance.standard_normal())
        self._deviation = kept * self._deviation + fresh


class Surroundings:
    """All disturbances of one trial, and its simulated clock. They outlive a session of the probe."""

    def __init__(self, conditions: Conditions, routes: Routes, seed: int) -> None:
        """Every disturbance has a stream of its own, made from the trial's `seed`."""
        self.chance = np.random.default_rng(stream_seed(seed, Stream.NOISE))
        self.elapsed_s = 0.0
        """Simulated seconds that the rounds took until now."""
        self._level = conditions.noise
        self._pair_noise = PairNoise(conditions.pair_noise, stream_seed(seed, Stream.PAIR_NOISE))
        self._drift = Drift(conditions.drift, stream_seed(seed, Stream.DRIFT))
        self._jobs = Jobs(conditions.jobs, routes, stream_seed(seed, Stream.JOBS), shared_nodes=conditions.shared_nodes)

    @property
    def streams(self) -> list[Path]:
        """Paths of the background jobs' streams that flow now."""
        return self._jobs.streams

    def factors(self, pairs: Sequence[Pair]) -> Reals:
        """What the bandwidths of these pairs are multiplied by in one run now."""
        run = noise(len(pairs), self.chance, self._level)
        return run * self._pair_noise.factors(pairs) * self._drift.factor

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        self.elapsed_s += seconds
        self._drift.advance(seconds)
        self._jobs.advance(seconds)
