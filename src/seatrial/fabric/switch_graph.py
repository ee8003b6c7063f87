"""Switches and the cables among them as arrays: how far each is from each leaf, and which port leads nearer."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.intp]
FAR = np.iinfo(np.int16).max
"""Distance of what cannot be reached."""
Ports = Mapping[int, tuple[str, int]]
"""Of one device: port -> (device at the other end, hop)."""


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

    def one_step(self, here: int, goal: int, target: int) -> tuple[int, int]:
        """`step` for a single adapter: much less work, and much more for each of thousands."""
        if (here, goal) not in self._known:
            ports = np.arange(self._first[here], self._first[here] + self._ports[here])
            nearer = ports[self.distance[self.there[ports], goal] == self.distance[here, goal] - 1]
            self._known[here, goal] = tuple(zip(self.there[nearer].tolist(), self.hop[nearer].tolist(), strict=True))
        choices = self._known[here, goal]
        if not choices:
            return -1, -1
        up = self._level[choices[0][0]] > self._level[here]
        return choices[target // (int(self._divisor[self._level[here]]) if up else 1) % len(choices)]

    def step(self, here: Numbers, goal: Numbers, target: Numbers) -> tuple[Numbers, Numbers]:
        """From switches `here` to leaves `goal` for adapters number `target`: the next switches, and the hops there.

        All three of one length, in numbers; -1 where no port leads nearer.
        """
        leaves = self.distance.shape[1]
        keys, where = np.unique(here * leaves + goal, return_inverse=True)
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
        chosen = edge[first[able] + (target[able] // self._spread(here[able], edge[first[able]])) % count[able]]
        there, hop = np.full(len(here), -1, dtype=np.intp), np.full(len(here), -1, dtype=np.intp)
        there[able], hop[able] = self.there[chosen], self.hop[chosen]
        return there, hop

    def _spread(self, here: Numbers, edge: Numbers) -> Numbers:
        """What a destination's number is divided by before its remainder decides: on the way down, by nothing."""
        up = self._level[self.there[edge]] > self._level[here]
        return np.where(up, self._divisor[self._level[here]], 1)

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
        """By level (distance from the nearest leaf): the product of what usual switches below it have upwards."""
        divisors = [1]
        upward = self._level[self.there] > self._level[self._here]
        counts = np.bincount(self._here[upward], minlength=len(self.names))
        top = int(self._level[self._level < FAR].max(initial=0))
        for level in range(top):
            divisors.append(divisors[-1] * max(int(np.median(counts[self._level == level])), 1))
        return np.array(divisors, dtype=np.intp)
