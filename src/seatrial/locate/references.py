"""What a pair is compared with: its limit, and its peers, whose scatter says which difference counts."""

import math
from array import array
from collections.abc import Collection, Mapping

import msgspec
import numpy as np

from seatrial.drift.peer_groups import comparable
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.locate.evidence import SHORTEST_S, MeasuredPair, Pair
from seatrial.locate.thresholds import (
    BEST_PAIRS,
    GATE_TOLERANCE,
    GROSS_GATE,
    HALF_NORMAL,
    LATENCY_FLOOR_S,
    LATENCY_RATIO,
    MOST_LACK,
    RUN_SCATTER,
    SCATTERS,
    SUSPICION,
    practical_effects,
)
from seatrial.model.fabric import Paths, Wiring
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.pair_table import Flags, Reals
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import CONFIDENCE, FEWEST_ALIKE, array_median, median, robust_scale

TAIL = 0.54
"""Median excess of normal values over their 58th to 75th percentile, in standard deviations: 0.48 to 0.61."""
CORE = 4.5
"""Standard deviations around the reference within which a pair counts as healthy."""
MOST_ROUNDS = 10


class PeerScatter(msgspec.Struct, frozen=True, kw_only=True):
    """Logarithms: the median of healthy pairs, and the standard deviation of one of them."""

    log: float
    scatter: float


