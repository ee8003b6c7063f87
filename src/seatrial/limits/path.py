"""The limit of the path between two nodes: its smallest term, or why none is known; several ports together."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from seatrial.limits.gpus import adapter_terms
from seatrial.limits.pcie_path import MemoryAccess, ceilings, pcie_terms
from seatrial.limits.ports import NodePort, node_ports, tcp_payload_term, unreadable
from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice
from seatrial.model.hca import PortFamily
from seatrial.model.limit import Limit, NoLimit, Terms, least
from seatrial.model.words import Unknown


class Rail(msgspec.Struct, frozen=True, kw_only=True):
    """One port and the links between it and the processor, from the root down, as (name, bytes per second)."""

    name: str
    bytes_per_s: float
    links: tuple[tuple[str, float], ...] = ()


class RailFlow(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum that rails carry together, and what limits it: a minimum cut."""

    bytes_per_s: float
    cut: tuple[tuple[str, float], ...]
    """Links and ports, as (name, bytes per second); their sum is the flow."""


def together(rails: Sequence[Rail]) -> RailFlow:
    """The maximum flow from the rails to the root: at each link the smaller of its rate and of all that comes from
    below.

    A link that several rails share counts once; links are identified by name. On a tree this is the maximum flow.
    """
    flows = [
        RailFlow(bytes_per_s=rail.bytes_per_s, cut=((rail.name, rail.bytes_per_s),)) for rail in rails if not rail.links
    ]
    below: dict[str, list[Rail]] = defaultdict(list)
    width: dict[str, float] = {}
    for rail in rails:
        if rail.links:
            (link, bytes_per_s), *rest = rail.links
            below[link].append(msgspec.structs.replace(rail, links=tuple(rest)))
            width[link] = min(width.get(link, bytes_per_s), bytes_per_s)
    for link, sharers in below.items():
        beneath = together(sharers)
        narrow = width[link] < beneath.bytes_per_s
        flows.append(RailFlow(bytes_per_s=width[link], cut=((link, width[link]),)) if narrow else beneath)
    cut = tuple(part for flow in flows for part in flow.cut)
    return RailFlow(bytes_per_s=sum(flow.bytes_per_s for flow in flows), cut=cut)


