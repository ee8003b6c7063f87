"""Rules about GPUs: faults that they report, missing ones, links, slowdowns, settings, software, and their adapters."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, takewhile

from seatrial.limits.gpus import COMPUTING
from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciKind
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, some
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.pcie import degraded_links
from seatrial.rules.peers import compare_values, fewer_items, items_differ, known

HARDWARE_SLOWDOWNS = {
    "hw_slowdown": "the hardware halves its clock or more",
    "hw_thermal_slowdown": "the hardware lowers its clock for its temperature",
    "hw_power_brake_slowdown": "the power supply asks for less (power brake)",
    "sw_thermal_slowdown": "the driver lowers its clock for its temperature",
}
"""Active reasons that are faults; power caps and idle clocks are not."""
SWITCHED = ("PIX", "PXB")
"""Paths of `nvidia-smi topo` that leave no PCIe switch: through one, or through several."""
NVIDIA, AMD = 0x10DE, 0x1002
ACS_OVERRIDE = "pcie_acs_override="
"""Kernels with this patch and option divide IOMMU groups whatever the switches do."""
TRANSLATING = re.compile(r"(?:^|\s)(?:intel_iommu=on|amd_iommu=force\w{0,20}|iommu=force)(?=\s|,|$)")
MOST_NAMED = 4


def faults(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """What GPUs report of themselves: memory errors, rows to be replaced, a reset that is needed."""
    for gpu in facts.gpus:
        for broken, what, remedy in (
            (gpu.uncorrected_errors, f"{count(gpu.uncorrected_errors or 0, 'uncorrected memory error')}",
             "Drain the node and reset the GPU (nvidia-smi -r, or restart); if the errors return, replace it."),
            (gpu.repair_failed, "no spare rows are left to replace broken memory", "Replace the GPU."),
            (gpu.repair_pending, "memory waits for a reset to be replaced by spare rows",
             "Drain the node and reset the GPU (nvidia-smi -r), or restart the node."),
            (gpu.lost, "the driver does not reach it", "Search the kernel's log for Xid 79 (fallen off the bus), drain "
             "and restart the node; if it returns, try the GPU in another slot (`seatrial swap start`)."),
            (gpu.reset_required, "it needs a reset", "Drain the node and reset the GPU, or restart the node."),
        ):  # fmt: skip
            if broken:
                yield Violation(node=node, clause=f"{gpu.label}: {what}", key=(gpu.label, what), remedy=remedy)


def missing(readings: Readings) -> Iterator[Violation]:
    """GPUs that the bus has or the driver counts and the driver's program does not list, and GPUs that peers have.

    A text alone (`nvidia-smi -q -x -i 0`) may leave GPUs out: it counts only beside the bus.
    """
    lacking = set()
    for node, facts in readings.facts.items():
        listed = {gpu.address for gpu in facts.gpus}
        lost = [device.address for device in facts.pci if _is_gpu(device, facts.gpus) and device.address not in listed]
        if lost and listed:
            lacking.add(node)
            which = some(lost, MOST_NAMED)
            clause = (
                f"the driver lists {len(listed)} of {count(len(listed) + len(lost), 'GPU')} on the bus: not {which}"
            )
            yield Violation(node=node, clause=clause, key=tuple(lost))
        elif facts.pci and len(listed) < (facts.attached_gpus or 0):
            lacking.add(node)
            clause = f"the driver counts {count(facts.attached_gpus or 0, 'GPU')} and describes {len(listed)}"
            yield Violation(node=node, clause=clause, key="attached")
    for violation in fewer_items(_counts, readings, whole=lambda facts: bool(facts.gpus)):
        if violation.node not in lacking:
            yield violation


def _is_gpu(device: PciDevice, gpus: tuple[Gpu, ...]) -> bool:
    """Whether a device is a GPU of the vendor whose program lists GPUs here."""
    vendor = AMD if any("Instinct" in gpu.name or "Radeon" in gpu.name for gpu in gpus) else NVIDIA
    compute = device.class_code is not None and device.class_code >> 8 in COMPUTING
    return device.kind is PciKind.GPU and device.vendor == vendor and compute and not device.virtual_function


def _counts(facts: NodeFacts) -> Counter[str]:
    return Counter(f"the number of GPUs {gpu.name}" for gpu in facts.gpus)


def links(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """PCIe below what GPU and slot can do, while a program uses the GPU: an idle one lowers its link."""
    narrow = {str(violation.details) for violation in degraded_links(node, facts)}
    names = {device.address: device.names for device in facts.pci}
    for gpu in facts.gpus:
        own = (f"gpu device {gpu.address}", *names.get(gpu.address, ()))
        if not gpu.under_load or narrow.intersection(own):
            continue
        slow = _below(gpu.link_generation, gpu.link_generation_max)
        if slow or _below(gpu.link_width, gpu.link_width_max):
            could = _link(gpu.link_generation_max, gpu.link_width_max)
            state = f"{_link(gpu.link_generation, gpu.link_width)}, where it could at {could}"
            clause = f"{gpu.label} is under load and its PCIe link runs at {state}"
            yield Violation(node=node, clause=clause, key=(gpu.label, state))


def _below(present: int | None, most: int | None) -> bool:
    return present is not None and most is not None and present < most


def _link(generation: int | None, width: int | None) -> str:
    return f"generation {generation or '?'} x{width or '?'}"


def inactive_links(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """NVLinks that are down beside others of the same GPU that are up."""
    for gpu in facts.gpus:
        down = [str(number) for number, rate in enumerate(gpu.nvlinks) if not rate]
        if down and len(down) < len(gpu.nvlinks):
            links = f"{len(down)} of {count(len(gpu.nvlinks), 'NVLink')}"
            clause = f"{gpu.label}: {links} are inactive ({some(down, MOST_NAMED)})"
            yield Violation(node=node, clause=clause, key=(gpu.label, tuple(down)))


def slowdowns(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Clocks that hardware or heat lowers at this moment."""
    for gpu in facts.gpus:
        for reason in gpu.slowdowns:
            if reason in HARDWARE_SLOWDOWNS:
                degrees = "" if gpu.temperature_celsius is None else f", at {gpu.temperature_celsius:.0f} °C"
                clause = f"{gpu.label}: {HARDWARE_SLOWDOWNS[reason]} ({reason}{degrees})"
                yield Violation(node=node, clause=clause, key=(gpu.label, reason), details=degrees)


