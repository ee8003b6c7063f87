"""Rounds under load: what the nodes of each leaf carry together, and which leaf carries less than its peers."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.locate.evidence import Evidence, Pair, deciding, run_value
from seatrial.locate.significance import NORMAL
from seatrial.locate.thresholds import CONTROL_PAIRS, GROSS_LOSS, RETEST_RUNS, SCATTERS
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.subject import Direction
from seatrial.statistics.concurrent_flows import Flow, together
from seatrial.statistics.estimates import median, paired_ratio

WAYS = (Direction.OUT, Direction.IN)
LEAST_S = 1e-9
"""What took no time was not measured."""
FEWEST_FLOWS = 2
"""A leaf with one pair at once is not under load."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf in one round. `apart`: no other leaf was under load in it."""

    leaf: str
    way: Direction
    bytes_per_s: float
    nodes: tuple[str, ...]
    apart: bool


Key = tuple[str, Direction]


def rounds_of(measurements: Iterable[Measurement]) -> list[list[Measurement]]:
    """Rounds under load that are complete, in the order in which they were measured.

    Every round has a number of its own (`repetition`). One that was broken off and repeated in parts is left out, and
    so is one in which data arrived wrong.
    """
    found: dict[int, list[Measurement]] = {}
    for one in measurements:
        loaded = one.phase is Phase.LOADED and one.shape.kernel is Kernel.ONEWAY
        if loaded and not one.errors and sum(one.times_s) > LEAST_S:
            found.setdefault(one.repetition, []).append(one)
    return [flows for flows in found.values() if all(one.pairs_at_once == len(flows) for one in flows)]


def carried(flows: Sequence[Measurement]) -> float:
    """Bytes per second of these flows of one round while all of them run."""
    return together(
        [
            Flow(
                window_bytes=one.shape.message_bytes * one.shape.window,
                warmup_s=one.warmup_times_s,
                timed_s=one.times_s,
            )
            for one in flows
        ]
    )


def loads(rounds: Sequence[Sequence[Measurement]], leaf_of: Mapping[str, str]) -> dict[Key, list[Load]]:
    """Of each leaf and way: the rounds in which as many of its nodes took part as ever did, one after the other.

    Where there are three leaves or more, the partners must be on two at least: with one, its uplink is loaded as much.
    Of two leaves, what one sends is what the other receives: there only OUT is returned.
    """
    leaves = {leaf_of[name] for flows in rounds for one in flows for name in one.pair if name in leaf_of}
    found: defaultdict[Key, list[Load]] = defaultdict(list)
    for flows in rounds:
        for one in _loads(flows, leaf_of, min(len(leaves) - 1, 2)):
            if len(leaves) > 2 or one.way is Direction.OUT:
                found[one.leaf, one.way].append(one)
    return {key: _fullest(many) for key, many in sorted(found.items())}


def _loads(flows: Sequence[Measurement], leaf_of: Mapping[str, str], fewest_partners: int) -> Iterator[Load]:
    by_leaf: defaultdict[Key, list[Measurement]] = defaultdict(list)
    for one in flows:
        here, there = leaf_of.get(one.source), leaf_of.get(one.target)
        if here is not None and there is not None and here != there:
            by_leaf[here, Direction.OUT].append(one)
            by_leaf[there, Direction.IN].append(one)
    for (leaf, way), mine in by_leaf.items():
        out = way is Direction.OUT
        partners = {leaf_of[one.target if out else one.source] for one in mine}
        if len(mine) >= FEWEST_FLOWS and len(partners) >= fewest_partners:
            nodes = tuple(one.source if out else one.target for one in mine)
            yield Load(leaf=leaf, way=way, bytes_per_s=carried(mine), nodes=nodes, apart=len(mine) == len(flows))


def _fullest(many: Sequence[Load]) -> list[Load]:
    most = max(len(one.nodes) for one in many)
    return [one for one in many if len(one.nodes) == most]


def apart(many: Sequence[Load]) -> list[Load]:
    """Those in which no other leaf was under load."""
    return [one for one in many if one.apart]