# The gate: what all ports and interfaces of one node carry together. No valid measurement exceeds it.


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes per second, one direction; infinite where `unknown` has the reason."""

    bytes_per_s: float
    unknown: tuple[str, ...] = ()


def gate_of(facts: NodeFacts) -> Gate:
    """All active ports and all Ethernet interfaces at once, each at its own MTU, through the PCIe links that are known.

    A true upper bound even if MPI stripes over all of them. A RoCE or iWARP port and its interface are
    one wire, and the better of both counts. What is not known does not narrow it.
    """
    rails = [*port_rails(facts), *_interface_rails(facts)]
    strange = unreadable(facts)
    if strange:
        return Gate(bytes_per_s=math.inf, unknown=(f"no gate: {facts.hostname} has {strange}",))
    total = together(rails).bytes_per_s
    if math.isfinite(total):
        return Gate(bytes_per_s=total)
    names = ", ".join(rail.name for rail in rails if not math.isfinite(rail.bytes_per_s))
    return Gate(bytes_per_s=total, unknown=(f"no gate: {facts.hostname} has {names}, whose rate is not known",))


def port_rails(facts: NodeFacts) -> list[Rail]:
    """One for each active port of an HCA; infinite where its rate is not known."""
    return [
        Rail(name=port.label, bytes_per_s=_wire(port), links=ceilings(port.device) if port.device else ())
        for port in node_ports(facts)
    ]


def _wire(port: NodePort) -> float:
    rates = [term.bytes_per_s for term in port.terms().terms]
    if port.interface is not None:
        tcp = tcp_payload_term(port.interface, port.node)
        rates += [tcp.bytes_per_s] if tcp else []
    return max(rates, default=math.inf)


def _interface_rails(facts: NodeFacts) -> list[Rail]:
    taken = {port.interface.name for port in node_ports(facts) if port.interface is not None}
    devices = {device.address: device for device in facts.pci}
    rails = []
    for interface in facts.ethernet_interfaces:
        if interface.name not in taken:
            device = devices.get(interface.pci_address)
            links = ceilings(device) if device else ()
            rails.append(Rail(name=interface.name, bytes_per_s=_payload(interface, facts.hostname), links=links))
    return rails


def _payload(interface: NetworkInterface, node: str) -> float:
    """Infinite where speed or MTU is unknown, 0 where the MTU leaves no room."""
    if interface.speed_bits_per_s is None or interface.mtu_bytes is None:
        return math.inf
    term = tcp_payload_term(interface, node)
    return term.bytes_per_s if term else 0.0


DEFAULT_PREFIX = "fe80:0000:0000:0000"
"""The default subnet prefix, which does not distinguish subnets (InfiniBand Architecture Specification 4.1.3)."""


def with_capacity(ports: Sequence[NodePort]) -> list[tuple[float, NodePort]]:
    """Each port of one node with its `capacity`, which no partner changes."""
    return [(capacity(port), port) for port in ports]


def best_shared(
    source: Sequence[tuple[float, NodePort]], target: Sequence[tuple[float, NodePort]]
) -> tuple[NodePort, NodePort] | None:
    """The pair of ports of one family and subnet that lets most through; None where the ends share no such network.

    Each port with its `capacity`. The first by order of devices among equals. Ports of a family that is not known are
    left out.
    """
    here_most, there_most = _most(source), _most(target)
    shared = [min(here_most[one], there_most[two]) for one in here_most for two in there_most if _speak(one, two)]
    best = max(shared, default=0.0)
    able = (
        (here, there)
        for capacity_here, here in source
        if capacity_here >= best and any(_speak(_network(here), two) for two in there_most if there_most[two] >= best)
        for capacity_there, there in target
        if capacity_there >= best and _speak(_network(here), _network(there))
    )
    return next(able, None)


Network = tuple[PortFamily | Unknown, str]
"""Family and prefix of the subnet."""


def _network(port: NodePort) -> Network:
    return port.port.family, port.port.subnet_prefix


def _most(ports: Sequence[tuple[float, NodePort]]) -> dict[Network, float]:
    """The largest capacity in each network."""
    most: dict[Network, float] = {}
    for rate, port in ports:
        most[_network(port)] = max(rate, most.get(_network(port), rate))
    return most


def capacity(port: NodePort) -> float:
    """The smallest of the port's term and the terms of its PCIe links, bytes per second; 0 for an unknown rate."""
    terms = port.terms().terms
    if not terms:
        return 0.0
    bus = pcie_terms(port.device, port.node, port.label, MemoryAccess.WRITE).terms if port.device else ()
    return min((term.bytes_per_s for term in (*terms, *bus)), default=math.inf)


def _speak(source: Network, target: Network) -> bool:
    (family, prefix), (other_family, other_prefix) = source, target
    if not isinstance(family, PortFamily) or family is not other_family:
        return False
    return prefix == other_prefix or len({prefix, other_prefix} - {"", DEFAULT_PREFIX}) < 2


def path_limit(source: NodeFacts, target: NodeFacts) -> Limit | NoLimit:
    """The most MPI payload from `source` to `target` in bytes per second, one direction, from and to main memory.

    Over the best port of each end where both have active ports of one family on one subnet; else TCP over the fabric
    interfaces. The limit is the smallest term of ports and PCIe links. The gate is what all ports and interfaces of an
    end carry together, and of the two ends the lesser: MPI may use several at once, and no more than all of them.
    """
    return _limit(_PathEnd(source), _PathEnd(target))