def without_persistence(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """GPUs that the driver releases whenever no program uses them."""
    off = [gpu.label for gpu in facts.gpus if gpu.persistence is False]
    if off:
        named = "every GPU" if len(off) == len(facts.gpus) else some(off, MOST_NAMED)
        yield Violation(node=node, clause=f"persistence mode is off for {named}", key="persistence")


def unlike_settings(readings: Readings) -> Iterator[Violation]:
    """Power limits, clocks, ECC and MIG: GPU by GPU beside the peers' nodes, and beside the node's other GPUs."""
    beside_peers = list(items_differ(_settings)(readings))
    yield from beside_peers
    compared = {(violation.node, violation.key) for violation in beside_peers}
    for node, facts in readings.facts.items():
        for model in dict.fromkeys(gpu.name for gpu in facts.gpus):
            alike = [gpu for gpu in facts.gpus if gpu.name == model]
            for place, (what, _) in enumerate(_of_gpu(alike[0])):
                values = known((gpu.label, _of_gpu(gpu)[place][1]) for gpu in alike)
                for violation in compare_values(values, what):
                    own = (f"{what} of {violation.node}", values.get(violation.node or ""))
                    if violation.node is not None and (node, own) not in compared:
                        clause = f"{violation.node}: {violation.clause.replace('its peers', 'the GPUs')}"
                        yield Violation(node=node, clause=clause, key=("within", violation.node, what))


def _of_gpu(gpu: Gpu) -> tuple[tuple[str, str | None], ...]:
    """Settings of one GPU with their names."""
    clock, most = gpu.clock_application_hz, gpu.clock_max_hz
    return (
        ("the power limit", None if gpu.power_limit_w is None else f"{gpu.power_limit_w:.0f} W"),
        ("the clock for programs", None if clock is None else f"{clock / 1e6:.0f} MHz"),
        ("the highest clock", None if most is None else f"{most / 1e6:.0f} MHz"),
        ("ECC", None if gpu.ecc is None else "on" if gpu.ecc else "off"),
        ("MIG", None if gpu.mig is None else "on" if gpu.mig else "off"),
    )


def _settings(facts: NodeFacts) -> dict[str, str | None]:
    return {f"{what} of {gpu.label}": value for gpu in facts.gpus for what, value in _of_gpu(gpu)}


def _software(facts: NodeFacts) -> dict[str, str | None]:
    """Versions of the driver once, and of firmware and VBIOS for each GPU."""
    versions: dict[str, str | None] = {"the driver of the GPUs": facts.gpus[0].driver} if facts.gpus else {}
    for gpu in facts.gpus:
        versions |= {f"the firmware of {gpu.label}": gpu.firmware, f"the VBIOS of {gpu.label}": gpu.vbios}
    return versions


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


def _paths(facts: NodeFacts) -> dict[str, str | None]:
    return {
        f"the adapters below one switch with {label}": ", ".join(near) or "none"
        for label, near in switched_adapters(facts).items()
    }


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


def has_gpus(facts: NodeFacts) -> bool:
    """Whether the driver's program listed GPUs."""
    return bool(facts.gpus)


GPU_SLOWED = Rule(
    kind=FindingKind.GPU_SLOWED,
    order=141,
    look=on_each_node(slowdowns),
    knows=has_gpus,
    remedy="Look at its temperature and power (nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE), at fans, air flow "
    "and dust, and at the cables and the redundancy of the power supplies.",
)

GPUS = (
    Rule(
        kind=FindingKind.GPU_FAULT,
        order=12,
        look=on_each_node(faults),
        knows=has_gpus,
        remedy="Drain the node and reset the GPU; if it returns, replace the GPU.",
    ),
    Rule(
        kind=FindingKind.GPU_MISSING,
        order=14,
        look=missing,
        knows=has_gpus,
        remedy="Search the kernel's log for the reason (dmesg: NVRM, Xid 79, fallen off the bus, amdgpu) and restart "
        "the node; if the GPU stays away, reseat it, then try another slot (`seatrial swap start`).",
    ),
    GPU_SLOWED,
    Rule(
        kind=FindingKind.GPU_LINK_DEGRADED,
        order=11,
        look=on_each_node(links),
        knows=has_gpus,
        remedy="Reseat the GPU and clean the slot; check riser and cables, and what the BIOS allows the slot. If the "
        "link still trains low, find out whether card or slot is at fault: `seatrial swap start`.",
    ),
    Rule(
        kind=FindingKind.NVLINK_DOWN,
        order=13,
        look=on_each_node(inactive_links),
        knows=lambda facts: any(gpu.nvlinks for gpu in facts.gpus),
        remedy="Check the fabric manager (systemctl status nvidia-fabricmanager) and the kernel's log (Xid 74), then "
        "restart the node. Bridges between cards must be seated; else the GPU or its board is at fault.",
    ),
    Rule(
        kind=FindingKind.GPU_PATH_DIFFERS,
        order=96,
        look=items_differ(_paths),
        knows=lambda facts: bool(switched_adapters(facts)),
        remedy="Put GPUs and adapters into the same slots as on the other nodes: what a GPU sends to an adapter that "
        "is not below its switch crosses the processor.",
    ),
    Rule(
        kind=FindingKind.GPU_PERSISTENCE_OFF,
        order=306,
        look=on_each_node(without_persistence),
        knows=lambda facts: any(gpu.persistence is not None for gpu in facts.gpus),
        remedy="Enable the service nvidia-persistenced, or nvidia-smi -pm 1: without it each first program waits "
        "seconds for the driver, and settings and error counters are lost in between.",
    ),
    Rule(
        kind=FindingKind.GPU_SETTINGS_DIFFER,
        order=307,
        look=unlike_settings,
        knows=has_gpus,
        remedy="Set it as on the others: nvidia-smi -pl (power), -ac or -lgc (clocks), -e (ECC), -mig; and find what "
        "sets it at the start of the node or of jobs.",
    ),
    Rule(
        kind=FindingKind.GPU_SOFTWARE_DIFFERS,
        order=451,
        look=items_differ(_software),
        knows=has_gpus,
        remedy="Install the same driver on all nodes and restart; let the vendor bring VBIOS and firmware to one "
        "version.",
    ),
)

GPU_NOTES = (
    Rule(
        kind=FindingKind.GPU_ADAPTER_APART,
        order=925,
        look=on_each_node(apart_from_adapters),
        knows=lambda facts: bool(switched_adapters(facts)),
        remedy="Nothing where the board has no such switch. Else compare the slots with the board's manual: "
        "`nvidia-smi topo -m` shows PIX or PXB for a GPU and an adapter below one switch.",
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
        knows=has_gpus,
        remedy="Start the kernel with iommu=pt unless virtual machines need translation: else what GPUs and adapters "
        "send each other goes through the root complex.",
    ),
)
