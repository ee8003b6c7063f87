"""Several ports of one node together: their sum as far as PCIe permits, and the gate of all of them."""

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from seatrial.limits.ethernet import tcp_payload_term
from seatrial.limits.pcie_path import ceilings
from seatrial.limits.ports import NodePort, node_ports, unreadable
from seatrial.model.facts import NetworkInterface, NodeFacts


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