NodeRates = Mapping[tuple[str, Direction], float]
"""What a node sends and receives in single pairs, bytes per second."""


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes send and receive with no load beside them, bytes per second."""

    of_node: NodeRates
    of_leaf: Mapping[Key, float]
    """Of nodes in rounds with one pair a leaf: a floor for its other nodes, which were measured among many only."""
    usual: float
    leaf_of: Mapping[str, str]

    def rate(self, node: str, way: Direction) -> float:
        """Of one node; the usual one for a node of which nothing is known."""
        known = self.of_node.get((node, way), 0.0)
        return max(known, self.of_leaf.get((self.leaf_of.get(node, ""), way), 0.0)) or self.usual

    def pair(self, pair: Pair) -> float:
        """Of one pair: what the lesser of the two reaches."""
        return min(self.rate(pair[0], Direction.OUT), self.rate(pair[1], Direction.IN))


def node_rates(evidence: Mapping[Pair, Evidence]) -> NodeRates:
    """From the single pairs of a check: of each node the median of the better half, since some have a slow partner."""
    values: defaultdict[tuple[str, Direction], list[float]] = defaultdict(list)
    for (source, target), known in evidence.items():
        if runs := deciding(known.bandwidth):
            typical = median(runs)
            values[source, Direction.OUT].append(typical)
            values[target, Direction.IN].append(typical)
    return {key: better_half(many) for key, many in values.items()}


def rates_alone(of_node: NodeRates, rounds: Sequence[Sequence[Measurement]], leaf_of: Mapping[str, str]) -> Alone:
    """From single pairs, and from rounds with one pair a leaf."""
    light: defaultdict[Key, list[float]] = defaultdict(list)
    for one in (one for flows in rounds if is_light(flows, leaf_of) for one in flows):
        light[leaf_of[one.source], Direction.OUT].append(run_value(one))
        light[leaf_of[one.target], Direction.IN].append(run_value(one))
    of_leaf = {key: better_half(many) for key, many in light.items()}
    known_rates = [*of_leaf.values()] or [*of_node.values()]
    return Alone(of_node=of_node, of_leaf=of_leaf, usual=median(known_rates) if known_rates else 0.0, leaf_of=leaf_of)


def is_light(flows: Sequence[Measurement], leaf_of: Mapping[str, str]) -> bool:
    """Whether no leaf has more than one pair in the round, and every pair's leaves are known."""
    names = [leaf_of.get(name, "") for one in flows for name in one.pair]
    return "" not in names and len(set(names)) == len(names)


