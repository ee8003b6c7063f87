"""What a pair is held against: its limit, and its peers."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from seatrial.diagnosis.evidence import Evidence, Pair
from seatrial.diagnosis.thresholds import GATE_TOLERANCE, GROSS_GATE, RETEST_RUNS
from seatrial.model.estimate import Estimate
from seatrial.model.fabric import Wiring
from seatrial.model.limit import Limit
from seatrial.model.units import bandwidth
from seatrial.model.verdict import Verdict
from seatrial.statistics.median import WANTED_CONFIDENCE


class References(msgspec.Struct, frozen=True, kw_only=True):
    """Limits by pair where known; what peers deliver; latency by whether a pair leaves its leaf."""

    limits: Mapping[Pair, Limit]
    fabric: Wiring
    bandwidth_bytes_per_s: float | None
    latency_s: Mapping[bool, float]
    alike: bool = True
    """Whether the pairs are peers at all; the cores of one machine are not: some share a cache, some a socket."""

    def crosses(self, pair: Pair) -> bool:
        """Whether the pair's two nodes are known to hang on different leaves."""
        return crosses(self.fabric, pair)


def crosses(fabric: Wiring, pair: Pair) -> bool:
    """Whether the two nodes are known to hang on different leaves."""
    here, there = fabric.leaf_of.get(pair[0]), fabric.leaf_of.get(pair[1])
    return here is not None and there is not None and here != there


def make_references(
    evidence: Mapping[Pair, Evidence], limits: Mapping[Pair, Limit], fabric: Wiring, *, alike: bool = True
) -> References:
    """References from the fleet itself.

    The peers' bandwidth is the median over nodes of each node's best pair: one good partner acquits a node of what is
    wrong with another, so that one slow node, which slows half the pairs of a four-node cluster, moves nothing; and
    it is a median, not the best of the fleet. Of an even number the better of the two in the middle: where a few rounds
    gave each node one partner alone, half of them may have met the fault, and the mean of both halves is like none.
    Latency likewise, pairs inside a leaf apart from those between leaves,
    since two classes of latency are two distances and no fault. A bandwidth that physics forbids is no reference.
    """
    best: dict[str, float] = {}
    least: dict[bool, dict[str, float]] = defaultdict(dict)
    for pair, known in evidence.items():
        bandwidth, latency = known.bandwidth_estimate, known.latency_estimate
        if bandwidth is not None and not impossible(bandwidth.value, limits.get(pair)):
            for node in pair:
                best[node] = max(best.get(node, 0.0), bandwidth.value)
        if latency is not None:
            near = least[crosses(fabric, pair)]
            for node in pair:
                near[node] = min(near.get(node, float("inf")), latency.value)
    return References(
        limits=limits,
        fabric=fabric,
        bandwidth_bytes_per_s=sorted(best.values())[len(best) // 2] if best else None,
        latency_s={far: sorted(values.values())[(len(values) - 1) // 2] for far, values in least.items()},
        alike=alike,
    )


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
    certain = measured.confidence >= WANTED_CONFIDENCE and impossible(measured.low, limit)
    return Verdict.INVALID if certain or lowest > GROSS_GATE * limit.gate_bytes_per_s else Verdict.INCONCLUSIVE


def above_gate_text(measured: Estimate, limit: Limit, verdict: Verdict) -> str:
    """Why a bandwidth above the gate got that verdict."""
    said = f"{bandwidth(measured.value)} is more than physics permits ({bandwidth(limit.gate_bytes_per_s)})"
    if verdict is Verdict.INVALID:
        return said
    if not impossible(measured.low, limit):
        return f"{said}, but not in every run"
    runs = f"{measured.runs} run{'s' if measured.runs > 1 else ''}"
    return f"{said}, but {runs} of at least {RETEST_RUNS} needed cannot rule out chance; give more time with --budget"
