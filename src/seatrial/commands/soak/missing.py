"""Results that a soak should have and has not: of one node beside the others, or of no node at all."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.drift.peer_groups import one_kernel
from seatrial.model.measurement import GroupMeasurement, Kernel, Measurement
from seatrial.model.placement import node_of
from seatrial.model.run import RecordedRun
from seatrial.model.settings import SoakSettings
from seatrial.model.units import share
from seatrial.model.words import count, some
from seatrial.pairs.node_places import LEAST_ARRAY_BYTES, NodePlaces
from seatrial.pairs.node_rounds import LOAD, LOAD_OF_SHARED, MAY_LACK, ONCE_KERNELS, rounds_of

BETWEEN_NODES = (Kernel.PINGPONG, Kernel.ONEWAY)
"""Kernels of a pair of nodes."""
MOST_NAMES = 4
Cycles = dict[str, set[int]]


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel that a node lacks results of; without a node: nobody has any."""

    node: str = ""
    kernel: Kernel
    cycles: int
    """In which there is no result."""
    of: int
    """All cycles that count."""

    @property
    def sentence(self) -> str:
        """For a note."""
        who = self.node or "no node has results"
        return f"{who}: no {self.kernel.value} in {self.cycles} of {count(self.of, 'cycle')}"


def missing_results(recorded: RecordedRun) -> tuple[Missing, ...]:
    """Which nodes lack which results in how many cycles; a result without a time, or with the time 0, is none.

    Nodes that died are not listed. The cycle in which the soak was stopped may be incomplete, and where the number of
    nodes is odd one of them has no partner in each cycle.
    """
    lost = {node_of(state.node) for state in recorded.info.lost}
    names = sorted({node_of(name) for name in recorded.info.nodes} - lost)
    cycles = _cycles(recorded)
    whole = {group.repetition for group in recorded.group_measurements}
    missing = [
        Missing(kernel=kernel, cycles=len(whole), of=len(whole))
        for kernel in (*cycles, *_expected(recorded, names))
        if not cycles.get(kernel) and kernel not in MAY_LACK
    ]
    for kernel, by_node in cycles.items():
        most = len(set[int]().union(*by_node.values()))
        allowed = most // 2 if kernel in BETWEEN_NODES else 1
        for name in names if by_node else ():
            lacking = most - len(by_node.get(name, ()))
            if lacking > allowed or lacking == most:
                missing.append(Missing(node=name, kernel=kernel, cycles=lacking, of=most))
    return tuple(dict.fromkeys(missing))


def _cycles(recorded: RecordedRun) -> dict[Kernel, Cycles]:
    """The cycles in which each node has results of each kernel; empty where nobody has any."""
    cycles: dict[Kernel, Cycles] = {}
    results: Iterable[tuple[GroupMeasurement | Measurement, tuple[str, ...]]] = [
        *((group, group.nodes) for group in recorded.group_measurements),
        *((link, link.pair) for link in recorded.measurements),
    ]
    for measured, places in results:
        by_node = cycles.setdefault(measured.shape.kernel, defaultdict(set))
        if measured.times_s and min(measured.times_s) > 0:
            for place in places:
                by_node[node_of(place)].add(measured.repetition)
    return cycles


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


def missing_text(missing: Sequence[Missing], recorded: RecordedRun) -> str:
    """For the first line: who lacks how much, and what nobody has."""
    return "; ".join(
        _phrases(missing, sum(len(set[int]().union(*each.values())) for each in _cycles(recorded).values()))
    )


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
