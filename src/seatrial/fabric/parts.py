"""What of a fabric can be at fault and be named: ports of nodes, cables, uplink bundles, spines; each as its hops."""

import enum
from collections import defaultdict
from collections.abc import Collection, Iterator

import msgspec

from seatrial.fabric.link_problem import device_name, link_text
from seatrial.fabric.routes import Hop, Routes
from seatrial.model.subject import Direction

FEWEST_CABLES = 3
"""Cables that a bundle or a spine must have in use before all of them together can be named."""


class PartKind(enum.StrEnum):
    """NODE: an adapter's port and its cable. LINK: a cable between switches. UPLINK: all cables of a leaf switch to
    other switches. SPINE: all cables of a switch that has no nodes. PAIR: the path from one adapter to another."""

    NODE = "node"
    LINK = "link"
    UPLINK = "uplink"
    SPINE = "spine"
    PAIR = "pair"


Way = Direction
"""Data that leaves a node, leaf or a cable's first end, enters it, or both."""


class FabricPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part in one direction or both. `place` is unique among the parts of its kind; `name` is for people."""

    kind: PartKind
    place: str
    name: str
    way: Way
    hops: tuple[Hop, ...]
    pair: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """The part in one line."""
        return f"{self.kind} {self.name}" + (f" ({self.way})" if self.way is not Way.BOTH else "")


class FabricParts:
    """All parts of a map. A number below `hops` is a hop, any other a bundle: `numbered` has them."""

    def __init__(self, routes: Routes) -> None:
        """`routes` give the map, and the switch of each adapter."""
        self.routes = routes
        self._devices = routes.fabric.by_key
        leaves = frozenset(routes.leaf_of.values())
        bundles: defaultdict[tuple[PartKind, str, Way], list[Hop]] = defaultdict(list)
        self.trunks: list[Hop] = []
        """Hops between switches."""
        self.ports: list[Hop] = []
        """Hops between an adapter and its switch."""
        for hop in range(2 * len(routes.fabric.links)):
            begin, end = (end.device for end in routes.ends(hop))
            if begin in routes.graph.place and end in routes.graph.place:
                self.trunks.append(hop)
                for switch, way in ((begin, Way.OUT), (end, Way.IN)):
                    kind = PartKind.UPLINK if switch in leaves else PartKind.SPINE
                    bundles[kind, switch, way if switch in leaves else Way.BOTH].append(hop)
            elif routes.leaf_of.get(begin) == end or routes.leaf_of.get(end) == begin:
                self.ports.append(hop)
        self.bundles = [
            FabricPart(kind=kind, place=switch, name=self._name(switch), way=way, hops=tuple(hops))
            for (kind, switch, way), hops in sorted(bundles.items())
        ]
        self.hops = 2 * len(routes.fabric.links)

    @property
    def count(self) -> int:
        """Hops and bundles together."""
        return self.hops + len(self.bundles)

    def bundles_in_use(self, crossed: Collection[Hop]) -> dict[Hop, list[int]]:
        """Hop -> numbers of the bundles that it belongs to and that have enough crossed cables."""
        in_use: defaultdict[Hop, list[int]] = defaultdict(list)
        for number, bundle in enumerate(self.bundles):
            if len({hop // 2 for hop in bundle.hops if hop in crossed}) >= FEWEST_CABLES:
                for hop in bundle.hops:
                    in_use[hop].append(self.hops + number)
        return dict(in_use)

    def numbered(self, number: int) -> FabricPart:
        """The part of that number."""
        return self.bundles[number - self.hops] if number >= self.hops else self.of_hop(number)

    def of_hop(self, hop: Hop) -> FabricPart:
        """One direction of a node's port or of a cable."""
        begin, end = self.routes.ends(hop)
        for device, way in ((begin.device, Way.OUT), (end.device, Way.IN)):
            if device in self.routes.number:
                return FabricPart(kind=PartKind.NODE, place=device, name=self._name(device), way=way, hops=(hop,))
        link = self.routes.fabric.links[hop // 2]
        way = Way.IN if hop % 2 else Way.OUT
        name = link_text(link, self._devices)
        return FabricPart(kind=PartKind.LINK, place=link.name, name=name, way=way, hops=(hop,))

    def of_pair(self, pair: tuple[str, str]) -> FabricPart:
        """The path from one to another."""
        name = f"{self._name(pair[0])} > {self._name(pair[1])}"
        return FabricPart(kind=PartKind.PAIR, place=f"{pair[0]}>{pair[1]}", name=name, way=Way.OUT, hops=(), pair=pair)

    def _name(self, key: str) -> str:
        device = self._devices.get(key)
        return device_name(device) if device else key


def merged(parts: Collection[FabricPart]) -> Iterator[FabricPart]:
    """Both directions of one part as one, in the order given."""
    together: dict[tuple[PartKind, str], FabricPart] = {}
    for part in parts:
        key = part.kind, part.place
        before = together.get(key)
        if before is None:
            together[key] = part
        elif before.way is not part.way:
            hops = tuple(sorted({*before.hops, *part.hops}))
            together[key] = msgspec.structs.replace(before, way=Way.BOTH, hops=hops)
    yield from together.values()
