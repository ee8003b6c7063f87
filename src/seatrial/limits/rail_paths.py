"""The rails between two nodes, and the limit of the path over one or several of them."""

from collections.abc import Sequence

import msgspec

from seatrial.limits.node import cut_term
from seatrial.limits.path import Rail, gate_of, path_limit, together
from seatrial.limits.pcie_path import MemoryAccess, link_rates
from seatrial.limits.ports import node_ports, side_of, tcp_payload_term
from seatrial.model.facts import NodeFacts, PciDevice
from seatrial.model.limit import Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.units import bandwidth

ETHERNET = "Ethernet"
AS_FAST = 0.99
"""Share of the fastest rail: rails of one kind may differ by an MTU, not by a generation."""


class RailDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One exit of a node, by the name that MPI libraries use for it: `eth0`, `mlx5_0:1`."""

    name: str
    kind: str
    """Ethernet, or the family of the port in its own word."""
    bytes_per_s: float | None = None
    """What the port itself carries, one direction; None where its rate is not known."""


class SharedRails(msgspec.Struct, frozen=True, kw_only=True):
    """The rails of the fastest kind that both nodes have, in order of name, and why others are not among them."""

    rails: tuple[RailDevice, ...] = ()
    left_out: tuple[str, ...] = ()


def rails_of(facts: NodeFacts) -> tuple[RailDevice, ...]:
    """Every active port of an HCA, then every Ethernet interface that can carry a job's TCP."""
    rails = []
    for port in node_ports(facts):
        rates = [term.bytes_per_s for term in port.terms().terms]
        name = f"{port.hca.name}:{port.port.number}"
        rails.append(RailDevice(name=name, kind=str(port.port.family), bytes_per_s=min(rates, default=None)))
    for interface in facts.ethernet_interfaces:
        term = tcp_payload_term(interface, facts.hostname)
        rate = term.bytes_per_s if term else None
        rails.append(RailDevice(name=interface.name, kind=ETHERNET, bytes_per_s=rate))
    return tuple(rails)


def shared_rails(source: NodeFacts, target: NodeFacts) -> SharedRails:
    """The fastest kind's rails that are up, under one name, at both ends; a slower one of the kind is left out."""
    source_rails, target_rails = ({rail.name: rail for rail in rails_of(facts)} for facts in (source, target))
    both = [
        _lesser(rail, target_rails[name])
        for name, rail in source_rails.items()
        if name in target_rails and rail.kind == target_rails[name].kind
    ]
    fastest = max(both, key=lambda rail: rail.bytes_per_s or 0.0, default=None)
    if fastest is None:
        return SharedRails(left_out=_one_sided(source, target))
    floor = AS_FAST * (fastest.bytes_per_s or 0.0)
    chosen = [rail for rail in both if rail.kind == fastest.kind and (rail.bytes_per_s or 0.0) >= floor]
    slower = [rail for rail in both if rail.kind == fastest.kind and rail not in chosen]
    reasons = tuple(
        f"{rail.name} is left out: according to its facts it carries {bandwidth(rail.bytes_per_s)}, "
        f"{fastest.name} {bandwidth(fastest.bytes_per_s)}"
        for rail in slower
    )
    rails = tuple(sorted(chosen, key=lambda rail: rail.name))
    return SharedRails(rails=rails, left_out=(*reasons, *_one_sided(source, target)))


def rail_named(facts: NodeFacts, name: str) -> RailDevice | None:
    """The rail of that name; the name of an HCA means its port 1. None where no such rail is up."""
    rails = {rail.name: rail for rail in rails_of(facts)}
    return rails.get(name) or rails.get(f"{name}:1")


def no_rail_because(facts: NodeFacts, name: str) -> str:
    """Why a node has no rail of that name: it is down, or not there; and which there are."""
    have = ", ".join(rail.name for rail in rails_of(facts)) or "none"
    device = name.partition(":")[0]
    exists = device in {*(hca.name for hca in facts.hcas), *(each.name for each in facts.interfaces)}
    return (
        f"{facts.hostname} has {name}, but it is not up" if exists else f"{facts.hostname} has no {name}: it has {have}"
    )


