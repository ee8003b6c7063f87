"""Results that a soak should have and has not: of one node beside the others, or of no node at all."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.drift.peer_groups import one_kernel
from seatrial.model.measurement import GroupMeasurement, Kernel, Measurement, node_of
from seatrial.model.run import RecordedRun
from seatrial.model.settings import SoakSettings
from seatrial.model.units import share
from seatrial.model.words import count, some
from seatrial.pairs.node_places import LEAST_ARRAY_BYTES, NodePlaces
from seatrial.pairs.node_rounds import LOAD, LOAD_OF_SHARED, MAY_LACK, ONCE_KERNELS, rounds_of

BETWEEN_NODES = (Kernel.PINGPONG, Kernel.ONEWAY)
"""Kernels of a pair of nodes."""
MOST_NAMES = 4


class CycleSet:
    """Numbers of cycles, a bit for each: a day takes a few kilobytes."""

    def __init__(self, *others: "CycleSet") -> None:
        """The union of the others."""
        self._words: dict[int, int] = {}
        for other in others:
            for place, word in other._words.items():
                self._words[place] = self._words.get(place, 0) | word

    def add(self, number: int) -> None:
        """One more."""
        self._words[number >> 6] = self._words.get(number >> 6, 0) | 1 << (number & 63)

    def __len__(self) -> int:
        """How many they are."""
        return sum(word.bit_count() for word in self._words.values())


Cycles = dict[str, CycleSet]
"""Node -> its cycles."""


class Presence:
    """The cycles of which there are results, over all measurements of a soak, which are gone through once."""

    def __init__(self, recorded: RecordedRun) -> None:
        self.whole = CycleSet()
        """Cycles with any results of nodes."""
        self.of_node: Cycles = defaultdict(CycleSet)
        """Cycles with results of groups that the node comes first in."""
        self.by_kernel: dict[Kernel, Cycles] = {}
        """Cycles in which each node has usable results of each kernel; empty if nobody has any."""
        self.last_s: dict[str, float] = {}
        """When the last round of each node began, in seconds since the run began."""
        for group in recorded.group_measurements:
            name = node_of(group.nodes[0])
            self.whole.add(group.repetition)
            self.of_node[name].add(group.repetition)
            self.last_s[name] = max(self.last_s.get(name, 0.0), group.at_s or 0.0)
            self._take(group, group.nodes)
        for link in recorded.measurements:
            self._take(link, link.pair)

    def _take(self, measured: GroupMeasurement | Measurement, places: Iterable[str]) -> None:
        by_node = self.by_kernel.setdefault(measured.shape.kernel, defaultdict(CycleSet))
        if measured.times_s and min(measured.times_s) > 0:
            for place in places:
                by_node[node_of(place)].add(measured.repetition)

    @property
    def results(self) -> int:
        """Cycles with usable results, summed over kernels."""
        return sum(len(CycleSet(*by_node.values())) for by_node in self.by_kernel.values())


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel that a node lacks results of; without a node: nobody has any."""

    node: str = ""
    kernel: Kernel
    cycles: int
    """Cycles without a result."""
    of: int
    """All cycles that count."""

    @property
    def sentence(self) -> str:
        """The sentence of a note."""
        who = self.node or "no node has results"
        return f"{who}: no {self.kernel.value} in {self.cycles} of {count(self.of, 'cycle')}"


def missing_results(recorded: RecordedRun, presence: Presence) -> tuple[Missing, ...]:
    """Which nodes lack which results in how many cycles; a result without a time, or with the time 0, is none.

    Nodes that died are not listed. The cycle in which the soak was stopped may be incomplete, and where the number of
    nodes is odd one of them has no partner in each cycle.
    """
    lost = {node_of(state.node) for state in recorded.info.lost}
    names = sorted({node_of(name) for name in recorded.info.nodes} - lost)
    cycles, whole = presence.by_kernel, len(presence.whole)
    missing = [
        Missing(kernel=kernel, cycles=whole, of=whole)
        for kernel in (*cycles, *_expected(recorded, names))
        if not cycles.get(kernel) and kernel not in MAY_LACK
    ]
    for kernel, by_node in cycles.items():
        most = len(CycleSet(*by_node.values()))
        allowed = most // 2 if kernel in BETWEEN_NODES else 1
        for name in names if by_node else ():
            lacking = most - len(by_node.get(name, ()))
            if lacking > allowed or lacking == most:
                missing.append(Missing(node=name, kernel=kernel, cycles=lacking, of=most))
    return tuple(dict.fromkeys(missing))


def _expected(recorded: RecordedRun, names: Sequence[str]) -> tuple[Kernel, ...]:
    """What each cycle of this soak was to measure on the cores that took part."""
    settings = recorded.info.settings
    cores: dict[str, dict[str, None]] = {name: {} for name in names}
    for group in recorded.group_measurements:
        for place in group.nodes:
            cores.setdefault(node_of(place), {})[place] = None
    measured = [
        NodePlaces(
            node=name, cores=tuple(ranks), node_array_bytes=LEAST_ARRAY_BYTES, core_array_bytes=LEAST_ARRAY_BYTES
        )
        for name, ranks in cores.items()
        if ranks
    ]
    if not isinstance(settings, SoakSettings) or not measured:
        return ()
    shared = len(measured) > 1 and one_kernel({node_of(name): one for name, one in recorded.facts.items()}.values())
    extent = LOAD_OF_SHARED if shared else LOAD
    rounds = rounds_of(settings.trials, measured, [1], at_once=not shared, extent=extent)
    kernels = dict.fromkeys(wanted.shape.kernel for wanted in rounds if wanted.shape.kernel not in ONCE_KERNELS)
    return (*kernels, *(BETWEEN_NODES if len(measured) > 1 else ()))


def missing_text(missing: Sequence[Missing], results: int) -> str:
    """Text of the first line: who lacks how much of this number of results, and what nobody has."""
    return "; ".join(_phrases(missing, results))


def _phrases(missing: Sequence[Missing], results: int) -> Iterator[str]:
    by_node: dict[str, int] = defaultdict(int)
    for lacking in missing:
        if lacking.node:
            by_node[lacking.node] += lacking.cycles
    worst = sorted(by_node, key=lambda name: -by_node[name])
    yield from (f"{name} lacks {share(by_node[name] / max(results, 1))} of its results" for name in worst[:MOST_NAMES])
    if len(worst) > MOST_NAMES:
        yield f"{count(len(worst) - MOST_NAMES, 'other node')} as well"
    if nobody := [one.kernel.value for one in missing if not one.node]:
        yield f"no node has results of {some(nobody, MOST_NAMES)}"
