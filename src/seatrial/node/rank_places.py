"""Places of ranks: their affinity masks, cores that ranks share, and how far cores are from the adapter."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from seatrial.model.facts import Core, NodeFacts, PciKind
from seatrial.model.hca import PortState
from seatrial.model.measurement import LONGEST_S, RankPlace
from seatrial.model.words import ranges
from seatrial.node.processor_sets import listed

Cores = frozenset[int]


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks (their places in the sequence asked about) that have only these between them, fewer than they are."""

    members: tuple[int, ...]
    have: tuple[int, ...]


def known_cores(facts: NodeFacts | None, ranks: Iterable[RankPlace]) -> tuple[Core, ...]:
    """The node's cores. Where they are not known, or do not hold all masks, each processor counts as one."""
    cores = facts.topology.cores if facts else ()
    processors = {number for core in cores for number in core.processors}
    named = {number for rank in ranks for number in rank.cpus}
    if cores and named <= processors:
        return cores
    return tuple(Core(processors=(number,)) for number in sorted(named | processors))


def cores_of(cores: Sequence[Core], cpus: Iterable[int]) -> Cores:
    """The cores (by their place in `cores`) that have any of those processors."""
    wanted = set(cpus)
    return frozenset(place for place, core in enumerate(cores) if wanted.intersection(core.processors))


def crowds(wants: Sequence[Cores]) -> list[Crowd]:
    """Groups that have fewer things between them than they are members; none where each can have one of its own.

    `wants`: what each may have. By a maximum matching: members that are left over, and all whose thing they could
    take, and so on, have too few (Hall's theorem; König's proof gives the group). Empty wants are left out.
    """
    owner = greatest_matching(wants)
    matched = set(owner.values())
    groups: list[tuple[set[int], set[int]]] = []
    for member, things in enumerate(wants):
        if not things or member in matched:
            continue
        members, have = _reached(member, wants, owner)
        for other in [one for one in groups if one[1] & have]:
            members, have = members | other[0], have | other[1]
            groups.remove(other)
        groups.append((members, have))
    crowded = [Crowd(members=tuple(sorted(members)), have=tuple(sorted(have))) for members, have in groups]
    return sorted(crowded, key=lambda crowd: crowd.members)


def _reached(member: int, wants: Sequence[Cores], owner: Mapping[int, int]) -> tuple[set[int], set[int]]:
    members, have = {member}, set[int]()
    waiting = [member]
    while waiting:
        for thing in wants[waiting.pop()] - have:
            have.add(thing)
            holder = owner[thing]
            if holder not in members:
                members.add(holder)
                waiting.append(holder)
    return members, have


def greatest_matching(wants: Sequence[Cores]) -> dict[int, int]:
    """Thing -> the member that gets it, for as many members as can get one each.

    By augmenting paths, searched breadth first so that no depth of recursion is needed (Kuhn, 1955).
    """
    owner: dict[int, int] = {}
    for member in range(len(wants)):
        came_from: dict[int, int] = {}
        waiting, free = [member], None
        while waiting and free is None:
            asking = waiting.pop(0)
            for thing in sorted(wants[asking] - came_from.keys()):
                came_from[thing] = asking
                if thing not in owner:
                    free = thing
                    break
                waiting.append(owner[thing])
        taken = {holder: thing for thing, holder in owner.items()}
        while free is not None:
            holder = came_from[free]
            before = taken.get(holder)
            owner[free] = holder
            free = before
    return owner


def rank_names(ranks: Iterable[RankPlace]) -> str:
    """rank 3; ranks 0-3,8."""
    ids = [rank.rank for rank in ranks]
    return f"rank {ids[0]}" if len(ids) == 1 else f"ranks {ranges(ids)}"


def rank_places(
    places: Sequence[str], records: Sequence[Mapping[str, Any]], nodes: Iterable[str]
) -> tuple[RankPlace, ...]:
    """One rank for each record. `places`: by rank, what rounds call it; `nodes`: those whose facts are read.

    A place NODE:0 belongs to NODE, unless it is a node by itself (ranks of this machine). What is missing in a record,
    or has another form, is unknown.
    """
    node_set = set(nodes)
    found = []
    for rank, (place, record) in enumerate(zip(places, records, strict=False)):
        node = place if place in node_set else place.rpartition(":")[0] or place
        cpus, cpu, pid = record.get("cpus"), record.get("cpu"), record.get("pid")
        found.append(
            RankPlace(
                rank=rank,
                place=place,
                node=node,
                host=str(record.get("host", "")),
                cpus=(listed(cpus) if isinstance(cpus, str) else None) or (),
                cpu=cpu if isinstance(cpu, int) and cpu >= 0 else None,
                pid=pid if isinstance(pid, int) else None,
                clock_resolution_s=_seconds(record.get("clock_resolution_s")),
                clock_overhead_s=_seconds(record.get("clock_overhead_s")),
            )
        )
    return tuple(found)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LONGEST_S else None


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


def numa_nodes_of_gpus(facts: NodeFacts) -> dict[str, int]:
    """GPU -> its NUMA node, for those whose place is known; by its driver's number, else by its address."""
    labels = {gpu.address: gpu.label for gpu in facts.gpus}
    return {
        labels.get(device.address, f"GPU {device.address}"): device.numa_node
        for device in facts.pci
        if device.kind is PciKind.GPU and device.numa_node is not None and not device.virtual_function
    }


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