def only(facts: NodeFacts, names: Sequence[str]) -> NodeFacts:
    """The node as if it had these rails alone; a RoCE or iWARP port keeps its Ethernet side."""
    ports = [port for port in node_ports(facts) if f"{port.hca.name}:{port.port.number}" in names]
    sides = {side.name for port in ports if (side := side_of(port.port, facts.interfaces)) is not None}
    kept = []
    for hca in facts.hcas:
        numbers = {port.port.number for port in ports if port.hca.name == hca.name}
        if numbers:
            kept.append(msgspec.structs.replace(hca, ports=tuple(p for p in hca.ports if p.number in numbers)))
    interfaces = tuple(each for each in facts.interfaces if each.name in {*names, *sides})
    return msgspec.structs.replace(facts, hcas=tuple(kept), interfaces=interfaces)


def _lesser(source_rail: RailDevice, target_rail: RailDevice) -> RailDevice:
    rates = [rail.bytes_per_s for rail in (source_rail, target_rail) if rail.bytes_per_s is not None]
    return msgspec.structs.replace(source_rail, bytes_per_s=min(rates, default=None))


def _one_sided(source: NodeFacts, target: NodeFacts) -> tuple[str, ...]:
    """Rails that one node has up and the other has not."""
    reasons = []
    for facts, other in ((source, target), (target, source)):
        other_rails = {rail.name for rail in rails_of(other)}
        reasons += [no_rail_because(other, rail.name) for rail in rails_of(facts) if rail.name not in other_rails]
    return tuple(reasons)


def rail_limit(source: NodeFacts, target: NodeFacts, rails: Sequence[str]) -> Limit | NoLimit:
    """The largest rate of MPI payload from `source` to `target` over these rails at once, bytes per second, one
    direction.

    One rail: the limit of a path with only this rail. Several: their sum, and no more than the PCIe links above them
    let through together (`limits.path.together`, a maximum flow) at either end. The gate is that of these rails.
    """
    if len(rails) == 1:
        return path_limit(only(source, rails), only(target, rails))
    path = f"{source.hostname}>{target.hostname} over {' and '.join(rails)}"
    parts = [rail_limit(source, target, [rail]) for rail in rails]
    limits = [part for part in parts if isinstance(part, Limit)]
    if len(limits) < len(parts):
        return NoLimit(path=path, reason=next(part.reason for part in parts if isinstance(part, NoLimit)))
    rates = [limit.limit_bytes_per_s for limit in limits]
    terms = [_sum_term(rails, limits)]
    for facts, direction in ((source, MemoryAccess.READ), (target, MemoryAccess.WRITE)):
        flow = together(_through_pcie(facts, rails, rates, direction))
        if flow.bytes_per_s < terms[0].bytes_per_s:
            terms.append(cut_term(facts.hostname, flow))
    unknown = tuple(dict.fromkeys(why for limit in limits for why in limit.unknown))
    gate = min(gate_of(only(facts, rails)).bytes_per_s for facts in (source, target))
    return least(path, Terms(terms=tuple(terms), unknown=unknown), gate)


def _sum_term(rails: Sequence[str], limits: Sequence[Limit]) -> LimitTerm:
    inputs = {f"rail_{number}": limit.limit_bytes_per_s for number, limit in enumerate(limits, start=1)}
    return LimitTerm(
        name=f"{' and '.join(rails)} together, each at its limit",
        bytes_per_s=sum(inputs.values()),
        inputs=inputs,
        source="; ".join(limit.binding_term.source for limit in limits),
        formula=" + ".join(inputs),
        nominal=any(limit.nominal for limit in limits),
    )


def _through_pcie(
    facts: NodeFacts, rails: Sequence[str], rates: Sequence[float], direction: MemoryAccess
) -> list[Rail]:
    """Each rail with the PCIe links above it; a shared link has the same name."""
    return [
        Rail(name=rail, bytes_per_s=rate, links=link_rates(device, direction) if device else ())
        for rail, rate in zip(rails, rates, strict=True)
        for device in [_device_of(facts, rail)]
    ]


def _device_of(facts: NodeFacts, rail: str) -> PciDevice | None:
    name = rail.partition(":")[0]
    addresses = {each.name: each.pci_address for each in facts.interfaces}
    addresses |= {hca.name: hca.pci_address for hca in facts.hcas}
    devices = {device.address: device for device in facts.pci}
    return devices.get(addresses.get(name, ""))
