"""Text about one node's adapters, interfaces, GPUs and NVMe, and of their way to the processor."""

from collections.abc import Iterator

from seatrial.drift.fact_words import lane_speed
from seatrial.limits.pcie import state_of
from seatrial.model import units
from seatrial.model.facts import Gpu, NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind
from seatrial.model.hca import Hca, Port
from seatrial.model.words import count
from seatrial.render.fact_text import used_interfaces

Row = tuple[str, str]


def devices(facts: NodeFacts) -> Iterator[Row]:
    """Adapters with their ports, interfaces that are in use, GPUs and NVMe; each with its way to the processor."""
    by_address = {each.address: each for each in facts.pci}
    shown: set[str] = set()
    for hca in facts.hcas:
        yield hca.name, _hca(hca)
        for port in hca.ports:
            yield "", f"port {port.number}: {_port(port)}"
        yield from _path(by_address.get(hca.pci_address))
        shown.add(hca.pci_address)
    for interface in used_interfaces(facts):
        yield interface.name, _interface(interface)
        if interface.pci_address not in shown:
            yield from _path(by_address.get(interface.pci_address))
            shown.add(interface.pci_address)
    for device in facts.pci:
        if device.address not in shown and device.kind in (PciKind.GPU, PciKind.NVME, PciKind.NETWORK):
            yield device_name(device), _device(device)
            yield from _path(device)
    for gpu in facts.gpus:
        yield gpu.label, _gpu(gpu)


def device_name(device: PciDevice) -> str:
    """What the kernel calls it, else what it is and where."""
    return device.names[0] if device.names else f"{device.kind.value} {device.address}"


def hop_text(hop: PciHop) -> str:
    """0000:01:00.0 8 GT/s x8 of 16 GT/s x16, packets 256 of 512 B."""
    words = (_speed(hop.current_transfers_per_s), _width(hop.current_width))
    if hop.current_bytes_per_s is not None and not any(words):
        words = (str(state_of(hop)), "")
    state = " ".join(filter(None, words)) or "link not reported"
    most = " ".join(filter(None, (_speed(hop.max_transfers_per_s), _width(hop.max_width))))
    parts = [f"{hop.address} {state}" + (f" of {most}" if most else "")]
    if hop.max_payload_bytes is not None:
        can = hop.max_payload_supported_bytes
        parts.append(f"packets {hop.max_payload_bytes}" + (f" of {can} B" if can is not None else " B"))
    if hop.max_read_request_bytes is not None:
        parts.append(f"reads {hop.max_read_request_bytes} B")
    parts += [f"{count(total, f'{kind} error')} since boot" for kind, total in hop.errors.items() if total]
    return ", ".join(parts)


def _path(device: PciDevice | None) -> Iterator[Row]:
    """The hops from the root port down, one a line."""
    if device is not None:
        for depth, hop in enumerate(device.path):
            yield "", f"{'PCIe ' if depth == 0 else 'then '}{hop_text(hop)}"


def _hca(hca: Hca) -> str:
    parts = [
        hca.hca_type,
        f"driver {hca.driver}" if hca.driver else "",
        f"firmware {hca.firmware}" if hca.firmware else "",
        f"board {hca.board_id}" if hca.board_id else "",
        f"NUMA node {hca.numa_node}" if hca.numa_node is not None else "",
        f"PCI {hca.pci_address}" if hca.pci_address else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing reported"


def _port(port: Port) -> str:
    manager = {None: "", 0: "no subnet manager has been here"}.get(
        port.subnet_manager_lid, f"subnet manager at LID {port.subnet_manager_lid}"
    )
    parts = [
        str(port.family),
        "state not reported" if port.state is None else str(port.state),
        port.physical_state,
        port.rate_text or "rate not reported",
        f"MTU {port.mtu_bytes}" if port.mtu_bytes is not None else "",
        manager if str(port.link_layer) != "Ethernet" else "",
        f"as {', '.join(port.interfaces)}" if port.interfaces else "",
    ]
    return ", ".join(filter(None, parts))


def _interface(interface: NetworkInterface) -> str:
    parts = [
        interface.state,
        "no carrier" if interface.carrier is False else "",
        units.link_rate(interface.speed_bits_per_s) if interface.speed_bits_per_s is not None else "speed not reported",
        f"{interface.duplex} duplex" if interface.duplex and interface.duplex != "unknown" else "",
        f"MTU {interface.mtu_bytes}" if interface.mtu_bytes is not None else "",
        f"driver {interface.driver}" if interface.driver else "",
        f"on {', '.join(interface.lower)}" if interface.lower else "",
    ]
    return ", ".join(filter(None, parts))


def _device(device: PciDevice) -> str:
    parts = [
        device.kind.value,
        f"{device.vendor:04x}:{device.device:04x}" if device.vendor is not None and device.device is not None else "",
        f"driver {device.driver}" if device.driver else "",
        f"NUMA node {device.numa_node}" if device.numa_node is not None else "",
        "virtual function" if device.virtual_function else "",
        f"IOMMU group {device.iommu_group} {device.iommu_type}".rstrip() if device.iommu_group is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _gpu(gpu: Gpu) -> str:
    """The GPU in the words of its driver: model, versions, memory, link, power, clocks, and what is unusual."""
    up = sum(rate > 0 for rate in gpu.nvlinks)
    flags = (("persistence mode", gpu.persistence), ("ECC", gpu.ecc), ("MIG", gpu.mig))
    link = f"PCIe generation {gpu.link_generation} x{gpu.link_width}" if gpu.link_generation and gpu.link_width else ""
    most = gpu.link_generation_max and gpu.link_width_max
    parts = [
        gpu.name,
        gpu.address,
        f"driver {gpu.driver}" if gpu.driver else "",
        f"VBIOS {gpu.vbios}" if gpu.vbios else "",
        units.size(gpu.memory_bytes) if gpu.memory_bytes else "",
        link + (f" of {gpu.link_generation_max} x{gpu.link_width_max}" if link and most else ""),
        f"{up} of {count(len(gpu.nvlinks), 'NVLink')} active" if gpu.nvlinks else "",
        f"power limit {gpu.power_limit_w:.0f} W" if gpu.power_limit_w else "",
        *(f"{name} {'on' if flag else 'off'}" for name, flag in flags if flag is not None),
        f"slowed: {', '.join(gpu.slowdowns)}" if gpu.slowdowns else "",
        count(gpu.uncorrected_errors, "uncorrected memory error") if gpu.uncorrected_errors else "",
        f"adapters {', '.join(f'{name} {path}' for name, path in gpu.paths.items() if not name.startswith('GPU'))}"
        if any(not name.startswith("GPU") for name in gpu.paths)
        else "",
    ]
    return ", ".join(filter(None, parts))


def _speed(transfers_per_s: float | None) -> str:
    return "" if transfers_per_s is None else lane_speed(transfers_per_s)


def _width(lanes: int | None) -> str:
    return "" if lanes is None else f"x{lanes}"
