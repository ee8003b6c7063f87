"""A fabric by its real cables and routes: what a pair of nodes crosses, cable by cable, and its oversubscription."""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec
import numpy as np

from seatrial.fabric.forwarding import TableForwarding, Tables
from seatrial.fabric.ibnetdiscover import SHOWN, adapters_of, no_such_nodes, unique_names
from seatrial.fabric.link_problem import rate_of
from seatrial.fabric.parts import FabricPart, FabricParts, PartKind
from seatrial.fabric.routes import Hop, Numbers, Route, Routes
from seatrial.model.fabric import Component, DeviceKind, Fabric, FabricMap
from seatrial.model.words import count, some, verb

Pair = tuple[str, str]
HOPS_TRIED = 3
"""Cables of a bundle across which pairs are looked for."""
TRIES = (192, 3072)
"""Pairs looked at, and looked at when those hold too few."""


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """What a run keeps of the fabric's wiring: the map, the tables, and whose each adapter is."""

    fabric: FabricMap
    tables: Tables | None = None
    """Tables with the nodes' adapters alone; None: routes are made up (D-mod-K)."""
    adapter_of: dict[str, str] = {}
    """Node -> key of its adapter."""
    missing: tuple[str, ...] = ()
    """Nodes without an adapter in the map."""
    leaf_of: dict[str, str] = {}
    """Leaves of the nodes without an adapter in the map, from the source that knows only leaves."""
    source: str = ""


def make_routing(
    fabric: FabricMap,
    tables: Tables | None,
    nodes: Collection[str],
    fabric_leaves: Fabric,
    *,
    device: str = "",
    source: str = "",
) -> Routing:
    """The wiring of `nodes`. For nodes missing in the map, `fabric_leaves` may have the leaf.

    Raises UsageError where the map has none of them.
    """
    routes = Routes(fabric)
    adapter_of = adapters_of(fabric, routes.number, nodes, device)
    if not adapter_of:
        devices = fabric.by_key
        raise no_such_nodes(list(nodes), (devices[key].name for key in routes.adapters), device)
    return Routing(
        fabric=fabric,
        tables=tables.only(set(adapter_of.values())) if tables else None,
        adapter_of=adapter_of,
        missing=tuple(node for node in nodes if node not in adapter_of),
        leaf_of={node: leaf for node, leaf in fabric_leaves.leaf_of.items() if node in set(nodes)},
        source=source or fabric.source,
    )


