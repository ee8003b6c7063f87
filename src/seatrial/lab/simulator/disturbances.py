"""What disturbs measurements on a simulated fabric, in simulated time: noise, drift, jobs, busy processors."""

import enum
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from seatrial.fabric.routes import Hop, Route, Routes
from seatrial.model.pair_table import Reals
from seatrial.pairs.rounds import Pair

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
    LOSSES = 6
    SPELLS = 7


def stream_seed(seed: int, stream: Stream) -> int:
    """The seed of one stream of the trial `seed`: 0 to 2**32 - 1 (numpy's SeedSequence with a key for each stream)."""
    return int(np.random.SeedSequence(seed, spawn_key=(int(stream),)).generate_state(1)[0])


class Starved(enum.StrEnum):
    """Whose ranks wait for a processor during spells."""

    NOBODY = "nobody"
    ONE = "one"
    ALL = "all"
    ALWAYS = "always"
    """All ranks wait, in one spell that lasts."""


class SimulatedConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Disturbances of a simulated fabric. All but the jobs are shares of the bandwidth, 0 for none."""

    noise: float = RECORDED_NOISE
    """Robust standard deviation of a pair from run to run, in the shape of the recorded matrix, with its tail."""
    pair_noise: float = 0.0005
    """Standard deviation of the offset that each ordered pair keeps for the whole run."""
    drift: float = 0.001
    """Standard deviation of the slow drift of the whole fabric (`SlowDrift`)."""
    jobs: int = 0
    """Other jobs that load cables part of the time (`Jobs`)."""
    shared_nodes: bool = False
    """Whether these jobs load the ports of the checked nodes, too."""
    starved: Starved = Starved.NOBODY
    """Whose ranks other programs keep from their processors for seconds at a time (`Spells`)."""
    waits_known: bool = True
    """Whether measurements say how long ranks waited, as the probe reads it from the kernel."""
    idle_waits: float = 0.0
    """Share of the runs in which ranks wait and lose nothing: the data of others are on their way meanwhile."""
    one_kernel: bool = False
    """Whether all nodes share a kernel, as virtual ones do: a check then measures one pair at a time."""


def noise(count: int, chance: np.random.Generator, level: float = RECORDED_NOISE) -> Reals:
    """Independent factors that scatter like the recorded matrix, their logarithms scaled to `level`."""
    drawn: Reals = np.interp(chance.random(count), NOISE_SHARE, NOISE_RATIO)
    return drawn ** (level / RECORDED_NOISE)


# Background jobs: traffic on the cables, and on the nodes if they are shared, part of the time.

JOB_NODES = 8
"""Nodes of one job, drawn over the whole fabric; each sends to the next one of them."""
JOB_LOAD = 0.3
"""Share of its path's bandwidth that each of these streams takes while the job communicates."""
BUSY_S, QUIET_S = 2.0, 8.0
"""Mean lengths of the phases with and without communication, in simulated seconds: a job is busy 20 % of the time."""


class Jobs:
    """All background jobs, each in a phase of its own."""

    def __init__(self, count: int, routes: Routes, seed: int, *, shared_nodes: bool = False) -> None:
        """`seed` of their places and of the lengths of their phases (exponential).

        Nodes are allocated to one job at a time as a rule: a background job then runs on nodes of its own below the
        same leaves, and its streams cross cables between switches only. `shared_nodes`: ports of the nodes as well.
        """
        self._draw = random.Random(seed)
        self._streams: list[list[Route]] = []
        for _ in range(count):
            nodes = self._draw.sample(routes.adapters, min(JOB_NODES, len(routes.adapters)))
            pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
            paths = routes.paths(pairs) if shared_nodes else [path[1:-1] for path in routes.paths(pairs)]
            self._streams.append([path for path in paths if path])
        self._busy = [self._draw.random() < BUSY_S / (BUSY_S + QUIET_S) for _ in range(count)]
        self._left_s: Reals = np.array([self._length_s(busy) for busy in self._busy], dtype=np.float64)
        self._flowing: list[Route] | None = None
        self._load: Counter[Hop] = Counter()
        """Streams that flow now over each cable."""
        for job in np.flatnonzero(self._busy).tolist():
            self._count(job)

    @property
    def streams(self) -> list[Route]:
        """Paths of all streams that flow now; the same object until a job begins or ends a phase."""
        if self._flowing is None:
            busy = [paths for busy, paths in zip(self._busy, self._streams, strict=True) if busy]
            self._flowing = [path for paths in busy for path in paths]
        return self._flowing

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        self._left_s -= seconds
        for job in np.flatnonzero(self._left_s <= 0).tolist():
            rest = -float(self._left_s[job])
            was_busy = self._busy[job]
            while rest >= 0:
                self._busy[job] = not self._busy[job]
                rest -= self._length_s(self._busy[job])
            self._left_s[job] = -rest
            self._flowing = None
            if self._busy[job] != was_busy:
                self._count(job)

    def crosses(self, hops: Iterable[Hop]) -> bool:
        """Whether a stream flows now over any of these cables."""
        return any(self._load[hop] for hop in hops)

    def _count(self, job: int) -> None:
        """Take in that the streams of a job begin or end."""
        change = self._load.update if self._busy[job] else self._load.subtract
        for path in self._streams[job]:
            change(path)

    def _length_s(self, busy: bool) -> float:
        return self._draw.expovariate(1 / (BUSY_S if busy else QUIET_S))


