"""Which cables the data from one adapter to another crosses, where each switch has one route to each destination."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seatrial.model.fabric import DeviceKind, End, FabricMap

Hop = int
"""A direction of a cable: twice the number of the link in the map, plus one from its second end to its first."""
Forwarding = Mapping[tuple[str, str], int]
"""(switch, destination adapter) -> the port by which the switch sends; from the fabric's own tables."""
Route = tuple[Hop, ...]
FEW = 8
"""Pairs up to which each is followed by itself, which takes less than to fill arrays."""
CHUNK = 1 << 14
"""Pairs whose ways are followed at once: what the arrays of a step take stays small."""
Numbers = NDArray[np.intp]
FAR = np.iinfo(np.int16).max
"""Distance of what cannot be reached."""
Ports = Mapping[int, tuple[str, int]]
"""Port of one device -> (device at the other end, hop)."""


class Routes:
    """Static, destination-based routes over a map, as InfiniBand's forwarding tables give them.

    Where no tables are given they are made up as subnet managers do on fat trees: shortest ways only, and among equal
    ones the destination's number modulo their count decides; a level higher its quotient by the ways below (D-mod-K:
    Zahavi, J. Parallel Distrib. Comput. 72, 2012), for else the upper switches would use a part of their ports only.
    """

    def __init__(self, fabric: FabricMap, forwarding: Forwarding | None = None) -> None:
        """Adapters without a switch have no routes."""
        self.fabric = fabric
        self._forwarding = forwarding or {}
        self._out: defaultdict[str, dict[int, tuple[str, Hop]]] = defaultdict(dict)
        for number, link in enumerate(fabric.links):
            self._out[link.one.device][link.one.port] = (link.other.device, 2 * number)
            self._out[link.other.device][link.other.port] = (link.one.device, 2 * number + 1)
        kinds = {device.key: device.kind for device in fabric.devices}
        switches = [key for key, kind in kinds.items() if kind is DeviceKind.SWITCH]
        connected = frozenset(switches)
        self.leaf_of: dict[str, str] = {}
        """Adapter -> its switch; of several ports the first that leads to a switch."""
        first: dict[str, Hop] = {}
        for key, kind in kinds.items():
            if kind is DeviceKind.ADAPTER:
                neighbours = ((there, hop) for _, (there, hop) in sorted(self._out[key].items()) if there in connected)
                leaf, hop = next(neighbours, (None, 0))
                if leaf is not None:
                    self.leaf_of[key], first[key] = leaf, hop
        at_leaf = {key: self._at_leaf(key) for key in self.leaf_of}
        order = sorted(self.leaf_of, key=lambda key: (self.leaf_of[key], at_leaf[key]))
        self.adapters: tuple[str, ...] = tuple(order)
        """Adapters with routes, in the order of leaf and port."""
        self.number = {key: number for number, key in enumerate(order)}
        """Place of each adapter in that order."""
        leaves = list(dict.fromkeys(self.leaf_of[key] for key in order))
        self.graph = SwitchGraph(self._out, switches, leaves)
        self._leaf = np.array([self.graph.place[self.leaf_of[key]] for key in order], dtype=np.intp)
        self._goal = np.array([self.graph.goal[self.leaf_of[key]] for key in order], dtype=np.intp)
        self._first = np.array([first[key] for key in order], dtype=np.intp)
        self._last = np.array([at_leaf[key][1] for key in order], dtype=np.intp)

    def path(self, source: str, target: str) -> Route:
        """The hops from one adapter to another, in order; empty where there is no route, or it loops."""
        if source not in self.number or target not in self.number or source == target:
            return ()
        number = self.number[target]
        place, goal = int(self._leaf[self.number[source]]), int(self._leaf[number])
        hops = [int(self._first[self.number[source]])]
        seen = set()
        while place != goal:
            if place in seen:
                return ()
            seen.add(place)
            place, hop = self._told(place, target) or self.graph.one_step(place, int(self._goal[number]), number)
            if place < 0:
                return ()
            hops.append(hop)
        return (*hops, int(self._last[number]))

    def paths(self, pairs: Sequence[tuple[str, str]]) -> list[Route]:
        """`path` of every pair; thousands together cost little more than a few."""
        if len(pairs) <= FEW:
            return [self.path(*pair) for pair in pairs]
        result: list[Route] = [()] * len(pairs)
        routed = [row for row, (one, other) in enumerate(pairs) if one != other and {one, other} <= self.number.keys()]
        source = np.array([self.number[pairs[row][0]] for row in routed], dtype=np.intp)
        target = np.array([self.number[pairs[row][1]] for row in routed], dtype=np.intp)
        for begin in range(0, len(routed), CHUNK):
            piece = slice(begin, begin + CHUNK)
            for row, path in zip(routed[piece], self._follow(source[piece], target[piece]), strict=True):
                result[row] = path
        return result

    def ends(self, hop: Hop) -> tuple[End, End]:
        """Both ends of a hop, the first one first."""
        link = self.fabric.links[hop // 2]
        return link.ways[hop % 2]

    def neighbours(self, switch: str) -> dict[int, str]:
        """Port -> device at the other end of its cable."""
        return {port: there for port, (there, _) in sorted(self._out[switch].items())}

    def distances(self, switch: str) -> Numbers:
        """Cables between that switch and each adapter's leaf switch, by number of the adapter."""
        row: NDArray[np.int16] = self.graph.distance[self.graph.place[switch]]
        return row[self._goal].astype(np.intp)

    def sent_by(self, hop: Hop) -> Numbers:
        """Numbers of the adapters to which the switch at the hop's beginning sends data over this hop."""
        begin, end = self.ends(hop)
        if end.device in self.number:
            return np.array([self.number[end.device]], dtype=np.intp)
        if begin.device not in self.graph.place:
            return np.arange(len(self.adapters), dtype=np.intp)
        everyone = np.arange(len(self.adapters), dtype=np.intp)
        _, taken = self._step(np.full(len(everyone), self.graph.place[begin.device]), everyone)
        return np.flatnonzero(taken == hop)

    def _at_leaf(self, adapter: str) -> tuple[int, Hop]:
        """The first port of the leaf switch that leads to the adapter, and the hop."""
        ports = self._out[self.leaf_of[adapter]].items()
        return min((port, hop) for port, (there, hop) in ports if there == adapter)

    def _step(self, places: Numbers, target: Numbers) -> tuple[Numbers, Numbers]:
        next_places, hop = self.graph.step(places, self._goal[target], target)
        if self._forwarding:
            for row, (switch, adapter) in enumerate(zip(places.tolist(), target.tolist(), strict=True)):
                next_places[row], hop[row] = self._told(switch, self.adapters[adapter]) or (next_places[row], hop[row])
        return next_places, hop

    def _told(self, switch: int, target: str) -> tuple[int, Hop] | None:
        """The next switch and hop from the fabric's own table; None if it has no port for the target."""
        name = self.graph.names[switch]
        port = self._forwarding.get((name, target))
        if port is None or port not in self._out[name]:
            return None
        neighbour, hop = self._out[name][port]
        return self.graph.place.get(neighbour, -1), hop

    def _follow(self, source: Numbers, target: Numbers) -> list[Route]:
        """A route longer than the number of switches loops."""
        places, goal = self._leaf[source], self._leaf[target]
        columns = [self._first[source]]
        lost = self.graph.distance[places, self._goal[target]] == FAR
        if self._forwarding:
            lost[:] = False
        for _ in range(len(self.graph.names)):
            going = np.flatnonzero((places != goal) & ~lost)
            if not going.size:
                break
            next_places, taken = self._step(places[going], target[going])
            hop = np.full(len(places), -1, dtype=np.intp)
            hop[going] = taken
            lost[going[next_places < 0]] = True
            places = places.copy()
            places[going[next_places >= 0]] = next_places[next_places >= 0]
            columns.append(hop)
        lost |= places != goal
        columns.append(self._last[target])
        rows = np.stack(columns, axis=1).tolist()
        return [
            () if gone else tuple(hop for hop in row if hop >= 0) for row, gone in zip(rows, lost.tolist(), strict=True)
        ]


class SwitchGraph:
    """Shortest routes among switches. The ports of a switch are in the order of their numbers."""

    def __init__(self, ports: Mapping[str, Ports], switches: Sequence[str], leaves: Sequence[str]) -> None:
        """`leaves`: the switches that are ever a goal; the others only pass data on."""
        self.names = tuple(switches)
        self.place = {name: number for number, name in enumerate(switches)}
        rows = [
            (here, self.place[there], hop)
            for here, name in enumerate(switches)
            for _, (there, hop) in sorted(ports.get(name, {}).items())
            if there in self.place
        ]
        table = np.array(rows, dtype=np.intp).reshape(-1, 3)
        self._here, self.there, self.hop = table[:, 0], table[:, 1], table[:, 2]
        self._ports = np.bincount(self._here, minlength=len(switches))
        self._first = np.concatenate(([0], np.cumsum(self._ports)[:-1])).astype(np.intp)
        self.goal = {name: number for number, name in enumerate(leaves)}
        self.distance = self._distances(np.array([self.place[name] for name in leaves], dtype=np.intp))
        """int16, one row a switch, one column a leaf; FAR where there is no route."""
        self._level = self.distance.min(axis=1) if len(leaves) else np.zeros(len(switches), dtype=np.int16)
        self._divisor = self._divisors()
        self._known: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}

    def one_step(self, place: int, goal: int, target: int) -> tuple[int, int]:
        """`step` for a single adapter: much less work, and much more for each of thousands."""
        if (place, goal) not in self._known:
            ports = np.arange(self._first[place], self._first[place] + self._ports[place])
            nearer = ports[self.distance[self.there[ports], goal] == self.distance[place, goal] - 1]
            self._known[place, goal] = tuple(zip(self.there[nearer].tolist(), self.hop[nearer].tolist(), strict=True))
        choices = self._known[place, goal]
        if not choices:
            return -1, -1
        up = self._level[choices[0][0]] > self._level[place]
        return choices[target // (int(self._divisor[self._level[place]]) if up else 1) % len(choices)]

    def step(self, places: Numbers, goal: Numbers, target: Numbers) -> tuple[Numbers, Numbers]:
        """The next switches and hops from switches `places` to leaves `goal` for adapters number `target`.

        All three of one length, in numbers; -1 where no port leads nearer.
        """
        leaves = self.distance.shape[1]
        keys, where = np.unique(places * leaves + goal, return_inverse=True)
        from_switch, to_leaf = keys // leaves, keys % leaves
        ports = self._ports[from_switch]
        owner = np.repeat(np.arange(len(keys)), ports)
        begin = np.cumsum(ports) - ports
        edge = np.arange(len(owner)) - np.repeat(begin - self._first[from_switch], ports)
        nearer = self.distance[self.there[edge], to_leaf[owner]] == self.distance[from_switch, to_leaf][owner] - 1
        edge, owner = edge[nearer], owner[nearer]
        choices = np.bincount(owner, minlength=len(keys))
        first = (np.cumsum(choices) - choices)[where]
        count = choices[where]
        able = np.flatnonzero(count)
        chosen = edge[first[able] + (target[able] // self._spread(places[able], edge[first[able]])) % count[able]]
        next_places, hop = np.full(len(places), -1, dtype=np.intp), np.full(len(places), -1, dtype=np.intp)
        next_places[able], hop[able] = self.there[chosen], self.hop[chosen]
        return next_places, hop

    def _spread(self, places: Numbers, edge: Numbers) -> Numbers:
        """What a destination's number is divided by before its remainder decides: on the way down, by nothing."""
        up = self._level[self.there[edge]] > self._level[places]
        return np.where(up, self._divisor[self._level[places]], 1)

    def _distances(self, goals: Numbers) -> NDArray[np.int16]:
        """Breadth first from all leaves at once."""
        distance = np.full((len(self.names), len(goals)), FAR, dtype=np.int16)
        distance[goals, np.arange(len(goals))] = 0
        if not len(self.there) or not len(goals):
            return distance
        pairs = np.unique(self._here * len(self.names) + self.there)
        receiver, sender = pairs // len(self.names), pairs % len(self.names)
        reached, start = np.unique(receiver, return_index=True)
        for far in range(1, len(self.names)):
            near = np.logical_or.reduceat(distance[sender] == far - 1, start, axis=0)
            fresh = near & (distance[reached] == FAR)
            if not fresh.any():
                break
            distance[reached] = np.where(fresh, np.int16(far), distance[reached])
        return distance

    def _divisors(self) -> Numbers:
        """Level (distance from the nearest leaf) -> product of the upward ports of usual switches below it."""
        divisors = [1]
        upward = self._level[self.there] > self._level[self._here]
        counts = np.bincount(self._here[upward], minlength=len(self.names))
        top = int(self._level[self._level < FAR].max(initial=0))
        for level in range(top):
            divisors.append(divisors[-1] * max(int(np.median(counts[self._level == level])), 1))
        return np.array(divisors, dtype=np.intp)