def path_limits(
    pairs: Iterable[tuple[str, str]], facts: Mapping[str, NodeFacts], *, of_gpus: bool = False
) -> dict[tuple[str, str], Limit | NoLimit]:
    """`path_limit` of every ordered pair both of whose nodes have facts; each node is evaluated once.

    `of_gpus`: from and to the memory of a GPU of each node, whose way to the adapter counts in place of the root's.
    """
    wanted = [pair for pair in pairs if pair[0] in facts and pair[1] in facts]
    ends = {node: _PathEnd(facts[node], of_gpus=of_gpus) for pair in wanted for node in pair}
    return {(source, target): _limit(ends[source], ends[target]) for source, target in wanted}


class _PathEnd:
    """What a node brings to any path from it or to it, computed when first asked for."""

    def __init__(self, facts: NodeFacts, *, of_gpus: bool = False) -> None:
        """`of_gpus`: data are in the memory of a GPU; of a node whose GPUs are not known, in main memory."""
        self.facts = facts
        self.of_gpu = of_gpus and bool(facts.gpus)
        self._terms: dict[tuple[str, int | None], Terms] = {}
        self._ways: dict[tuple[str, int | None, MemoryAccess], Terms] = {}

    @cached_property
    def ports(self) -> list[tuple[float, NodePort]]:
        """Active ports, each with the bytes per second that it lets through."""
        return with_capacity(node_ports(self.facts))

    @cached_property
    def gate(self) -> Gate:
        """What all of it carries together."""
        return gate_of(self.facts)

    @cached_property
    def strange(self) -> str:
        """The first device that cannot be read, or ""."""
        return unreadable(self.facts)

    def terms(self, port: NodePort, mtu: int | None) -> Terms:
        """Terms of the port alone, at the path's MTU."""
        key = port.label, mtu
        if key not in self._terms:
            self._terms[key] = port.terms(mtu)
        return self._terms[key]

    def way(self, port: NodePort, mtu: int | None, direction: MemoryAccess) -> Terms:
        """The port with its PCIe links, in the order in which data passes them."""
        key = port.label, mtu, direction
        if key not in self._ways:
            bus, own = self.bus(port.device, port.hca.name, direction), self.terms(port, mtu)
            self._ways[key] = bus + own if direction is MemoryAccess.READ else own + bus
        return self._ways[key]

    def bus(self, device: PciDevice | None, label: str, direction: MemoryAccess) -> Terms:
        """The links between an adapter and the memory from which it reads, or to which it writes."""
        if self.of_gpu:
            return adapter_terms(self.facts, device, label, direction)
        if device is None:
            return Terms(unknown=(f"{self.facts.hostname} {label}: its PCIe path is not known",))
        return pcie_terms(device, self.facts.hostname, label, direction)


def _limit(source: _PathEnd, target: _PathEnd) -> Limit | NoLimit:
    path = f"{source.facts.hostname}>{target.facts.hostname}"
    path_terms = _terms(source, target)
    if not path_terms.terms:
        return NoLimit(path=path, reason="; ".join(path_terms.unknown))
    gate = min((source.gate, target.gate), key=lambda each: each.bytes_per_s)
    narrowest = min(term.bytes_per_s for term in path_terms.terms)  # a switch may carry more than its way to the root
    most = max(gate.bytes_per_s, narrowest) if source.of_gpu and target.of_gpu else gate.bytes_per_s
    return least(path, path_terms + Terms(unknown=gate.unknown) if gate.unknown else path_terms, most)


def _terms(source: _PathEnd, target: _PathEnd) -> Terms:
    """The terms of the fastest network that both ends share; without terms where `unknown` has the reason."""
    if source.facts.hostname == target.facts.hostname:
        return Terms(unknown=("both ranks are on one node, and only paths between nodes have a limit",))
    for facts in (source.facts, target.facts):
        if not facts.complete:
            return Terms(unknown=(f"the facts of {facts.hostname} are truncated: collect them again",))
    shared = best_shared(source.ports, target.ports)
    if shared is not None:
        return _over_ports((source, shared[0]), (target, shared[1]))
    if perhaps := _perhaps(source, target):
        return Terms(unknown=(perhaps,))
    for facts in (source.facts, target.facts):
        if obstacle := _obstacle(facts):
            return Terms(unknown=(f"{facts.hostname} {obstacle}",))
    return _over_tcp(source, target)


