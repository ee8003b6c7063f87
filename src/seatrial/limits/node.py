"""Every limit inside one node."""

from seatrial.limits.device import device_label, device_limit, ports_of, summed
from seatrial.limits.memory import memory_limits
from seatrial.limits.pcie_path import MemoryAccess, link_rates
from seatrial.limits.peak import compute_peaks
from seatrial.limits.rails import Flow, Rail, together
from seatrial.limits.socket import socket_limits
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.pci import PciDevice, PciKind

MEASURED = (PciKind.NETWORK, PciKind.GPU, PciKind.NVME)


def node_limits(facts: NodeFacts) -> tuple[Limit | NoLimit | ComputePeak, ...]:
    """Memory of each package, socket to socket, each device to the root, all rails together, floating point.

    Bytes per second and one direction, memory's aside, which is both together.
    """
    devices = [device for device in facts.pci if device.kind in MEASURED and not device.virtual_function]
    return (
        *memory_limits(facts),
        *socket_limits(facts),
        *(device_limit(device, facts) for device in devices),
        *_rails(devices, facts),
        *compute_peaks(facts),
    )


def _rails(devices: list[PciDevice], facts: NodeFacts) -> tuple[Limit | NoLimit, ...]:
    """All network devices with active ports together, where there are two or more: added up as far as PCIe allows."""
    found = [(device, ports_of(device, facts)) for device in devices if device.kind is PciKind.NETWORK]
    active = [(device, ports.terms[0]) for device, ports in found if ports.terms]
    if len(active) < 2:
        return ()
    node = facts.hostname
    labels = [device_label(device, facts) for device, _ in active]
    flow = together(
        [
            Rail(name=label, bytes_per_s=term.bytes_per_s, links=link_rates(device, MemoryAccess.WRITE))
            for label, (device, term) in zip(labels, active, strict=True)
        ]
    )
    terms = [summed(f"{node} {', '.join(labels)}", tuple(term for _, term in active))]
    if flow.bytes_per_s < terms[0].bytes_per_s:
        terms.append(cut_term(node, flow))
    unknown = tuple(why for _, ports in found for why in ports.unknown)
    return (least(f"{node} {', '.join(labels)} together > root", Terms(terms=tuple(terms), unknown=unknown)),)


def cut_term(node: str, flow: Flow) -> LimitTerm:
    """What holds the rails back: links that are full, and ports below links that are not."""
    inputs = {f"cut_{number}": bytes_per_s for number, (_, bytes_per_s) in enumerate(flow.cut, start=1)}
    return LimitTerm(
        name=f"{node}: PCIe above several rails, full at {', '.join(name for name, _ in flow.cut)}",
        bytes_per_s=flow.bytes_per_s,
        inputs=inputs,
        source=f"PCIe links and ports of {node}, as in the limits of its devices",
        formula=" + ".join(inputs),
    )