# A loaded machine: programs take processors from ranks, for seconds.

SPELL_S, CALM_S = 0.3, 0.6
"""Mean lengths of the phases with and without other programs, in simulated seconds: a few rounds of bandwidth each."""
SPELL_SHARES = 0.3, 0.8
"""Range of the share of the time that the ranks keep in a spell; each spell has its own."""


class Spells:
    """Spells in which the ranks of one node or of all get only a share of the time of a processor."""

    def __init__(self, starved: Starved, nodes: Sequence[str], seed: int, idle: float = 0.0) -> None:
        """`seed` of the node and of the spells, whose lengths are exponential. `idle`: see `SimulatedConditions`."""
        self._draw = random.Random(seed)
        self._idle = idle
        chosen = {Starved.NOBODY: [], Starved.ONE: [self._draw.choice(nodes)]}.get(starved, nodes)
        self.nodes = frozenset(chosen)
        """Nodes whose ranks wait in a spell."""
        lasts = not chosen or starved is Starved.ALWAYS
        calm = self._draw.random() < CALM_S / (SPELL_S + CALM_S) and starved is not Starved.ALWAYS
        self._kept = 1.0 if calm else self._draw.uniform(*SPELL_SHARES)
        self._left_s = math.inf if lasts else self._draw.expovariate(1 / (CALM_S if calm else SPELL_S))

    def kept(self, node: str) -> float:
        """Share of the time for which the rank of this node has a processor now."""
        return self._kept if node in self.nodes else 1.0

    def pace(self, kept: float) -> float:
        """Share of its usual pace at which a run goes whose ranks keep this share of the time."""
        return 1.0 if self._idle and self._draw.random() < self._idle else kept

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        self._left_s -= seconds
        while self._left_s <= 0:
            calm = self._kept < 1
            self._kept = 1.0 if calm else self._draw.uniform(*SPELL_SHARES)
            self._left_s += self._draw.expovariate(1 / (CALM_S if calm else SPELL_S))


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


class SlowDrift:
    """The slow drift of the whole fabric: an Ornstein-Uhlenbeck process of the logarithm, in simulated time.

    Its size is what all links lose: none of them carries more than its rate.
    """

    def __init__(self, spread: float, seed: int) -> None:
        self._spread = spread
        self._chance = np.random.default_rng(seed)
        self._deviation = spread * float(self._chance.standard_normal())

    @property
    def factor(self) -> float:
        """What all bandwidths are multiplied by now."""
        return float(np.exp(-abs(self._deviation)))

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        kept = float(np.exp(-seconds / DRIFT_S))
        fresh = self._spread * float(np.sqrt(1 - kept**2)) * float(self._chance.standard_normal())
        self._deviation = kept * self._deviation + fresh


class Surroundings:
    """All disturbances of one trial, and its simulated clock. They outlive a session of the probe."""

    def __init__(
        self, conditions: SimulatedConditions, routes: Routes, seed: int, nodes: Sequence[str] = ("",)
    ) -> None:
        """Every disturbance has a stream of its own, made from the trial's `seed`. `nodes`: whose ranks may wait."""
        self.spells = Spells(conditions.starved, nodes, stream_seed(seed, Stream.SPELLS), conditions.idle_waits)
        self.waits_known = conditions.waits_known
        """Whether measurements say how long ranks waited."""
        self.losses = np.random.default_rng(stream_seed(seed, Stream.LOSSES))
        """Decides which packets are lost."""
        self.chance = np.random.default_rng(stream_seed(seed, Stream.NOISE))
        self.elapsed_s = 0.0
        """Simulated seconds that the rounds took until now."""
        self._level = conditions.noise
        self._pair_noise = PairNoise(conditions.pair_noise, stream_seed(seed, Stream.PAIR_NOISE))
        self._drift = SlowDrift(conditions.drift, stream_seed(seed, Stream.DRIFT))
        self._jobs = Jobs(conditions.jobs, routes, stream_seed(seed, Stream.JOBS), shared_nodes=conditions.shared_nodes)

    @property
    def streams(self) -> list[Route]:
        """Paths of the background jobs' streams that flow now."""
        return self._jobs.streams

    def crosses(self, hops: Iterable[Hop]) -> bool:
        """Whether a background job's stream flows now over any of these cables."""
        return self._jobs.crosses(hops)

    def factors(self, pairs: Sequence[Pair]) -> Reals:
        """What the bandwidths of these pairs are multiplied by in one run now."""
        run = noise(len(pairs), self.chance, self._level)
        return run * self._pair_noise.factors(pairs) * self._drift.factor

    def advance(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        self.elapsed_s += seconds
        self._drift.advance(seconds)
        self.spells.advance(seconds)
        self._jobs.advance(seconds)
