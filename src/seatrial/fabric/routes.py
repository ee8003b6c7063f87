"""Which cables the data from one adapter to another crosses, where each switch has one way to each destination."""

from collections import defaultdict, deque
from collections.abc import Mapping

from seatrial.model.fabric_map import DeviceKind, End, FabricMap

Hop = int
"""A direction of a cable: twice the number of the link in the map, plus one from its second end to its first."""
Forwarding = Mapping[tuple[str, str], int]
"""(switch, destination adapter) -> the port by which the switch sends; from the fabric's own tables."""


class Routes:
    """Static, destination-based routes over a map, as InfiniBand's forwarding tables give them.

    Where no tables are given they are made up as subnet managers do on fat trees: shortest ways only, and among equal
    ones the destination's number modulo their count decides (D-mod-K: Zahavi, J. Parallel Distrib. Comput. 72, 2012).
    """

    def __init__(self, fabric: FabricMap, forwarding: Forwarding | None = None) -> None:
        """Adapters that hang on no switch have no routes."""
        self.fabric = fabric
        self._forwarding = forwarding or {}
        self._out: defaultdict[str, dict[int, tuple[str, Hop]]] = defaultdict(dict)
        for number, link in enumerate(fabric.links):
            self._out[link.one.device][link.one.port] = (link.other.device, 2 * number)
            self._out[link.other.device][link.other.port] = (link.one.device, 2 * number + 1)
        kinds = {device.key: device.kind for device in fabric.devices}
        self._switches = {key for key, kind in kinds.items() if kind is DeviceKind.SWITCH}
        self.leaf_of: dict[str, str] = {}
        """Adapter -> the switch it hangs on; of several ports the first that leads to a switch."""
        for key, kind in kinds.items():
            if kind is DeviceKind.ADAPTER:
                found = (there for _, (there, _) in sorted(self._out[key].items()) if there in self._switches)
                leaf = next(found, None)
                if leaf is not None:
                    self.leaf_of[key] = leaf
        order = sorted(self.leaf_of, key=lambda key: (self.leaf_of[key], self._port_at_leaf(key)))
        self.adapters: tuple[str, ...] = tuple(order)
        """Those with routes, in the order of leaf and port."""
        self._number = {key: number for number, key in enumerate(order)}
        self._choices: dict[str, dict[str, tuple[tuple[int, str, Hop], ...]]] = {}

    def path(self, source: str, target: str) -> tuple[Hop, ...]:
        """The hops from one adapter to another, in order; empty where there is no way, or it runs in a circle."""
        if source not in self._number or target not in self._number or source == target:
            return ()
        first = next(hop for _, (there, hop) in sorted(self._out[source].items()) if there == self.leaf_of[source])
        hops = [first]
        here, goal = self.leaf_of[source], self.leaf_of[target]
        seen = set()
        while here != goal:
            step = self._step(here, goal, target)
            if step is None or here in seen:
                return ()
            seen.add(here)
            here, hop = step
            hops.append(hop)
        last = next(hop for _, (there, hop) in sorted(self._out[goal].items()) if there == target)
        return (*hops, last)

    def ends(self, hop: Hop) -> tuple[End, End]:
        """Where a hop begins and where it leads."""
        link = self.fabric.links[hop // 2]
        return (link.one, link.other) if hop % 2 == 0 else (link.other, link.one)

    def _port_at_leaf(self, adapter: str) -> int:
        leaf = self.leaf_of[adapter]
        return min(port for port, (there, _) in self._out[leaf].items() if there == adapter)

    def _step(self, here: str, goal: str, target: str) -> tuple[str, Hop] | None:
        told = self._forwarding.get((here, target))
        if told is not None and told in self._out[here]:
            return self._out[here][told]
        choices = self._towards(goal).get(here, ())
        if not choices:
            return None
        _, there, hop = choices[self._number[target] % len(choices)]
        return there, hop

    def _towards(self, goal: str) -> dict[str, tuple[tuple[int, str, Hop], ...]]:
        """For every switch, its ports on shortest ways to a leaf switch, by port."""
        if goal not in self._choices:
            distance = {goal: 0}
            waiting = deque([goal])
            while waiting:
                here = waiting.popleft()
                for there, _ in self._out[here].values():
                    if there in self._switches and there not in distance:
                        distance[there] = distance[here] + 1
                        waiting.append(there)
            self._choices[goal] = {
                here: tuple(
                    (port, there, hop)
                    for port, (there, hop) in sorted(self._out[here].items())
                    if distance.get(there, far) == far - 1
                )
                for here, far in distance.items()
            }
        return self._choices[goal]
