"""What passes between one device and the processor: its PCIe links, and its own ports together."""

from seatrial.limits.ethernet import tcp_payload_term
from seatrial.limits.pcie_path import MemoryAccess, pcie_terms
from seatrial.limits.ports import node_ports
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.pci import PciDevice


def device_limit(device: PciDevice, facts: NodeFacts) -> Limit | NoLimit:
    """The most that `device` writes to memory, bytes per second, one direction: path "n1 mlx5_0 > root".

    The least of every PCIe link above it and of what its active ports bring in together.
    """
    label = device_label(device, facts)
    path = f"{facts.hostname} {label} > root"
    bus = pcie_terms(device, facts.hostname, label, MemoryAccess.WRITE)
    if not bus.terms:
        return NoLimit(path=path, reason=bus.unknown[0])
    return least(path, bus + ports_of(device, facts))


def device_label(device: PciDevice, facts: NodeFacts) -> str:
    """The kernel's name for it, an HCA's before an interface's; the address where it has none."""
    hca = next((each.name for each in facts.hcas if each.pci_address == device.address), "")
    return hca or (device.names or (device.address,))[0]


def ports_of(device: PciDevice, facts: NodeFacts) -> Terms:
    """One term for the sum of a device's active ports; for its Ethernet interfaces where it is no HCA."""
    node = facts.hostname
    ports = [port for port in node_ports(facts) if port.hca.pci_address == device.address]
    found = Terms()
    for port in ports:
        found += port.terms()
    if not ports:
        interfaces = [each for each in facts.ethernet_interfaces if each.pci_address == device.address]
        terms = (tcp_payload_term(interface, node) for interface in interfaces)
        found = Terms(terms=tuple(term for term in terms if term is not None))
    unread = len(ports) - len(found.terms) if ports else 0
    if unread or len(found.terms) < 2:
        return Terms(terms=() if unread else found.terms, unknown=found.unknown)
    return Terms(terms=(summed(f"{node} {device_label(device, facts)}", found.terms),), unknown=found.unknown)


def summed(owner: str, terms: tuple[LimitTerm, ...]) -> LimitTerm:
    """Several ports' terms as one."""
    inputs = {f"port_{number}": term.bytes_per_s for number, term in enumerate(terms, start=1)}
    kinds = ", ".join(dict.fromkeys(term.name.rpartition(": ")[2] for term in terms))
    return LimitTerm(
        name=f"{owner}: {len(terms)} ports together, {kinds}",
        bytes_per_s=sum(inputs.values()),
        inputs=inputs,
        source="; ".join(term.source for term in terms),
        formula=" + ".join(inputs),
        nominal=any(term.nominal for term in terms),
    )
