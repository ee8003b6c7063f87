"""Every limit inside one node: memory, sockets, PCIe links and ports of each device, GPUs, all rails together."""

from collections.abc import Iterator

import msgspec

from seatrial.limits.gpus import gpu_limits, host_term, shared_hops
from seatrial.limits.memory import memory_limits, socket_limits
from seatrial.limits.path import Rail, RailFlow, together
from seatrial.limits.pcie_path import MemoryAccess, link_rates, pcie_terms
from seatrial.limits.peak import compute_peaks
from seatrial.limits.ports import NodePort, node_ports, tcp_payload_term
from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice, PciKind
from seatrial.model.limit import AnyLimit, Limit, LimitTerm, NoLimit, Terms, least
from seatrial.model.words import count

IDLE_GPU = "a GPU lowers the speed of its link while it is idle; read under load, the limit may be higher"


class Carriers:
    """What of a node carries data, by the address of its device."""

    def __init__(self, facts: NodeFacts) -> None:
        self.node = facts.hostname
        self.names = {hca.pci_address: hca.name for hca in reversed(facts.hcas)}
        """The kernel's names of HCAs."""
        self.ports: dict[str, list[NodePort]] = {}
        self.interfaces: dict[str, list[NetworkInterface]] = {}
        for port in node_ports(facts):
            self.ports.setdefault(port.hca.pci_address, []).append(port)
        for interface in facts.ethernet_interfaces:
            self.interfaces.setdefault(interface.pci_address, []).append(interface)

    def label(self, device: PciDevice) -> str:
        """The kernel's name for it, an HCA's before an interface's; the address where it has none."""
        return self.names.get(device.address) or (device.names or (device.address,))[0]


def device_limit(device: PciDevice, of: Carriers) -> Limit | NoLimit:
    """The largest rate at which `device` writes to memory, bytes per second, one direction: path "n1 mlx5_0 > root".

    The smallest of every PCIe link above it and of the sum of its active ports.
    """
    label = of.label(device)
    path = f"{of.node} {label} > root"
    bus = pcie_terms(device, of.node, label, MemoryAccess.WRITE)
    if not bus.terms:
        return NoLimit(path=path, reason=bus.unknown[0])
    if device.kind is PciKind.GPU:
        bus += Terms(unknown=(f"{of.node} {label}: {IDLE_GPU}",))
    return least(path, bus + _ports_of(device, of))


def _ports_of(device: PciDevice, of: Carriers) -> Terms:
    """One term for the sum of a device's active ports; for its Ethernet interfaces where it is not an HCA."""
    ports = of.ports.get(device.address, [])
    terms_of_ports = Terms()
    for port in ports:
        terms_of_ports += port.terms()
    if not ports:
        terms = (tcp_payload_term(interface, of.node) for interface in of.interfaces.get(device.address, []))
        terms_of_ports = Terms(terms=tuple(term for term in terms if term is not None))
    unread = len(ports) - len(terms_of_ports.terms) if ports else 0
    if unread or len(terms_of_ports.terms) < 2:
        return Terms(terms=() if unread else terms_of_ports.terms, unknown=terms_of_ports.unknown)
    return Terms(terms=(summed(f"{of.node} {of.label(device)}", terms_of_ports.terms),), unknown=terms_of_ports.unknown)


def summed(owner: str, terms: tuple[LimitTerm, ...]) -> LimitTerm:
    """Several ports' terms as one."""
    inputs = {f"port_{number}": term.bytes_per_s for number, term in enumerate(terms, start=1)}
    kinds = ", ".join(dict.fromkeys(term.name.rpartition(": ")[2] for term in terms))
    return LimitTerm(
        name=f"{owner}: {count(len(terms), 'port')} together, {kinds}",
        bytes_per_s=sum(inputs.values()),
        inputs=inputs,
        source="; ".join(term.source for term in terms),
        formula=" + ".join(inputs),
        nominal=any(term.nominal for term in terms),
    )


MEASURED = (PciKind.NETWORK, PciKind.GPU, PciKind.NVME)


