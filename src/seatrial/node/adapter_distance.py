"""How far cores are from the adapter, and the order in which they are best given to ranks."""

import enum
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import Core
from seatrial.model.hca import PortState
from seatrial.model.measurement import RankPlace
from seatrial.node.rank_places import Cores, cores_of, known_cores

FAR = 10_000
"""Used for a NUMA distance that the kernel does not report; real ones end at 254."""


SMALL = 0.8
"""A core whose highest frequency is below this share of the fastest core's is of a smaller kind; favoured cores of one
kind differ by less."""


class Distance(enum.StrEnum):
    """The distance from a core to the nearest adapter."""

    NEAR = "same NUMA node"
    SOCKET = "same socket"
    OTHER = "other socket"
    UNKNOWN = "not known"


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """Active adapters (without any, the fabric interface) -> NUMA node and package of each.

    No package where the NUMA node lies on several: all cores of that node then count as equally near.
    """

    numa_nodes: dict[str, int] = {}
    packages: dict[str, int] = {}


def adapters_of(facts: NodeFacts) -> Adapters:
    """Empty where the place of one of them is not known: then it is unknown what is near."""
    places: dict[str, int | None] = {
        hca.name: hca.numa_node for hca in facts.hcas if any(port.state is PortState.ACTIVE for port in hca.ports)
    }
    interface = facts.fabric_interface
    if not places and not facts.active_hcas and interface is not None:
        numa_nodes = [device.numa_node for device in facts.pci if device.address == interface.pci_address]
        places = {interface.name: numa_nodes[0]} if numa_nodes else {}
    placed = {name: numa for name, numa in places.items() if numa is not None}
    packages = {
        name: package for name, numa in placed.items() if (package := facts.topology.package_of(numa)) is not None
    }
    with_cores = {core.numa_node for core in facts.topology.cores}
    if len(placed) < len(places) or not with_cores.issuperset(placed.values()):
        return Adapters()
    return Adapters(numa_nodes=placed, packages=packages)


def distance(core: Core, adapters: Adapters) -> Distance:
    """Distance of one core to the nearest adapter."""
    if not adapters.numa_nodes or core.package is None:
        return Distance.UNKNOWN
    if core.numa_node in adapters.numa_nodes.values():
        return Distance.NEAR
    return Distance.SOCKET if core.package in adapters.packages.values() else Distance.OTHER


def distance_of(cores: Sequence[Core], cpus: Iterable[int], adapters: Adapters) -> Distance:
    """The largest distance of all cores in a mask: a rank may run on any of them."""
    order = list(Distance)
    return max((distance(cores[one], adapters) for one in cores_of(cores, cpus)), key=order.index, default=order[-1])


def usable_processors(facts: NodeFacts | None, ranks: Sequence[RankPlace]) -> frozenset[int]:
    """The processors of the job, from the masks of the collector and of the ranks; all, where those are unknown."""
    everything = {number for core in known_cores(facts, ranks) for number in core.processors}
    allowed = set(facts.processor.allowed) & everything if facts else set()
    return frozenset(allowed | {cpu for rank in ranks for cpu in rank.cpus} if allowed else everything)


def usable_cores(facts: NodeFacts | None, ranks: Sequence[RankPlace]) -> Cores:
    """Cores with at least one processor of the job."""
    return cores_of(known_cores(facts, ranks), usable_processors(facts, ranks))


def small_cores(facts: NodeFacts | None) -> frozenset[Core]:
    """Cores built slower than others of the node: efficiency cores, LITTLE cores; empty where that is unknown."""
    maximum_hz = facts.processor.hardware_maximum_hz if facts else ()
    if facts is None or not maximum_hz or len(maximum_hz) != len(facts.topology.processors):
        return frozenset()
    most = dict(zip(facts.topology.processors, maximum_hz, strict=True))
    return frozenset(core for core in facts.topology.cores if most[core.processors[0]] < SMALL * max(maximum_hz))


def good_order(
    facts: NodeFacts | None, ranks: Sequence[RankPlace], cores_each: int = 1, *, threads: bool = False
) -> tuple[tuple[int, ...], ...] | None:
    """Processors for each rank of a node in order: its own cores, nearest to the adapter first.

    Large cores before small ones that are as near. One processor of each core, or with `threads` all of them. A rank
    of several cores has them within one NUMA node of one socket where that is possible, else within one socket. None
    where there are too few cores.
    """
    usable = usable_processors(facts, ranks)
    cores = [core for core in known_cores(facts, ranks) if usable.intersection(core.processors)]
    adapters = adapters_of(facts) if facts else Adapters()
    small = small_cores(facts)
    pools: dict[tuple[int | None, int | None, bool], list[Core]] = {}
    for core in sorted(cores, key=lambda core: core.processors):
        pools.setdefault((core.numa_node, core.package, core in small), []).append(core)
    classes = list(Distance)

    def place(pool: tuple[int | None, int | None, bool]) -> tuple[int, int, int, bool, tuple[int, ...]]:
        near = min(classes.index(distance(one, adapters)) for one in pools[pool])
        return near, _hops(facts, pool[0], adapters), pool[0] or 0, pool[2], pools[pool][0].processors

    groups, rest = _grouped([pools[pool] for pool in sorted(pools, key=place)], cores_each)
    by_package: dict[int | None, list[Core]] = {}
    for core in rest:
        by_package.setdefault(core.package, []).append(core)
    more, rest = _grouped(list(by_package.values()), cores_each)
    groups += [*more, *_grouped([rest], cores_each)[0]]
    groups.sort(key=lambda group: max(classes.index(distance(one, adapters)) for one in group))
    if len(groups) < len(ranks):
        return None
    return tuple(_processors(group, usable, threads) for group in groups[: len(ranks)])


def _grouped(pools: Sequence[Sequence[Core]], cores_each: int) -> tuple[list[Sequence[Core]], list[Core]]:
    """Groups of `cores_each` from one pool after the other, and what is left over."""
    groups: list[Sequence[Core]] = []
    rest: list[Core] = []
    for pool in pools:
        whole = len(pool) - len(pool) % cores_each
        groups += [pool[first : first + cores_each] for first in range(0, whole, cores_each)]
        rest += pool[whole:]
    return groups, rest


def _processors(cores: Sequence[Core], usable: frozenset[int], threads: bool) -> tuple[int, ...]:
    by_core = [[number for number in core.processors if number in usable] for core in cores]
    return tuple(number for here in by_core for number in (here if threads else here[:1]))


def _hops(facts: NodeFacts | None, node: int | None, adapters: Adapters) -> int:
    """The kernel's distance of a NUMA node from the nearest adapter's."""
    if facts is None:
        return FAR
    order = [one.index for one in facts.topology.numa_nodes]
    rows = {one.index: one.distances for one in facts.topology.numa_nodes}
    distances = [
        rows[near][order.index(node)]
        for near in adapters.numa_nodes.values()
        if node in order and len(rows.get(near, ())) == len(order)
    ]
    return min(distances, default=FAR)
