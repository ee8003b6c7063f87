"""Rules about PCIe: degraded links, missing devices, slots slower than their port, small packets, GPUs and adapters."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import combinations, takewhile
from operator import lt

from seatrial.limits.pcie import LinkState, PciLink, current, ends_agree, link_pairs, raw_bytes_per_s, trainable
from seatrial.model.facts import NodeFacts, PciDevice, PciKind
from seatrial.model.hca import PortState
from seatrial.model.units import link_rate
from seatrial.model.verdict import FindingKind
from seatrial.model.words import some
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.peers import fewer_items, items_differ, peer_values, peers_with_same

COUNTED = {PciKind.GPU: "GPUs", PciKind.NVME: "NVMe drives"}
"""Network adapters are left to the rules about their ports."""

SAME_RATE = 0.98
"""PCIe 2.0 x8 and 4X QDR both carry 32 Gb/s, PCIe 3.0 x4 carries 31.5: neither is a card in a wrong slot. The next
combination on the market, 40 Gb/s Ethernet on PCIe 3.0 x4, has 0.79 of what it needs."""


SWITCHED = ("PIX", "PXB")
"""Paths of `nvidia-smi topo` that leave no PCIe switch: through one, or through several."""
ACS_OVERRIDE = "pcie_acs_override="
"""Kernels with this patch and option divide IOMMU groups whatever the switches do."""
TRANSLATING = re.compile(r"(?:^|\s)(?:intel_iommu=on|amd_iommu=force\w{0,20}|iommu=force)(?=\s|,|$)")
MOST_NAMED = 4


def degraded_links(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Every link once, even if several functions of a card share it."""
    seen = set()
    for device in facts.pci:
        for link in [] if device.virtual_function else link_pairs(device.path):
            identity = link.upper.address if link.upper else link.name
            state, could = current(link), trainable(link)
            if identity not in seen and degraded(link, device.kind):
                seen.add(identity)
                name = device_name(device)
                clause = f"the PCIe link {link.name} ({name}) runs at {state}, where both ends support {could}"
                brief = f"PCIe link of {name}: {state}, both ends can {could}"
                yield Violation(node=node, clause=clause, key=(link.name, state, could), details=name, brief=brief)


def slow_links(readings: Readings) -> Iterator[Violation]:
    """Links below what both ends support, and slots of GPUs and drives with fewer lanes than the peers' have."""
    yield from on_each_node(degraded_links)(readings)
    yield from items_differ(slot_lanes, worse=lt)(readings)


def slot_lanes(facts: NodeFacts) -> dict[str, int | None]:
    """Device of a model -> lanes that every link of its path can have; a board that divides a slot has fewer there."""
    return {
        f"the number of lanes to {device.kind.value} device {device.address}{_model(device)}": min(widths)
        for device in facts.pci
        if device.kind in COUNTED
        and not device.virtual_function
        and (widths := [width for link in link_pairs(device.path) if (width := trainable(link).width)])
    }


def _model(device: PciDevice) -> str:
    """` (144d:a80a)`: vendor and device; empty where they are unknown."""
    return "" if device.vendor is None or device.device is None else f" ({device.vendor:04x}:{device.device:04x})"


def degraded(link: PciLink, kind: PciKind) -> bool:
    """Whether the link could be faster. The lesser of both ends' abilities counts: a card in an older slot is healthy.

    Nothing is claimed if an end is unknown or the ends report different states (one of them is emulated). The speed of
    a GPU's link is ignored: runtime power management lowers it while the GPU is idle.
    """
    if link.upper is None or not ends_agree(link):
        return False
    state, could = current(link), trainable(link)
    narrow = below(state.width, could.width)
    return narrow or (kind is not PciKind.GPU and below(state.transfers_per_s, could.transfers_per_s))


def below(rate: float | None, could: float | None) -> bool:
    """Whether both are known and the first is less."""
    return rate is not None and could is not None and rate < could


def device_name(device: PciDevice) -> str:
    """The name of its interface or, if it has none, its kind and address."""
    return device.names[0] if device.names else f"{device.kind.value} device {device.address}"


def reports_link_state(facts: NodeFacts) -> bool:
    """Whether the state of any link is known."""
    unknown = LinkState()
    return any(current(link) != unknown for device in facts.pci for link in link_pairs(device.path))