def node_limits(facts: NodeFacts) -> tuple[AnyLimit, ...]:
    """Memory of each package, socket to socket, each device to the root, all rails together, GPUs, floating point.

    Bytes per second and one direction, memory's aside, which is both together.
    """
    devices = [device for device in facts.pci if device.kind in MEASURED and not device.virtual_function]
    of = Carriers(facts)
    return (
        *memory_limits(facts),
        *socket_limits(facts),
        *(device_limit(device, of) for device in devices),
        *_rails(devices, of),
        *gpu_limits(facts),
        *_ways_to_adapters(facts, [device for device in devices if device.kind is PciKind.NETWORK], of),
        *compute_peaks(facts),
    )


def _ways_to_adapters(facts: NodeFacts, adapters: list[PciDevice], of: Carriers) -> Iterator[Limit | NoLimit]:
    """The way from each GPU to the adapters with ports that share most of it: every hop below what they share.

    Without a shared switch it leads through the processor, and one adapter counts, of the NUMA node of the GPU if there
    is one.
    """
    gpus = {gpu.address: gpu for gpu in facts.gpus}
    able = [adapter for adapter in adapters if adapter.path and _ports_of(adapter, of).terms]
    for device in facts.pci if able else ():
        if (gpu := gpus.get(device.address)) is None or not device.path:
            continue
        own = [hop.address for hop in device.path]
        shared = [shared_hops([hop.address for hop in adapter.path], own) for adapter in able]
        most = max(shared)
        near = [adapter for adapter, hops in zip(able, shared, strict=True) if hops == most]
        if not most:
            near = [next((one for one in near if one.numa_node == device.numa_node), near[0])]
        joint = f"below switch {own[most - 1]}" if most else "through the processor"
        term = host_term(gpu, of.node)
        for adapter in near:
            label = of.label(adapter)
            between = msgspec.structs.replace(device, path=device.path[most:-2])
            below = msgspec.structs.replace(adapter, path=adapter.path[most:])
            terms = Terms(terms=(term,)) if term else Terms(unknown=(f"{of.node} {gpu.label}: its link is not known",))
            terms += pcie_terms(between, of.node, gpu.label, MemoryAccess.READ) if between.path else Terms()
            terms += pcie_terms(below, of.node, label, MemoryAccess.READ) + _ports_of(adapter, of)
            yield least(f"{of.node} {gpu.label} > {label} {joint}", terms)


def _rails(devices: list[PciDevice], of: Carriers) -> tuple[Limit | NoLimit, ...]:
    """All network devices with active ports together, where there are two or more: added up as far as PCIe allows."""
    adapters = [(device, _ports_of(device, of)) for device in devices if device.kind is PciKind.NETWORK]
    active = [(device, ports.terms[0]) for device, ports in adapters if ports.terms]
    if len(active) < 2:
        return ()
    node = of.node
    labels = [of.label(device) for device, _ in active]
    flow = together(
        [
            Rail(name=label, bytes_per_s=term.bytes_per_s, links=link_rates(device, MemoryAccess.WRITE))
            for label, (device, term) in zip(labels, active, strict=True)
        ]
    )
    terms = [summed(f"{node} {', '.join(labels)}", tuple(term for _, term in active))]
    if flow.bytes_per_s < terms[0].bytes_per_s:
        terms.append(cut_term(node, flow))
    unknown = tuple(why for _, ports in adapters for why in ports.unknown)
    return (least(f"{node} {', '.join(labels)} together > root", Terms(terms=tuple(terms), unknown=unknown)),)


def cut_term(node: str, flow: RailFlow) -> LimitTerm:
    """What holds the rails back: links that are full, and ports below links that are not."""
    inputs = {f"cut_{number}": bytes_per_s for number, (_, bytes_per_s) in enumerate(flow.cut, start=1)}
    return LimitTerm(
        name=f"{node}: PCIe above several rails, full at {', '.join(name for name, _ in flow.cut)}",
        bytes_per_s=flow.bytes_per_s,
        inputs=inputs,
        source=f"PCIe links and ports of {node}, as in the limits of its devices",
        formula=" + ".join(inputs),
    )