class PeerTable:
    """One number per ordered pair of a fleet, as logarithms. Numbers change a few at a time; `peers` is vectorised."""

    def __init__(self) -> None:
        self._row: dict[Pair, int] = {}
        self._node: dict[str, int] = {}
        self._logs = array("d")
        self._source, self._target = array("q"), array("q")
        self._reverse = array("q")
        """Row of the other direction; -1 where that direction has no earlier row."""

    def update(self, values: Mapping[Pair, float | None]) -> bool:
        """Set the numbers of these pairs; None, zero and less: the pair is not a peer. Whether anything changed."""
        changed = False
        for pair, value in values.items():
            log = math.log(value) if value is not None and value > 0 else math.nan
            row = self._row.get(pair)
            if row is None:
                self._add(pair, log)
                changed = True
            elif log != self._logs[row] and not (math.isnan(log) and math.isnan(self._logs[row])):
                self._logs[row] = log
                changed = True
        return changed

    def _add(self, pair: Pair, log: float) -> None:
        self._row[pair] = len(self._logs)
        self._logs.append(log)
        for nodes, name in zip((self._source, self._target), pair, strict=True):
            nodes.append(self._node.setdefault(name, len(self._node)))
        self._reverse.append(self._row.get(pair[::-1], -1))

    def peers(self, without: Collection[Pair] = ()) -> PeerScatter | None:
        """What healthy pairs give and how much they scatter; None where no number is known. `without`: other pairs.

        First the median over nodes of each node's upper quartile, which half of the nodes may not reach. The scatter
        about it is the least of what lies above it, of the better half, and of the differences of a pair's two
        directions; then that of all pairs within CORE scatters, as long as that adds any. The reference is the median
        of these.
        """
        if not self._logs:
            return None
        logs = np.array(self._logs)
        logs[[self._row[pair] for pair in without if pair in self._row]] = np.nan
        measured = np.isfinite(logs)
        every = logs[measured]
        if not every.size:
            return None
        rough = self._rough(every, measured)
        excess, better = every[every > rough] - rough, np.sort(every)[len(every) // 2 :]
        above = array_median(excess) / TAIL if len(excess) >= FEWEST_ALIKE else math.inf
        half = HALF_NORMAL * robust_scale(better) if len(better) >= FEWEST_ALIKE else math.inf
        scatter = min(above, half, self._directions(logs))
        scatter = max(scatter if np.isfinite(scatter) else robust_scale(every) if len(every) > 2 else 0.0, RUN_SCATTER)
        core = every
        for _ in range(MOST_ROUNDS):
            core = every[every > rough - CORE * scatter]
            centre = array_median(core)
            wider = robust_scale(core, centre)
            if wider <= scatter * 1.01:
                break
            scatter = wider
        return PeerScatter(log=array_median(core), scatter=scatter)

    def _rough(self, logs: Reals, measured: Flags) -> float:
        """The median over nodes of each node's BEST_PAIRS quantile."""
        node = np.concatenate([np.array(self._source)[measured], np.array(self._target)[measured]])
        both = np.concatenate([logs, logs])
        ordered = both[np.lexsort((-both, node))]
        count = np.bincount(node)
        first = np.cumsum(count) - count
        place = np.maximum(np.ceil((1 - BEST_PAIRS) * count).astype(np.intp) - 1, 0)
        paces = np.sort(ordered[(first + place)[count > 0]])
        return float(paces[len(paces) // 2])

    def _directions(self, logs: Reals) -> float:
        """Scatter of one direction, from the differences of both. Of latency both are one number: no difference."""
        reverse = np.array(self._reverse)
        both = reverse >= 0
        apart = np.abs(logs[both] - logs[reverse[both]])
        apart = apart[np.isfinite(apart)]
        if len(apart) < FEWEST_ALIKE or not apart.any():
            return float("inf")
        return robust_scale(apart, 0.0) / float(np.sqrt(2))


class PeerLine(msgspec.Struct, frozen=True, kw_only=True):
    """Peers of one kind, and what counts as worse than they are. Logarithms; larger is better, of latency too.

    `effect`: a part that lacks this much is slow. `lack`: a pair that lacks this much in the survey is bad, one that
    lacks less than half of it is good, and one between neither convicts nor clears.
    """

    usual: float
    scatter: float
    effect: float
    lack: float

    def over_peers(self, value: float) -> float:
        """How much better than its peers; negative: worse."""
        return math.log(max(value, SHORTEST_S)) - self.usual


class References(msgspec.Struct, frozen=True, kw_only=True):
    """Limits by pair where known; what peers deliver; latency by whether a pair leaves its leaf."""

    limits: Mapping[Pair, Limit]
    fabric: Wiring
    bandwidth: PeerLine | None
    speed: Mapping[bool, PeerLine]
    """Peers by reciprocal latency."""
    alike: bool = True
    """Whether the pairs are peers at all; the cores of one machine are not: some share a cache, some a socket."""
    scales: Mapping[Pair, float] = {}
    """Pairs of nodes of another model, with slower ports: their limit as a share of the others'."""

    def scale(self, pair: Pair) -> float:
        """What its peers' bandwidth is to be multiplied by for this pair."""
        return self.scales.get(pair, 1.0)

    def rate_over_peers(self, pair: Pair, bytes_per_s: float) -> float:
        """Logarithm of a bandwidth over what peers of the pair give; 0 where there are none."""
        return self.bandwidth.over_peers(bytes_per_s / self.scale(pair)) if self.bandwidth else 0.0

    @property
    def bandwidth_bytes_per_s(self) -> float | None:
        """What a healthy pair delivers."""
        return math.exp(self.bandwidth.usual) if self.bandwidth else None

    def peers_of(self, pair: Pair) -> float | None:
        """Bytes per second that peers of the pair deliver; None where it has none."""
        usual = self.bandwidth_bytes_per_s
        return usual * self.scale(pair) if usual and self.alike else None

    @property
    def latency_s(self) -> dict[bool, float]:
        """What a healthy pair takes, one way."""
        return {far: math.exp(-line.usual) for far, line in self.speed.items()}

    def crosses(self, pair: Pair) -> bool:
        """Whether the pair's two nodes are known to hang on different leaves."""
        return crosses(self.fabric, pair)


def crosses(fabric: Paths, pair: Pair) -> bool:
    """Whether the two nodes are known to hang on different leaves."""
    source_leaf, target_leaf = fabric.leaf_of.get(pair[0]), fabric.leaf_of.get(pair[1])
    return source_leaf is not None and target_leaf is not None and source_leaf != target_leaf


class Baselines:
    """The references of a run that grows, from the fleet itself: from what was measured before any retest.

    `PeerTable` says how. Latency of pairs inside a leaf is apart from that of pairs between leaves, since two classes
    of latency are two distances and no fault. A bandwidth that physics forbids is not a reference.
    """

    def __init__(
        self, *, alike: bool = True, one_kernel: bool = False, asked: Mapping[str, float | None] | None = None
    ) -> None:
        """`one_kernel`: nodes share one, so that its scheduler decides on small latencies.

        `asked`: practical effect by metric, as a share; None: the default.
        """
        self._alike = alike
        self._one_kernel = one_kernel
        self._asked = asked or {}
        self._rates = PeerTable()
        self._speeds = {False: PeerTable(), True: PeerTable()}
        self._bandwidth: PeerLine | None = None
        self._speed: dict[bool, PeerLine] = {}
        self._scales: Mapping[Pair, float] = {}

    def update(
        self,
        evidence: Mapping[Pair, MeasuredPair],
        changed: Collection[Pair],
        limits: Mapping[Pair, Limit],
        fabric: Wiring,
        scales: Mapping[Pair, float] | None = None,
    ) -> References:
        """`changed`: pairs of which anything was measured since the last call.

        `scales`: see `scales_of`.
        """
        rescaled = (scales or {}) != self._scales
        self._scales = scales or {}
        speeds: dict[bool, dict[Pair, float | None]] = {False: {}, True: {}}
        for pair in changed:
            speeds[crosses(fabric, pair)][pair] = evidence[pair].first_speed
        rates = {pair: self._rate(pair, evidence[pair], limits) for pair in (evidence if rescaled else changed)}
        if self._rates.update(rates):
            peers = self._rates.peers()
            self._bandwidth = _bandwidth_line(peers, self._asked.get(BANDWIDTH)) if peers else None
        for far, own in speeds.items():
            if self._speeds[far].update(own) and (peers := self._speeds[far].peers()):
                self._speed[far] = _speed_line(peers, self._one_kernel, self._asked.get(LATENCY))
        speed = dict(sorted(self._speed.items()))
        if False in speed:  # a pair below one switch is not later than those that cross several
            speed[False] = max(speed.values(), key=lambda line: line.usual)
        return References(
            limits=limits,
            fabric=fabric,
            bandwidth=self._bandwidth,
            speed=speed,
            alike=self._alike,
            scales=self._scales,
        )

    def without(self, explained: Collection[Pair], references: References) -> References:
        """`references`, with bandwidth compared with pairs other than these.

        Where a slow uplink is on more than half of all pairs, what they lack is not the scatter of healthy ones.
        """
        peers = self._rates.peers(explained)
        line = _bandwidth_line(peers, self._asked.get(BANDWIDTH)) if peers else None
        return msgspec.structs.replace(references, bandwidth=line) if line else references

    def _rate(self, pair: Pair, series: MeasuredPair, limits: Mapping[Pair, Limit]) -> float | None:
        rate = series.first_bandwidth
        if rate is None or impossible(rate, limits.get(pair)):
            return None
        return rate / self._scales.get(pair, 1.0)


def scales_of(limits: Mapping[Pair, Limit], facts: Mapping[str, NodeFacts]) -> dict[Pair, float]:
    """Factor by which pairs can carry less, by their limits, with nodes of another model or link rate than most.

    A single node of the same model with a lower limit has a port or link that is worse than it should be, and is
    compared with the others as it is. Where a quarter of a model has it, it is the design (`peer_groups.comparable`).
    """
    makes = comparable(facts)
    if len(makes) < 2:
        return {}
    most = set(makes[0].nodes)
    usual = [limit.limit_bytes_per_s for pair, limit in limits.items() if most.issuperset(pair)]
    if not usual:
        return {}
    middle = median(usual)
    others = {pair: limit.limit_bytes_per_s / middle for pair, limit in limits.items() if not most.issuperset(pair)}
    return {pair: share for pair, share in others.items() if share < 1}


def _bandwidth_line(peers: PeerScatter, asked: float | None) -> PeerLine:
    return _line(peers, practical_effects(BANDWIDTH, math.exp(peers.log), asked).most)


def _speed_line(peers: PeerScatter, one_kernel: bool, asked: float | None) -> PeerLine:
    """Peers by latency; in a shared kernel only gross differences count: ClusterKit's published rule, and 5 µs."""
    latency_s = math.exp(-peers.log)
    least = practical_effects(LATENCY, latency_s, asked).most
    if one_kernel and asked is None:
        least = max(math.log(LATENCY_RATIO), math.log1p(LATENCY_FLOOR_S / latency_s))
    return _line(peers, least)


def _line(peers: PeerScatter, effect: float) -> PeerLine:
    lack = min(max(SUSPICION * effect, SCATTERS * peers.scatter), max(MOST_LACK, effect))
    return PeerLine(usual=peers.log, scatter=peers.scatter, effect=effect, lack=lack)


def impossible(bytes_per_s: float, limit: Limit | None) -> bool:
    """Whether a bandwidth is beyond the gate of its limit."""
    return limit is not None and bytes_per_s > limit.gate_bytes_per_s * GATE_TOLERANCE


def against_gate(measured: Estimate, limit: Limit | None, slowest: float | None = None) -> Verdict | None:
    """The verdict on a bandwidth above the gate; None where its median is not above it.

    INVALID if the whole 95 % interval over runs is above the gate, or if everything measured is grossly above it;
    otherwise INCONCLUSIVE, because fewer than six runs, or runs on both sides, may be chance. `slowest`: the slowest
    window of all runs, bytes per second; None: not known, and the lower end of the interval is used.
    """
    if limit is None or not impossible(measured.value, limit):
        return None
    lowest = measured.low if slowest is None else slowest
    certain = measured.confidence >= CONFIDENCE and impossible(measured.low, limit)
    return Verdict.INVALID if certain or lowest > GROSS_GATE * limit.gate_bytes_per_s else Verdict.INCONCLUSIVE


def above_gate_text(measured: Estimate, limit: Limit, verdict: Verdict) -> str:
    """Why a bandwidth above the gate got that verdict."""
    statement = f"{bandwidth(measured.value)} is more than physics permits ({bandwidth(limit.gate_bytes_per_s)})"
    if verdict is Verdict.INVALID:
        return statement
    if not impossible(measured.low, limit):
        return f"{statement}, but not in every run"
    runs = f"{measured.runs} run{'s' if measured.runs > 1 else ''}"
    return (
        f"{statement}, but {runs} of at least {RETEST_RUNS} needed cannot rule out chance; give more time with --budget"
    )
