"""How far cores are from the adapter, and the order in which they are best given to ranks."""

import enum
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.diagnosis.placement.cores import Cores, cores_of, known_cores
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.placement import RankPlace
from seatrial.model.topology import Core

FAR = 10_000
"""Stands for a NUMA distance that the kernel does not tell; real ones end at 254."""


class Distance(enum.StrEnum):
    """From a core to the nearest adapter."""

    NEAR = "same NUMA node"
    SOCKET = "same socket"
    OTHER = "other socket"
    UNKNOWN = "not known"


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """Active adapters (for want of any the fabric interface) -> NUMA node and package of each."""

    numa_nodes: dict[str, int] = {}
    packages: dict[str, int] = {}


def adapters_of(facts: NodeFacts) -> Adapters:
    """Empty where the place of one of them is not known: then nobody can say what is near."""
    places: dict[str, int | None] = {
        hca.name: hca.numa_node for hca in facts.hcas if any(port.state is PortState.ACTIVE for port in hca.ports)
    }
    interface = facts.fabric_interface
    if not places and not facts.active_hcas and interface is not None:
        numa_nodes = [device.numa_node for device in facts.pci if device.address == interface.pci_address]
        places = {interface.name: numa_nodes[0]} if numa_nodes else {}
    known = {name: numa for name, numa in places.items() if numa is not None}
    packages = {
        name: package for name, numa in known.items() if (package := facts.topology.package_of(numa)) is not None
    }
    if len(packages) < len(places):
        return Adapters()
    return Adapters(numa_nodes=known, packages=packages)


def distance(core: Core, adapters: Adapters) -> Distance:
    """Of one core to the nearest of them."""
    if not adapters.packages or core.package is None:
        return Distance.UNKNOWN
    if core.numa_node in adapters.numa_nodes.values():
        return Distance.NEAR
    return Distance.SOCKET if core.package in adapters.packages.values() else Distance.OTHER


def distance_of(cores: Sequence[Core], cpus: Iterable[int], adapters: Adapters) -> Distance:
    """The greatest one of all cores that a mask has: a rank may be on any of them."""
    order = list(Distance)
    return max((distance(cores[one], adapters) for one in cores_of(cores, cpus)), key=order.index, default=order[-1])


def usable_cores(facts: NodeFacts | None, ranks: Sequence[RankPlace]) -> Cores:
    """Cores that the job has, as far as the collector's own mask and the ranks' show; all, where they do not."""
    cores = known_cores(facts, ranks)
    everything = {number for core in cores for number in core.processors}
    allowed = set(facts.processor.allowed) & everything if facts else set()
    return cores_of(cores, allowed | {cpu for rank in ranks for cpu in rank.cpus} if allowed else everything)


def good_order(
    facts: NodeFacts | None, ranks: Sequence[RankPlace], cores_each: int = 1
) -> tuple[tuple[int, ...], ...] | None:
    """Processors for each rank of a node in turn: cores of its own, one processor each, nearest the adapter first.

    A rank of several cores has them within one NUMA node where that is possible. None where there are too few cores.
    """
    cores = known_cores(facts, ranks)
    usable = [cores[place] for place in sorted(usable_cores(facts, ranks))]
    adapters = adapters_of(facts) if facts else Adapters()
    by_node: dict[int | None, list[Core]] = {}
    for core in usable:
        by_node.setdefault(core.numa_node, []).append(core)
    hops = {node: _hops(facts, node, adapters) for node in by_node}
    classes = list(Distance)

    def place(node: int | None) -> tuple[int, int, int]:
        return min(classes.index(distance(one, adapters)) for one in by_node[node]), hops[node], node or 0

    groups: list[tuple[int, ...]] = []
    rest: list[int] = []
    for node in sorted(by_node, key=place):
        firsts = [core.processors[0] for core in sorted(by_node[node], key=lambda core: core.processors)]
        whole = len(firsts) - len(firsts) % cores_each
        groups += [tuple(firsts[first : first + cores_each]) for first in range(0, whole, cores_each)]
        rest += firsts[whole:]
    groups += [tuple(rest[first : first + cores_each]) for first in range(0, len(rest), cores_each)]
    groups = [group for group in groups if len(group) == cores_each]
    return tuple(groups[: len(ranks)]) if len(groups) >= len(ranks) else None


def _hops(facts: NodeFacts | None, node: int | None, adapters: Adapters) -> int:
    """The kernel's distance of a NUMA node from the nearest adapter's."""
    if facts is None:
        return FAR
    order = [one.index for one in facts.topology.numa_nodes]
    rows = {one.index: one.distances for one in facts.topology.numa_nodes}
    known = [
        rows[near][order.index(node)]
        for near in adapters.numa_nodes.values()
        if node in order and len(rows.get(near, ())) == len(order)
    ]
    return min(known, default=FAR)