def lists_devices(facts: NodeFacts) -> bool:
    """Whether its bus can be read, with the identity of every device."""
    return facts.complete and bool(facts.pci) and all(None not in (each.vendor, each.device) for each in facts.pci)


def device_counts(facts: NodeFacts) -> Counter[str]:
    """The number of its devices, by kind: a new drive may be of another maker. Virtual functions come and go."""
    return Counter(
        f"the number of its {COUNTED[device.kind]}"
        for device in facts.pci
        if device.kind in COUNTED and not device.virtual_function
    )


def starved_ports(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Each card against its fastest active port alone: two ports that only together exceed the slot are a choice."""
    rates = port_rates(facts)
    for device in facts.pci:
        port, path = rates.get(device.address), path_rate(device)
        if port and path and not device.virtual_function and path < SAME_RATE * port:
            name = device_name(device)
            clause = (
                f"PCIe lets {link_rate(path)} through to {name} ({device.address}), whose port runs at "
                f"{link_rate(port)}"
            )
            brief = f"PCIe lets {link_rate(path)} to {name}, whose port runs at {link_rate(port)}"
            yield Violation(node=node, clause=clause, key=(device.address, path, port), details=name, brief=brief)


def port_rates(facts: NodeFacts) -> dict[str, float]:
    """PCI address -> data rate in bit/s of its fastest active port."""
    rates: dict[str, float] = {}
    for hca in facts.hcas:
        for port in hca.ports:
            if port.state is PortState.ACTIVE and port.data_bits_per_s:
                rates[hca.pci_address] = max(rates.get(hca.pci_address, 0.0), port.data_bits_per_s)
    for interface in facts.interfaces:
        if interface.state == "up" and interface.speed_bits_per_s and interface.pci_address:
            rates[interface.pci_address] = max(rates.get(interface.pci_address, 0.0), interface.speed_bits_per_s)
    rates.pop("", None)
    return rates


def path_rate(device: PciDevice) -> float | None:
    """bit/s after line encoding that the narrowest link of its path can train to; None if no link is known.

    What the links could do, since a link that runs below that is a finding of its own.
    """
    rates = []
    for link in link_pairs(device.path):
        could, now = trainable(link), current(link)
        state = could if link.upper is not None and None not in (could.transfers_per_s, could.width) else now
        rates.append(raw_bytes_per_s(state))
    rates_known = [rate for rate in rates if rate is not None]
    return 8 * min(rates_known) if rates_known else None


def small_payloads(readings: Readings) -> Iterator[Violation]:
    """Device by device, by its address."""
    for address, values, most in peer_values(readings, payloads):
        for node, value in values.items():
            if most is None or value >= most or value >= (supported := _supported(readings.facts[node], address)):
                continue
            clause = (
                f"PCIe device {address} sends at most {value} bytes in a packet, where its path supports "
                f"{supported} and most of its peers use {most}"
            )
            yield Violation(node=node, clause=clause, key=(address, value), details=(supported, most))


def payloads(facts: NodeFacts) -> dict[str, int]:
    """Address -> MaxPayload that is set, in bytes."""
    return {
        device.address: set_to for device in facts.pci if device.path and (set_to := device.path[-1].max_payload_bytes)
    }


def _supported(facts: NodeFacts, address: str) -> int:
    """MaxPayload that every hop of a device's path supports, in bytes; 0 where one does not report it."""
    paths = [device.path for device in facts.pci if device.address == address]
    return min(hop.max_payload_supported_bytes or 0 for path in paths for hop in path)


LEAST_READ_REQUEST = 512
"""Bytes; what kernels and firmwares set by default. A fast adapter that asks for less at a time waits for the bus."""
FAST_PORT = 100e9


def small_read_requests(readings: Readings) -> Iterator[Violation]:
    """Less than most peers ask for with the same device, or less than the default for a fast port."""
    for (address, _), values, most in peer_values(readings, read_requests):
        for node, value in values.items():
            fast = port_rates(readings.facts[node]).get(address, 0.0) >= FAST_PORT
            if most is not None and value < most:
                against = f"where most of its peers ask for {most}"
            elif fast and value < LEAST_READ_REQUEST:
                against = f"where the default is {LEAST_READ_REQUEST}"
            else:
                continue
            clause = f"PCIe device {address} asks for at most {value} bytes in a read request, {against}"
            yield Violation(node=node, clause=clause, key=(address, value), details=most)


def read_requests(facts: NodeFacts) -> dict[tuple[str, str], int]:
    """Address and model -> MaxReadReq that is set, in bytes."""
    return {
        (device.address, _model(device)): size
        for device in facts.pci
        if device.path and (size := device.path[-1].max_read_request_bytes)
    }


def adapter_places(facts: NodeFacts) -> dict[str, int | None]:
    """Adapter, or the fastest interface where it is not one of an adapter's -> NUMA node."""
    places = {f"the NUMA node of {hca.name}": hca.numa_node for hca in facts.hcas}
    interface = facts.fabric_interface
    if interface and interface.pci_address and all(hca.pci_address != interface.pci_address for hca in facts.hcas):
        numa = {device.address: device.numa_node for device in facts.pci}
        places[f"the NUMA node of {interface.name}"] = numa.get(interface.pci_address)
    return places


def same_places(facts: NodeFacts) -> Hashable:
    """What the numbers of NUMA nodes depend on: how the BIOS divides the sockets, and how many adapters there are."""
    return len(facts.hcas), facts.sockets, facts.numa_nodes


def switched_adapters(facts: NodeFacts) -> dict[str, tuple[str, ...]]:
    """GPU -> the adapters that are below the same PCIe switch or root port, by sysfs and by the driver's program.

    Empty where the node has no GPU or no adapter.
    """
    paths = {device.address: {hop.address for hop in device.path[:-1]} for device in facts.pci}
    hcas = {hca.name for hca in facts.hcas}
    below: dict[str, tuple[str, ...]] = {}
    for gpu in facts.gpus:
        above = paths.get(gpu.address, set())
        near = {hca.name for hca in facts.hcas if above & paths.get(hca.pci_address, set())}
        near |= {name for name, kind in gpu.paths.items() if name in hcas and kind in SWITCHED}
        below[gpu.label] = tuple(sorted(near))
    return below if hcas else {}


def apart_from_adapters(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """GPUs without an adapter below their switch: what they send crosses the processor's root complex."""
    apart = [label for label, near in switched_adapters(facts).items() if not near]
    if apart:
        clause = f"{some(apart, MOST_NAMED)} and the adapters are not below one PCIe switch"
        yield Violation(node=node, clause=clause, key="apart", details=tuple(apart))


def redirecting_switches(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """GPUs that the kernel keeps apart from GPUs and adapters below the same PCIe switch.

    Devices below one switch are in one IOMMU group unless all ports between them redirect what they send each other to
    the root complex (Access Control Services; Linux, drivers/pci/pci.c, pci_acs_enabled). Groups are made at boot.
    """
    gpus = {gpu.address for gpu in facts.gpus}
    apart = [
        f"{own} and {other}"
        for (one, own), (two, other) in combinations(_exchanging(facts), 2)
        if gpus & {one.address, two.address}
        and None not in (one.iommu_group, two.iommu_group)
        and one.iommu_group != two.iommu_group
        and _below_one_switch(one, two)
    ]
    if apart and ACS_OVERRIDE not in facts.settings.command_line:
        clause = f"below one PCIe switch and in different IOMMU groups: {some(apart, MOST_NAMED)}"
        yield Violation(node=node, clause=clause, key=tuple(apart))


def _exchanging(facts: NodeFacts) -> list[tuple[PciDevice, str]]:
    """GPUs and adapters on the bus, with their names, in the order of their addresses."""
    names = {hca.pci_address: hca.name for hca in facts.hcas} | {gpu.address: gpu.label for gpu in facts.gpus}
    return [(device, names[device.address]) for device in facts.pci if device.address in names]


def _below_one_switch(one: PciDevice, two: PciDevice) -> bool:
    """Whether two paths share a root port and the upstream port of a switch, and part then."""
    shared = zip(one.path[:-1], two.path[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda hops: hops[0].address == hops[1].address, shared)) > 1


def translating_iommu(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """An IOMMU that translates what GPUs and adapters write to each other, and so sends it through the root complex.

    The types of their IOMMU groups decide, and the kernel's command line where no type is known.
    """
    types = {name: device.iommu_type for device, name in _exchanging(facts) if device.iommu_type}
    line = facts.settings.command_line
    match = TRANSLATING.search(line)
    if translated := [name for name, kind in types.items() if kind.startswith("DMA")]:
        kinds = ", ".join(sorted({types[name] for name in translated}))
        clause = f"the IOMMU translates the addresses of {some(translated, MOST_NAMED)} (type {kinds})"
        yield Violation(node=node, clause=clause, key=tuple(translated))
    elif facts.gpus and match and not types and "iommu=pt" not in line.split():
        clause = f"the kernel was started with {match[0].strip()} and without iommu=pt"
        yield Violation(node=node, clause=clause, key=match[0])


PCIE = (
    Rule(
        kind=FindingKind.PCIE_LINK_DEGRADED,
        order=10,
        look=slow_links,
        knows=reports_link_state,
        remedy="Reseat the card and clean the slot; check risers and cables, and the speed and lanes that the BIOS "
        "allows the slot (lspci -vv: LnkCap against LnkSta). If the link still trains low, replace the card or the "
        "board.",
    ),
    Rule(
        kind=FindingKind.DEVICE_MISSING,
        order=80,
        look=fewer_items(device_counts, whole=lists_devices),
        remedy="Search the kernel's log for a device that fell off the bus (dmesg: AER, Xid 79, link down) and the "
        "BMC's log; power the node off and on, then reseat the device. If it stays away, it is dead or its power cable "
        "is loose.",
    ),
    Rule(
        kind=FindingKind.PCIE_STARVES_PORT,
        order=90,
        look=on_each_node(starved_ports),
        knows=lambda facts: bool(port_rates(facts)) and bool(facts.pci),
        remedy="Move the card to a slot with more lanes or of a newer generation that its processor feeds directly: "
        "lspci -vv, LnkCap of the card and of the port above it, and the board's manual.",
    ),
    Rule(
        kind=FindingKind.ADAPTER_PLACE_DIFFERS,
        order=95,
        look=items_differ(adapter_places, groups=peers_with_same(same_places), moving=True),
        remedy="Put the card into the same slot as on the other nodes, or set the BIOS as there: ranks and threads "
        "that are bound near the adapter elsewhere are far from it here, and messages cross to another NUMA node.",
    ),
    Rule(
        kind=FindingKind.PCIE_READ_REQUEST_SMALL,
        order=305,
        look=small_read_requests,
        remedy="Set MaxReadReq as on the other nodes, in the BIOS or by setpci (lspci -vv: DevCtl), and let the kernel "
        "keep it (pci=pcie_bus_perf sets it, too); vendors of fast adapters recommend 4096 bytes. What an adapter "
        "sends, it reads from memory in such requests.",
    ),
    Rule(
        kind=FindingKind.PCIE_PAYLOAD_SMALL,
        order=300,
        look=small_payloads,
        remedy="Let the kernel set it alike on the whole path (boot with pci=pcie_bus_perf or pcie_bus_safe), or set "
        "MaxPayload in the BIOS as on the other nodes. At 128 bytes a sixth of the link is headers, at 256 a twelfth.",
    ),
)

GPU_NOTES = (
    Rule(
        kind=FindingKind.GPU_ADAPTER_APART,
        order=925,
        look=on_each_node(apart_from_adapters),
        knows=lambda facts: bool(switched_adapters(facts)),
        remedy="Nothing where the board has no such switch. Else compare the slots with the board's manual: "
        "`lspci -tv` shows a GPU and an adapter that are below one switch, `nvidia-smi topo -m` PIX or PXB for them.",
    ),
    Rule(
        kind=FindingKind.ACS_REDIRECTS,
        order=929,
        look=on_each_node(redirecting_switches),
        knows=lambda facts: any(device.iommu_group is not None for device in facts.pci),
        remedy="Unless virtual machines share the node, switch ACS off on the ports of these switches: in the BIOS, by "
        "pci=disable_acs_redir= on the kernel's command line, or by setpci at each boot. The groups stay as they were "
        "at boot: lspci -vv as root (ACSCtl: ReqRedir+) shows what holds now.",
    ),
    Rule(
        kind=FindingKind.IOMMU_TRANSLATES,
        order=930,
        look=on_each_node(translating_iommu),
        knows=lambda facts: bool(facts.gpus),
        remedy="Start the kernel with iommu=pt unless virtual machines need translation: else what GPUs and adapters "
        "send each other goes through the root complex.",
    ),
)
