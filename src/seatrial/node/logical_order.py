"""The order in which hwloc, and so an MPI, numbers cores: by what they lie in, the largest first."""

from collections.abc import Iterable, Iterator, Sequence

from seatrial.model.topology import Core, NumaNode
from seatrial.node.frame import Frame
from seatrial.node.processor_sets import Numbers, listed, masked

CACHES = "/sys/devices/system/cpu/cpu[0-9]*/cache/index"


def logical_order(cores: Sequence[Core], nodes: Iterable[NumaNode], shared: Iterable[Numbers]) -> Numbers:
    """The first processors of the cores, in hwloc's order: its core 0, its core 1, and so on.

    What lies in one thing is ordered by the least processor of each part: packages, NUMA nodes, and what is `shared`
    (caches, of which each lists its processors).
    """
    packages: dict[int, set[int]] = {}
    for core in cores:
        if core.package is not None:
            packages.setdefault(core.package, set()).update(core.processors)
    known = {number for core in cores for number in core.processors}
    sets = {frozenset(part) & known for part in (*packages.values(), *(node.processors for node in nodes), *shared)}
    holders = sorted(sets, key=len, reverse=True)
    least = {holder: min(holder) for holder in holders if holder}
    around: dict[int, list[int]] = {core.processors[0]: [] for core in cores}
    for holder, first in least.items():
        for number in holder & around.keys():
            around[number].append(first)
    return tuple(sorted(around, key=lambda number: (*around[number], number)))


def sysfs_order(frame: Frame, cores: Sequence[Core], nodes: Sequence[NumaNode]) -> Numbers:
    """The same from the kernel's files of a frame."""
    return logical_order(cores, nodes, set(_shared(frame)))


def _shared(frame: Frame) -> Iterator[Numbers]:
    for (pattern, item), column in frame.columns.items():
        if pattern.startswith(CACHES) and item in ("shared_cpu_list", "shared_cpu_map"):
            parse = listed if item == "shared_cpu_list" else masked
            yield from (held for cell in set(column.values()) if (held := parse(cell)))