def better_half(values: Sequence[float]) -> float:
    """The median of the values that are not below the median."""
    return median(sorted(values)[len(values) // 2 :])


# Comparison of leaves: which one carries less than is expected from the others.

EFFECT = 0.03
"""An uplink is slow where it carries less than its peers' by more than this share."""
CONFIDENCE = 0.99
"""Of the interval that must lie below `1 - EFFECT` as a whole."""
ALIKE = 0.97
"""Leaves whose nodes could send at least this share of what another's could are as good a comparison."""
FEWEST_LEAVES = 12
"""With fewer, natural scatter looks like a fault; pairs of this few also do not meet inside the fabric."""
MOST_LACK = 0.6
"""An uplink that carries less than the rest of this share is slow, however leaves differ."""
MOST_SUSPECTS = 6
"""Leaves (and ways) measured again at a time; the worst, if there are more."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf against the others of its way."""

    key: Key
    ratio: Estimate
    """What it carries as a share of what was expected, round by round."""
    expected_bytes_per_s: float
    peers: tuple[Key, ...]

    def slow(self, effect: float) -> bool:
        """Whether it is slow for certain."""
        return self.ratio.high < 1 - effect

    def perhaps(self, effect: float) -> bool:
        """Whether it looks slow, and may not be."""
        return self.ratio.value < 1 - effect and not self.slow(effect)


def could(load: Load, alone: Alone) -> float:
    """Bytes per second that the nodes of a leaf reach one at a time, added up."""
    return sum(alone.rate(node, load.way) for node in load.nodes)


def expected(
    key: Key, carried: Mapping[Key, float], offered: Mapping[Key, float], nodes: Mapping[Key, int]
) -> float | None:
    """What one leaf should carry by what others do; None where there are none.

    Each uplink carries at least what was seen of it, so that is what another may be expected to carry too, but no more
    than its own nodes can send. On static routes fewer nodes may use fewer cables: a leaf of which fewer took part may
    carry as much less. Leaves that were offered less than this one say little about its uplink: they count only where
    fewer than two were offered as much. `nodes`: how many of each leaf took part.
    """
    peers = [other for other in carried if other != key and other[1] is key[1]]
    as_much = [other for other in peers if offered[other] >= ALIKE * offered[key]]
    values = [_expected_by(key, other, carried, offered, nodes) for other in (as_much if len(as_much) > 1 else peers)]
    return median(values) if values else None


def _expected_by(
    key: Key, other: Key, carried: Mapping[Key, float], offered: Mapping[Key, float], nodes: Mapping[Key, int]
) -> float:
    """By one other leaf. With fewer nodes than that, whatever it carries between the least and the most."""
    if offered[key] >= ALIKE * offered[other]:
        return carried[other]
    most = min(carried[other], ALIKE * offered[key])
    if nodes[key] >= nodes[other]:
        return most
    return min(max(carried[key], ALIKE * carried[other] * nodes[key] / nodes[other]), most)


def shares(found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float]) -> dict[Key, float]:
    """What each leaf carries as a share of what is expected of it; without those that have no peers.

    From rounds in which one leaf alone was under load if all leaves had such, since these depend on nobody's fault;
    else from the others, since a slow uplink takes a little from all its partners, and they are alike in that.
    """
    each = all(apart(many) for many in found.values())
    same = {key: apart(many) if each else [one for one in many if not one.apart] for key, many in found.items()}
    carried = {key: median([one.bytes_per_s for one in many]) for key, many in same.items() if many}
    nodes = {key: len(many[-1].nodes) for key, many in found.items()}
    wanted = {key: expected(key, carried, offered, nodes) for key in carried}
    return {key: carried[key] / value for key, value in wanted.items() if value}


def lacks(of_peers: Mapping[Key, float], effect: float = EFFECT) -> dict[Key, float]:
    """By how much each leaf must lie below the others of its way: the practical effect, or what leaves differ anyway.

    On static routes pairs meet on the cables inside a large fabric, at some leaves more than at others.
    """
    found = {}
    for key in of_peers:
        own = [value for other, value in of_peers.items() if other[1] is key[1]]
        middle = median(own)
        scatter = NORMAL * median([abs(value - middle) for value in own]) if len(own) >= FEWEST_LEAVES else 0.0
        least = effect if len(own) > 2 else max(effect, GROSS_LOSS)
        found[key] = min(max(least, SCATTERS * scatter), MOST_LACK)
    return found


def slow_leaves(of_peers: Mapping[Key, float], lack: Mapping[Key, float], known: Collection[Key] = ()) -> list[Key]:
    """Leaves that carry too little, the worst first, to be measured again; without those of `known`.

    Where half of the leaves send to the other half, one slow uplink takes a little from all its partners, too, so
    several may be here for one fault. Measured again, each is under load alone.
    """
    low = sorted(key for key, value in of_peers.items() if value < 1 - lack[key] and key not in known)
    return sorted(low, key=lambda key: of_peers[key])[:MOST_SUSPECTS]


def control_leaves(
    chosen: Sequence[Key], of_peers: Mapping[Key, float], offered: Mapping[Key, float], slow: Collection[Key] = ()
) -> list[Key]:
    """Other leaves to measure beside the suspects, for each way: of about as many nodes, and neither best nor worst."""
    found: list[Key] = []
    for way in dict.fromkeys(key[1] for key in chosen):
        mine = [offered[key] for key in chosen if key[1] is way]
        others = [key for key in of_peers if key[1] is way and key not in chosen and key not in slow]
        others.sort(key=lambda key: (offered[key] < ALIKE * min(mine), abs(of_peers[key] - 1)))
        found += others[:CONTROL_PAIRS]
    return found


def compared(
    found: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], lack: Mapping[Key, float]
) -> list[Compared]:
    """Leaves that were measured `RETEST_RUNS` times, each alone under load, against each other, run by run.

    Slow leaves are excluded from the comparison as long as other leaves are left. `lack`: see `lacks`.
    """
    mine = {key: apart(many) for key, many in found.items()}
    again = {key: many[-RETEST_RUNS:] for key, many in mine.items() if len(many) >= RETEST_RUNS}
    first = [one for key in again if (one := _against(key, again, offered, ()))]
    slow = {one.key for one in first if one.slow(lack.get(one.key, EFFECT))}
    return [_against(one.key, again, offered, slow) or one for one in first]


def confirmed(
    found: Mapping[Key, Sequence[Load]],
    offered: Mapping[Key, float],
    lack: Mapping[Key, float],
    effect: float = EFFECT,
) -> list[Compared]:
    """Those of `compared` that are slow for certain.

    `effect`: for a leaf that `lack` does not have, since more of its nodes took part when it was measured again than
    ever before, so that it was not compared with others at first.
    """
    return [one for one in compared(found, offered, lack) if one.slow(lack.get(one.key, effect))]


def _against(
    key: Key, again: Mapping[Key, Sequence[Load]], offered: Mapping[Key, float], without: Collection[Key]
) -> Compared | None:
    peers = {other for other in again if other == key or other not in without}
    runs: list[tuple[float, float]] = []
    for run in range(RETEST_RUNS):
        carried = {other: again[other][run].bytes_per_s for other in peers}
        nodes = {other: len(again[other][run].nodes) for other in peers}
        wanted = expected(key, carried, offered, nodes)
        if not wanted:
            return None
        runs.append((carried[key], wanted))
    return Compared(
        key=key,
        ratio=paired_ratio(runs, CONFIDENCE),
        expected_bytes_per_s=median([wanted for _, wanted in runs]),
        peers=tuple(sorted(other for other in peers if other != key and other[1] is key[1])),
    )
