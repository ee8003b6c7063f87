"""What-if changes of nodes: other ports, more adapters, other slots and other memory, put into the facts of a machine.

The limits of the changed facts are computed like those of a real node, so a change can only raise a limit up to the
next term that binds.
"""

import re
from collections.abc import Mapping

import msgspec

from seatrial.limits.microarchitectures import CHANNEL_BYTES, recognise
from seatrial.limits.path import with_capacity
from seatrial.limits.ports import node_ports
from seatrial.model.errors import UsageError
from seatrial.model.facts import Dimm, MemoryFacts, NodeFacts, PciDevice, PciHop
from seatrial.model.hca import LANES, Port, PortFamily, data_bits_per_s
from seatrial.model.unit_text import rate_of

GENERATIONS = {"1.0": 2.5e9, "2.0": 5e9, "3.0": 8e9, "4.0": 16e9, "5.0": 32e9, "6.0": 64e9}
"""Generation of PCIe -> transfers per second and lane (PCI Express Base Specification, 4.2 of each revision)."""
WIDTHS = (1, 2, 4, 8, 16)
FULL_LANES = 4
MOST_ADAPTERS = 16
"""Adapters that a node gets at most: more than any board has slots for."""
MTUS = (256, 512, 1024, 2048, 4096)
"""The sizes of InfiniBand's MTU."""
LEAST_MTU, MOST_MTU = 576, 9216
"""The range of Ethernet's MTU; more than its standard's 1500 if switches permit it."""
ETHERNET = re.compile(r"([0-9.]+)G")
"""2.5G, 100G: the rate of an Ethernet port, however it was written."""
SLOWEST_ETHERNET, FASTEST_ETHERNET = 1e6, 1.6e12
"""Plausible bits per second: StarLAN, and the fastest rate of IEEE 802.3."""
SLOWEST_MEMORY, FASTEST_MEMORY = 200, 20000
"""Plausible MT/s: DDR began at 200, and MR-DIMMs reach 12800."""
CHANGE = re.compile(r"(?:(port|pcie|memory|mtu)=([0-9a-z./]+)|(hca)\+([0-9]{1,2}))", re.IGNORECASE)
EXAMPLES = "Write port=FDR, port=100G, hca+1, pcie=3.0x16, memory=2400 or mtu=9000."


class HardwareChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that would be different, as it was written: `part` and its new value, or how many more of it."""

    part: str
    value: str

    def __str__(self) -> str:
        """The way in which the option takes it."""
        return f"{self.part}+{self.value}" if self.part == "hca" else f"{self.part}={self.value}"


def parse_change(text: str, what: str) -> HardwareChange:
    """`port=FDR`, `hca+1`, `pcie=3.0x16`, `memory=2400`, `mtu=9000`. `what`: the option. Raises UsageError."""
    match = CHANGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{what} {text!r} is not a change that can be computed.", EXAMPLES)
    part, written = (match[1] or match[3]).lower(), match[2] or match[4]
    value = _port_text(written) if part == "port" else written.upper()
    if not value:
        raise UsageError(
            f"{what} {text!r} is neither a speed of InfiniBand nor a rate of Ethernet.",
            f"InfiniBand has {', '.join(LANES)}; of Ethernet write 100G.",
        )
    if part == "pcie":
        value = _pcie_text(value.lower())
    valid = {
        "port": True,
        "pcie": bool(value),
        "memory": value.isdigit() and SLOWEST_MEMORY <= int(value) <= FASTEST_MEMORY,
        "mtu": value.isdigit() and (int(value) in MTUS or LEAST_MTU <= int(value) <= MOST_MTU),
        "hca": value.isdigit() and 1 <= int(value) <= MOST_ADAPTERS,
    }
    if not valid[part]:
        raise UsageError(f"{what} {text!r} is not a value that it can have.", EXAMPLES)
    return HardwareChange(part=part, value=value)


def _port_text(value: str) -> str:
    """FDR; of 1gbit, 1Gb/s or 1G the last; empty for what no port runs at."""
    if value.upper() in LANES:
        return value.upper()
    bits = 8 * (rate_of(value) or 0.0)
    return f"{bits / 1e9:g}G" if SLOWEST_ETHERNET <= bits <= FASTEST_ETHERNET else ""


def _pcie_text(value: str) -> str:
    """3.0x16, 3x16, 3.0 or x16 with the generation written in full; empty for any other."""
    generation, _, width = value.partition("x")
    generation = f"{generation}.0" if generation and "." not in generation else generation
    valid = (not generation or generation in GENERATIONS) and (width in map(str, WIDTHS) if "x" in value else True)
    return f"{generation}{f'x{width}' if width else ''}" if valid else ""


def changed_nodes(facts: Mapping[str, NodeFacts], changes: tuple[HardwareChange, ...]) -> dict[str, NodeFacts]:
    """Every node with all changes, in their order. Raises UsageError for a change that alters none of them."""
    nodes = dict(facts)
    for change in changes:
        after = {name: changed(node, change) for name, node in nodes.items()}
        if after == nodes:
            raise UsageError(f"--what-if {change} changes none of the nodes: {_why_not(change)}.", EXAMPLES)
        nodes = after
    return nodes


def _why_not(change: HardwareChange) -> str:
    """Why a change alters none of the nodes."""
    if change.part == "memory":
        return "they run at that rate, or their channels and speeds are not known"
    if change.part == "pcie":
        return "the links of their adapters run like that, or are not known"
    return (
        "they have no active port of an adapter"
        if change.part == "hca"
        else "no port of them can, or all are like that"
    )


def changed(facts: NodeFacts, change: HardwareChange) -> NodeFacts:
    """One node with one change; as it was where it has no such part."""
    match change.part:
        case "port" if ethernet := ETHERNET.fullmatch(change.value):
            return _with_interfaces(facts, speed_bits_per_s=float(ethernet[1]) * 1e9)
        case "port":
            return _with_ports(facts, speed_name=change.value)
        case "mtu":
            mtu = int(change.value)
            with_ports = _with_ports(facts, mtu_bytes=mtu) if mtu in MTUS else facts
            return _with_interfaces(with_ports, mtu_bytes=mtu) if mtu >= LEAST_MTU else with_ports
        case "hca":
            return _with_more_adapters(facts, int(change.value))
        case "pcie":
            return _with_slots(facts, change.value)
        case _:
            return _with_memory(facts, int(change.value) * 1e6)


def _with_ports(facts: NodeFacts, **values: str | int) -> NodeFacts:
    """All active InfiniBand ports with these values; a port that has lost lanes gets them back with its new speed."""
    hcas = tuple(
        msgspec.structs.replace(
            hca,
            ports=tuple(
                _port_with(port, **values) if port.active and port.family is PortFamily.INFINIBAND else port
                for port in hca.ports
            ),
        )
        for hca in facts.hcas
    )
    return msgspec.structs.replace(facts, hcas=hcas)


def _with_interfaces(facts: NodeFacts, **values: float) -> NodeFacts:
    """All Ethernet interfaces that are up with these values."""
    ethernet = {interface.name for interface in facts.ethernet_interfaces if interface.state == "up"}
    return msgspec.structs.replace(
        facts,
        interfaces=tuple(
            msgspec.structs.replace(interface, **values) if interface.name in ethernet else interface
            for interface in facts.interfaces
        ),
    )


def _port_with(port: Port, **values: str | int) -> Port:
    after = msgspec.structs.replace(port, **values)
    if "speed_name" not in values:
        return after
    width = max(port.width or 0, FULL_LANES)
    return msgspec.structs.replace(after, width=width, data_bits_per_s=data_bits_per_s(width, after.speed_name))


def _with_more_adapters(facts: NodeFacts, number: int) -> NodeFacts:
    """More adapters like the one that lets most through, each below a root port of its own."""
    best = max(with_capacity(node_ports(facts)), key=lambda each: each[0], default=None)
    if best is None:
        return facts
    model, devices = best[1].hca, {device.address: device for device in facts.pci}
    hcas, pci = list(facts.hcas), list(facts.pci)
    for again in range(1, number + 1):
        name = _free_name(model.name, {hca.name for hca in hcas})
        address = f"{model.pci_address}+{again}" if model.pci_address else ""
        ports = tuple(msgspec.structs.replace(port, interfaces=()) for port in model.ports)
        hcas.append(msgspec.structs.replace(model, name=name, pci_address=address, ports=ports))
        if device := devices.get(model.pci_address):
            path = tuple(msgspec.structs.replace(hop, address=f"{hop.address}+{again}") for hop in device.path)
            pci.append(msgspec.structs.replace(device, address=address, names=(name,), path=path))
    return msgspec.structs.replace(facts, hcas=tuple(hcas), pci=tuple(pci))


def _free_name(name: str, taken: set[str]) -> str:
    """The next name of this kind that is free: mlx5_1 beside mlx5_0."""
    stem = name.rstrip("0123456789")
    return next(each for number in range(len(taken) + 1) if (each := f"{stem}{number}") not in taken)


def _with_slots(facts: NodeFacts, value: str) -> NodeFacts:
    """The links of all adapters with an active port at another generation, another width, or both."""
    generation, _, width = value.partition("x")
    addresses = {port.hca.pci_address for port in node_ports(facts)}
    addresses |= {interface.pci_address for interface in facts.ethernet_interfaces}
    pci = tuple(
        _in_slot(device, GENERATIONS.get(generation), int(width) if width else None)
        if device.address in addresses
        else device
        for device in facts.pci
    )
    return msgspec.structs.replace(facts, pci=pci)


def _in_slot(device: PciDevice, transfers_per_s: float | None, width: int | None) -> PciDevice:
    def trained(hop: PciHop) -> PciHop:
        speed, lanes = transfers_per_s or hop.current_transfers_per_s, width or hop.current_width
        product = None if speed and lanes else hop.current_bytes_per_s
        return msgspec.structs.replace(
            hop, current_transfers_per_s=speed, current_width=lanes, current_bytes_per_s=product
        )

    return msgspec.structs.replace(device, path=tuple(trained(hop) for hop in device.path))


def _with_memory(facts: NodeFacts, transfers_per_s: float) -> NodeFacts:
    """All modules at that rate, or at the most that the processors of this line support; slots as they are filled.

    Where the modules could not be read, one on each channel of the table of processors.
    """
    line = recognise(facts)
    plain = None if line is None or line.has_memory_on_package or len(line.memory) > 1 else line.memory[0]
    most = plain.transfers_per_s if plain else transfers_per_s
    rate = min(transfers_per_s, most)
    dimms = facts.memory.dimms
    if dimms:
        again = tuple(
            msgspec.structs.replace(dimm, configured_transfers_per_s=rate, rated_transfers_per_s=transfers_per_s)
            if dimm.size_bytes and dimm.configured_transfers_per_s
            else dimm
            for dimm in dimms
        )
        return msgspec.structs.replace(facts, memory=msgspec.structs.replace(facts.memory, dimms=again))
    if plain is None or plain.bytes_per_transfer != CHANNEL_BYTES:
        return facts
    packages = facts.topology.packages or tuple(range(facts.sockets or 1))
    assumed = tuple(
        Dimm(
            locator=f"channel {channel}",
            channel=f"P{package} {channel}",
            size_bytes=1,
            kind=plain.kind,
            rated_transfers_per_s=transfers_per_s,
            configured_transfers_per_s=rate,
            package=package,
        )
        for package in packages
        for channel in range(plain.channels)
    )
    memory = MemoryFacts(dimms=assumed, source=f"assumed: all channels of {line.name if line else ''}")
    return msgspec.structs.replace(facts, memory=memory)
