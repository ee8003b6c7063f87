"""Conditions under which a simulated fabric is measured, and the independent random streams of one trial."""

import enum

import msgspec
import numpy as np

from seatrial.model.pair_table import Reals

RECORDED_NOISE = 0.0008
"""Robust standard deviation of bandwidth in the recorded matrix: the noise whose shape is used."""
NOISE_SHARE = (0, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1)
NOISE_RATIO = (
    *(0.93337, 0.98385, 0.98992, 0.99135, 0.9923, 0.99373, 0.99708, 0.99908),
    *(1.0, 1.0004, 1.00064, 1.00091, 1.00109, 1.00112),
)
"""Quantiles of bandwidth over its median, 3,080 pairs of the 56 nodes with HDR100 in ../shared/data/pairwise
(csd3-hdr100-openmpi.out): robust standard deviation 0.08 %, one pair in a thousand 1 % low or more, the worst 6.7 %."""


class Stream(enum.IntEnum):
    """What is drawn from a random stream of its own, so that no draw depends on another."""

    FAULTS = 0
    DESIGN = 1
    NOISE = 2
    PAIR_NOISE = 3
    DRIFT = 4
    JOBS = 5


def stream_seed(seed: int, stream: Stream) -> int:
    """The seed of one stream of the trial `seed`: 0 to 2**32 - 1 (numpy's SeedSequence with a key for each stream)."""
    return int(np.random.SeedSequence(seed, spawn_key=(int(stream),)).generate_state(1)[0])


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Disturbances of a simulated fabric. All but the jobs are shares of the bandwidth, 0 for none."""

    noise: float = RECORDED_NOISE
    """Robust standard deviation of a pair from run to run, in the shape of the recorded matrix, with its tail."""
    pair_noise: float = 0.0005
    """Standard deviation of the offset that each ordered pair keeps for the whole run."""
    drift: float = 0.001
    """Standard deviation of the slow drift of the whole fabric, see `surroundings.Drift`."""
    jobs: int = 0
    """Other jobs that load cables part of the time (`jobs.Jobs`)."""
    shared_nodes: bool = False
    """Whether these jobs load the ports of the checked nodes, too."""


def noise(count: int, chance: np.random.Generator, level: float = RECORDED_NOISE) -> Reals:
    """Independent factors that scatter like the recorded matrix, their logarithms scaled to `level`."""
    drawn: Reals = np.interp(chance.random(count), NOISE_SHARE, NOISE_RATIO)
    return drawn ** (level / RECORDED_NOISE)
