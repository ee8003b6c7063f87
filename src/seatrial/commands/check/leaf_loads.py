"""Rounds under load: what the nodes of each leaf carry together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.locate.evidence import MeasuredPair, Pair, deciding, run_value
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.subject import Direction
from seatrial.statistics.concurrent_flows import carried
from seatrial.statistics.estimates import median

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
    number: int
    """The number of the round: how many under load were measured before it."""
    absent: int = 0
    """Nodes of the leaf that took no part in it."""


Key = tuple[str, Direction]


def rounds_of(measurements: Iterable[Measurement], *, whole: bool = True) -> list[list[Measurement]]:
    """Rounds under load that are complete, in the order in which they were measured.

    Every round has a number of its own (`repetition`). One that was broken off and repeated in parts is left out, and
    so is one in which data arrived wrong. `whole` False: what is left of these, too.
    """
    found: dict[int, list[Measurement]] = {}
    for one in measurements:
        loaded = one.phase is Phase.LOADED and one.shape.kernel is Kernel.ONEWAY
        if loaded and not one.errors and sum(one.times_s) > LEAST_S:
            found.setdefault(one.repetition, []).append(one)
    return [flows for flows in found.values() if not whole or all(one.pairs_at_once == len(flows) for one in flows)]


def loads(rounds: Sequence[Sequence[Measurement]], leaf_of: Mapping[str, str]) -> dict[Key, list[Load]]:
    """The rounds of each leaf and way in which as many of its nodes took part as ever did, in order of time.

    If there are three leaves or more, the partners must be on two at least: with one, its uplink is loaded as much. If
    there are two, what one sends is what the other receives: only OUT is returned.
    """
    leaves = {leaf_of[name] for flows in rounds for one in flows for name in one.pair if name in leaf_of}
    found: defaultdict[Key, list[Load]] = defaultdict(list)
    for flows in rounds:
        for one in _loads(flows, leaf_of, min(len(leaves) - 1, 2)):
            if len(leaves) > 2 or one.way is Direction.OUT:
                found[one.leaf, one.way].append(one)
    fullest = {key: max(len(one.nodes) for one in many) for key, many in found.items()}
    return {key: [one for one in found[key] if len(one.nodes) == most] for key, most in sorted(fullest.items())}


def _loads(flows: Sequence[Measurement], leaf_of: Mapping[str, str], fewest_partners: int) -> Iterator[Load]:
    by_leaf: defaultdict[Key, list[Measurement]] = defaultdict(list)
    sizes = Counter(leaf_of.values())
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
            yield Load(
                leaf=leaf,
                way=way,
                bytes_per_s=carried(mine),
                nodes=nodes,
                apart=len(mine) == len(flows),
                number=flows[0].repetition,
                absent=sizes[leaf] - len(set(nodes)),
            )


def apart(many: Sequence[Load]) -> list[Load]:
    """The rounds in which no other leaf was under load."""
    return [one for one in many if one.apart]


def each_apart(found: Mapping[Key, Sequence[Load]]) -> bool:
    """Whether every leaf was under load alone at least once."""
    return bool(found) and all(apart(many) for many in found.values())


NodeRates = Mapping[tuple[str, Direction], float]
"""What a node sends and receives in single pairs, bytes per second."""


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes send and receive with no load beside them, bytes per second."""

    of_node: NodeRates
    of_leaf: Mapping[Key, float]
    """Rate of a leaf's nodes in rounds with one pair a leaf: a floor for nodes that were measured only among many."""
    usual: float
    leaf_of: Mapping[str, str]

    def rate(self, node: str, way: Direction) -> float:
        """The rate of one node; the usual rate for a node of which nothing is known."""
        known = self.of_node.get((node, way), 0.0)
        return max(known, self.of_leaf.get((self.leaf_of.get(node, ""), way), 0.0)) or self.usual

    def pair(self, pair: Pair) -> float:
        """The rate of one pair: the lesser of what its two nodes reach."""
        return min(self.rate(pair[0], Direction.OUT), self.rate(pair[1], Direction.IN))


def could(load: Load, alone: Alone) -> float:
    """Bytes per second that the nodes of a leaf reach one at a time, added up."""
    return sum(alone.rate(node, load.way) for node in load.nodes)


def node_rates(evidence: Mapping[Pair, MeasuredPair]) -> NodeRates:
    """Rates of nodes from the single pairs of a check: of each node the median of the better half, since some have a
    slow partner.
    """
    values: defaultdict[tuple[str, Direction], list[float]] = defaultdict(list)
    for (source, target), known in evidence.items():
        if runs := deciding(known.bandwidth):
            typical = median(runs)
            values[source, Direction.OUT].append(typical)
            values[target, Direction.IN].append(typical)
    return {key: better_half(many) for key, many in values.items()}


def rates_alone(of_node: NodeRates, rounds: Sequence[Sequence[Measurement]], leaf_of: Mapping[str, str]) -> Alone:
    """The rates of nodes and leaves from single pairs, and from rounds with one pair a leaf."""
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