class RoutedFabric:
    """A `model.fabric.Wiring` that knows cables. Two are equal where their routings are."""

    def __init__(self, routing: Routing) -> None:
        """Nodes without an adapter in the map are crossed as their leaf implies."""
        self.routing = routing
        self._routes = Routes(routing.fabric, TableForwarding(routing.tables) if routing.tables else None)
        self._parts = FabricParts(self._routes)
        self._names = unique_names(routing.fabric.devices)
        self._node_of = {key: node for node, key in routing.adapter_of.items()}
        self._ours = np.array(sorted(self._routes.number[key] for key in self._node_of), dtype=np.intp)
        self._coarse = Fabric(leaf_of=self._leaves(), source=self._told_by())
        self._hops: dict[Pair, Route] = {}
        self._parts_of: dict[int, Component] = {}
        self._number_of: dict[Component, int] = {}
        self._bundles_of: Mapping[Hop, list[int]] = {}
        self._seen: int | None = None
        """Directions of cables between switches that measured pairs crossed, once that is known."""
        self._paths: dict[Pair, tuple[Component, ...]] = {}

    @property
    def leaf_of(self) -> dict[str, str]:
        """Leaf switch of each node, by the map's names."""
        return self._coarse.leaf_of

    @property
    def source(self) -> str:
        """The source, and how many nodes were found."""
        return self._coarse.source

    @property
    def notes(self) -> tuple[str, ...]:
        """Nodes that the map lacks; whether routes are only supposed; how many cables were not crossed."""
        notes = []
        missing, adapter_of = self.routing.missing, self.routing.adapter_of
        if missing:
            notes.append(
                f"{len(missing)} of {count(len(missing) + len(adapter_of), 'node')} "
                f"{verb(len(missing), 'has', 'have')} no adapter in {self.routing.source} by the first word of its "
                f"description ({some(missing, SHOWN)}): of their routes at most the leaf "
                "switch is known."
            )
        if self.routing.tables is None:
            notes.append(
                "The cables that a pair crosses are assumed (shortest routes, spread by destination), since no "
                "forwarding tables were given: findings on cables depend on it. Give the tables with --routes."
            )
        trunks = len(self._parts.trunks)
        if self._seen is not None and self._seen < trunks:
            notes.append(
                f"Measured pairs crossed {self._seen} of {trunks} directions of the cables between switches; faults "
                "of the others cannot show."
            )
        return tuple(notes)

    @property
    def bundles(self) -> Mapping[Hop, list[int]]:
        """Bundles that count as parts, by each of their cables' directions."""
        return self._bundles_of

    def path(self, source: str, target: str) -> Iterator[Component]:
        """The node's link, each cable between switches in its direction, bundles that count, the other node's link."""
        pair = source, target
        if pair not in self._paths:
            self._paths[pair] = self._path(pair)
        return iter(self._paths[pair])

    def measured(self, pairs: Collection[Pair]) -> "RoutedFabric":
        """The fabric in which all uplinks of a leaf, and a spine, count as parts if these pairs cross enough of their
        cables: with fewer, every bad cable would be ambiguous with its bundle."""
        self._follow(pairs)
        crossed = {hop for pair in pairs for hop in self._hops.get(pair, ())}
        bundles = self._parts.bundles_in_use(crossed)
        other = RoutedFabric.__new__(RoutedFabric)
        other.__dict__.update(self.__dict__)
        other._seen = len(crossed.intersection(self._parts.trunks))
        if bundles != self._bundles_of:
            other._bundles_of = bundles
            other._paths = {}
        return other

    def across(self, part: Component, most: int, seed: int) -> list[Pair]:
        """Pairs of our nodes that cross a cable, or some of a bundle's cables, drawn by `seed`."""
        number = self._number_of.get(part)
        if part.kind == "node" or number is None:
            return []
        hops = self._parts.numbered(number).hops
        pairs_found: dict[Pair, None] = {}
        for hop in hops[:: max(len(hops) // HOPS_TRIED, 1)][:HOPS_TRIED]:
            for (source, target), _ in pairs_across(self._routes, hop, most, seed, self._ours):
                pairs_found[self._node_of[source], self._node_of[target]] = None
        return list(pairs_found)[:most]

    def name_of(self, part: FabricPart) -> str:
        """The part's name as findings write it."""
        if part.kind is PartKind.NODE:
            return self._node_of[part.place]
        if part.kind is PartKind.LINK:
            link = self._routes.fabric.links[part.hops[0] // 2]
            return "-".join(f"{self._names[end.device]}[{end.port}]" for end in link.ends)
        if part.pair is not None:
            return ">".join(self._node_of[key] for key in part.pair)
        return self._names[part.place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RoutedFabric) and self.routing == other.routing

    __hash__ = None  # type: ignore[assignment]

    def _path(self, pair: Pair) -> tuple[Component, ...]:
        if pair not in self._hops:
            self._follow([pair])
        hops = self._hops.get(pair, ())
        if not hops:
            return tuple(self._coarse.path(*pair))
        of, parts = self._bundles_of, self._parts_of
        bundles = dict.fromkeys(bundle for hop in hops if hop in of for bundle in of[hop])
        return tuple([parts.get(number) or self._component(number) for number in (*hops[:-1], *bundles, hops[-1])])

    def _follow(self, pairs: Iterable[Pair]) -> None:
        """All at once, which is much faster than one after the other."""
        adapters = self.routing.adapter_of
        new = [pair for pair in pairs if pair not in self._hops and adapters.keys() >= set(pair)]
        for pair, hops in zip(new, self._routes.paths([(adapters[a], adapters[b]) for a, b in new]), strict=True):
            self._hops[pair] = hops

    def _component(self, number: int) -> Component:
        part = self._parts.numbered(number)
        made = Component(kind=part.kind.value, name=self.name_of(part), direction=part.way)
        self._parts_of[number] = made
        self._number_of[made] = number
        return made

    def _leaves(self) -> dict[str, str]:
        """Node -> leaf by the map's name, which a leaf known only from elsewhere gets, too, if its nodes agree."""
        routing = self.routing
        leaves = {node: self._names[self._routes.leaf_of[key]] for node, key in routing.adapter_of.items()}
        same: dict[str, Counter[str]] = {}
        for node, leaf in leaves.items():
            if node in routing.leaf_of:
                same.setdefault(routing.leaf_of[node], Counter())[leaf] += 1
        for node in routing.missing:
            if (other_leaf := routing.leaf_of.get(node)) is not None:
                leaves[node] = same[other_leaf].most_common(1)[0][0] if other_leaf in same else other_leaf
        return leaves

    def _told_by(self) -> str:
        routing = self.routing
        switches = sum(device.kind is DeviceKind.SWITCH for device in routing.fabric.devices)
        nodes = len(routing.adapter_of) + len(routing.missing)
        by = "its forwarding tables" if routing.tables else "routes supposed"
        return (
            f"{routing.source}: {count(switches, 'switch', 'switches')}, {count(len(routing.fabric.links), 'cable')}, "
            f"{len(routing.adapter_of)} of {count(nodes, 'node')}; {by}"
        )


# Oversubscription by design: from the cables alone, before anything is measured.


def oversubscription(routing: Routing, nodes: Collection[str]) -> float | None:
    """The median over leaves of what `nodes` can send into their leaf over what its cables to other switches carry.

    At least 1: wider uplinks do not help. None where no such leaf, or the rate of a cable, is known.
    """
    kinds = {device.key: device.kind for device in routing.fabric.devices}
    ours = {routing.adapter_of[node] for node in nodes if node in routing.adapter_of}
    down: defaultdict[str, float] = defaultdict(float)
    up: defaultdict[str, float] = defaultdict(float)
    for link in routing.fabric.links:
        rate = rate_of(link) or 0.0
        for near, far in link.device_ways:
            if kinds.get(near) is not DeviceKind.SWITCH:
                continue
            if far in ours:
                down[near] += rate
            elif kinds.get(far) is DeviceKind.SWITCH:
                up[near] += rate
    ratios = sorted(down[leaf] / up[leaf] for leaf in down if up[leaf] > 0 and down[leaf] > 0)
    return max(ratios[len(ratios) // 2], 1.0) if ratios else None


def pairs_across(
    routes: Routes, hop: Hop, wanted: int, seed: int, among: Numbers | None = None
) -> list[tuple[tuple[str, str], Route]]:
    """At most `wanted` different random ordered pairs that cross `hop`, each with its whole path; empty where no pair
    does.

    Sources are drawn from adapters whose leaf is nearer to where the hop begins than to where it ends, targets from
    those to which its switch sends over it; the routes then decide. A hop that few pairs cross may end with fewer pairs
    than there are. Half of an adapter's own pairs stay below its leaf switch, as far as there are any: under D-mod-K
    one cable from a spine may lead to that adapter alone, and only they distinguish the two. `among`: numbers of the
    adapters to draw from; None: all.
    """
    sources, targets = source_side(routes, hop), target_side(routes, hop)
    if among is not None:
        sources, targets = (np.intersect1d(side, among, assume_unique=True) for side in (sources, targets))
    if not sources.size or not targets.size:
        return []
    draw = random.Random(seed)
    near = _near(routes, sources, targets)
    pairs = [
        (routes.adapters[one], routes.adapters[other]) for one, other in draw.sample(near, min(wanted // 2, len(near)))
    ]
    close = list(zip(pairs, routes.paths(pairs), strict=True))
    wanted -= len(close)
    paths: dict[tuple[str, str], Route] = {}
    for tries in TRIES:
        drawn = _draw(routes, sources, targets, tries, draw)
        for pair, path in zip(drawn, routes.paths(drawn), strict=True):
            if hop in path and pair not in pairs:
                paths[pair] = path
        if len(paths) >= wanted:
            break
    chosen = draw.sample(sorted(paths), min(wanted, len(paths)))
    return close + [(pair, paths[pair]) for pair in chosen]


def _near(routes: Routes, sources: Numbers, targets: Numbers) -> list[tuple[int, int]]:
    """Pairs of an adapter, by its hop, with the others at the same leaf switch."""
    if len(sources) > 1 and len(targets) > 1:
        return []
    alone = routes.adapters[int((sources if len(sources) == 1 else targets)[0])]
    same = routes.leaf_of[alone]
    return [
        (one, other)
        for one in sources.tolist()
        for other in targets.tolist()
        if one != other and routes.leaf_of[routes.adapters[one]] == routes.leaf_of[routes.adapters[other]] == same
    ]


def source_side(routes: Routes, hop: Hop) -> Numbers:
    """Numbers of the adapters from which data can come over the hop."""
    begin, end = _ends(routes, hop)
    if not begin or not end:
        return np.array([], dtype=np.intp)
    if begin in routes.number:
        return np.array([routes.number[begin]], dtype=np.intp)
    if end in routes.number:
        return np.arange(len(routes.adapters), dtype=np.intp)
    return np.flatnonzero(routes.distances(begin) < routes.distances(end))


def target_side(routes: Routes, hop: Hop) -> Numbers:
    """Numbers of the adapters to which data can go over the hop."""
    begin, end = _ends(routes, hop)
    if not begin or not end:
        return np.array([], dtype=np.intp)
    sent = routes.sent_by(hop)
    if begin in routes.number or end in routes.number:
        return sent
    return sent[routes.distances(end)[sent] < routes.distances(begin)[sent]]


def _ends(routes: Routes, hop: Hop) -> tuple[str, str]:
    """Devices at both ends; empty for one that takes no part, as a switch's own aggregation node."""
    names = tuple(end.device for end in routes.ends(hop))
    begin, end = (name if name in routes.number or name in routes.graph.place else "" for name in names)
    return begin, end


def _draw(routes: Routes, sources: Numbers, targets: Numbers, tries: int, draw: random.Random) -> list[tuple[str, str]]:
    """Different pairs, all of them where there are no more than that."""
    if len(sources) * len(targets) <= tries:
        drawn = [(one, other) for one in sources.tolist() for other in targets.tolist()]
    else:
        both = zip(draw.choices(sources.tolist(), k=tries), draw.choices(targets.tolist(), k=tries), strict=True)
        drawn = list(dict.fromkeys(both))
    return [(routes.adapters[one], routes.adapters[other]) for one, other in drawn if one != other]