def _over_ports(source: tuple[_PathEnd, NodePort], target: tuple[_PathEnd, NodePort]) -> Terms:
    """The sender's PCIe and port, then the receiver's port and PCIe; both ports at the smaller of the two MTUs."""
    mtu = min((port.mtu_bytes for _, port in (source, target) if port.mtu_bytes), default=None)
    sender, receiver = (end.terms(port, mtu) for end, port in (source, target))
    rateless = [found for found in (sender, receiver) if not found.terms]
    if rateless:
        return Terms(unknown=tuple(why for found in rateless for why in found.unknown))
    (here, out), (there, into) = source, target
    return here.way(out, mtu, MemoryAccess.READ) + there.way(into, mtu, MemoryAccess.WRITE)


def _over_tcp(source: _PathEnd, target: _PathEnd) -> Terms:
    """Terms over the fabric interfaces; none if the MTU of an end leaves no room."""
    no_room = Terms(unknown=("the MTU of one end leaves no room for payload",))
    ends = [(end, end.facts.fabric_interface) for end in (source, target)]
    mtus = [
        (used.mtu_bytes, end.facts.hostname) for end, used in ends if used is not None and used.mtu_bytes is not None
    ]
    unshared = Terms(unknown=_unshared(source.facts, target.facts))
    for (end, interface), direction in zip(ends, (MemoryAccess.READ, MemoryAccess.WRITE), strict=True):
        if interface is None:
            return no_room
        facts = end.facts
        node = facts.hostname
        smallest, where = min(mtus, key=lambda each: (each[0], each[1] != node))
        term = tcp_payload_term(interface, node, mtu_bytes=smallest, mtu_node=where)
        if term is None:
            return no_room
        device = next((each for each in facts.pci if each.address == interface.pci_address), None)
        bus = end.bus(device, interface.name, direction)
        own = Terms(terms=(term,))
        unshared += bus + own if direction is MemoryAccess.READ else own + bus
    return unshared


def _perhaps(source: _PathEnd, target: _PathEnd) -> str:
    """Why a faster network than TCP cannot be ruled out, or "": a device that cannot be read, and one to talk to."""
    for near, far in ((source, target), (target, source)):
        if near.strange and far.facts.active_hcas:
            return f"{near.facts.hostname} has {near.strange}: MPI may use it"
    return ""


def _unshared(source: NodeFacts, target: NodeFacts) -> tuple[str, ...]:
    """Why it is TCP, where an end has more than that."""
    names = [
        f"{facts.hostname}: {', '.join(h.name for h in facts.active_hcas) or 'none'}" for facts in (source, target)
    ]
    if not source.active_hcas and not target.active_hcas:
        return ()
    return (f"the ends share no network but Ethernet (active HCAs of {'; of '.join(names)})",)


def _obstacle(facts: NodeFacts) -> str:
    """Why no limit over TCP can be computed that this node has a part in, or "". It follows the node's name."""
    if not facts.ethernet_interfaces:
        hcas = ", ".join(hca.name for hca in facts.active_hcas)
        only = f"shares only Ethernet with the other end ({hcas}), and " if hcas else ""
        return f"{only}shows no Ethernet interface that is up{_because(facts, 'interfaces')}"
    for interface in facts.ethernet_interfaces:
        for field, word in (("speed_bits_per_s", "speed"), ("mtu_bytes", "MTU")):
            if getattr(interface, field) is None:
                why = _because(facts, f"interfaces.{interface.name}.{field}")
                return f"{interface.name} is up and its {word} is unknown{why}"
    return ""


def _because(facts: NodeFacts, fact: str) -> str:
    return f" ({facts.absent[fact]})" if fact in facts.absent else ""
