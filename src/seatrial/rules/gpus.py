"""Rules about GPUs: faults that they report, missing ones, links, slowdowns, settings, software, and their adapters."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from seatrial.limits.gpus import COMPUTING
from seatrial.model.facts import Gpu, GpuVendor, NodeFacts, PciDevice, PciKind
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, some
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.pcie import below, degraded_links, switched_adapters
from seatrial.rules.peers import compare_values, differs, fewer_items, items_differ, known, peers_with_same

HARDWARE_SLOWDOWNS = {
    "hw_slowdown": "the hardware halves its clock or more",
    "hw_thermal_slowdown": "the hardware lowers its clock for its temperature",
    "hw_power_brake_slowdown": "the power supply asks for less (power brake)",
    "sw_thermal_slowdown": "the driver lowers its clock for its temperature",
    "prochot_violation": "a signal from outside lowers its clock (PROCHOT)",
    "socket_thermal_violation": "the hardware lowers its clock for its temperature",
    "vr_thermal_violation": "the hardware lowers its clock for the temperature of its voltage regulators",
    "hbm_thermal_violation": "the hardware lowers its clock for the temperature of its memory",
}
"""Active reasons that are faults; power caps and idle clocks are not."""
PCI_VENDORS = {GpuVendor.NVIDIA: 0x10DE, GpuVendor.AMD: 0x1002}


class VendorTools(NamedTuple):
    """What an administrator types for the GPUs of one vendor."""

    reset: str
    diagnostic: str
    lost: str
    """What the kernel's log says of a GPU that went away."""
    state: str
    setting: str


TOOLS = {
    GpuVendor.NVIDIA: VendorTools(
        reset="nvidia-smi -r",
        diagnostic="dcgmi diag -r 4",
        lost="Xid 79 (fallen off the bus)",
        state="nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE",
        setting="nvidia-smi -pl (power), -ac or -lgc (clocks), -e (ECC), -mig",
    ),
    GpuVendor.AMD: VendorTools(
        reset="amd-smi reset -G",
        diagnostic="rvs, or AGFHC",
        lost="amdgpu (GPU reset failed, device lost from bus)",
        state="amd-smi metric",
        setting="amd-smi set (--power-cap, --perf-level, --compute-partition, --memory-partition)",
    ),
}
MOST_NAMED = 4
SAME_MODELS = peers_with_same(lambda facts: tuple(gpu.name for gpu in facts.gpus))
"""Peers with the same models of GPUs in the same places."""
SETTER = "and find what sets it at the start of the node or of jobs."
SLOWED = "at fans, air flow and dust, and at the cables and the redundancy of the power supplies."


def faults(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """What GPUs report of themselves: memory errors, rows to be replaced, their fabric, a reset that is needed."""
    for gpu in facts.gpus:
        tools = TOOLS[gpu.vendor]
        for broken, what, remedy in (
            (gpu.uncorrected_errors, f"{count(gpu.uncorrected_errors or 0, 'uncorrected memory error')}",
             f"Drain the node and reset the GPU ({tools.reset}, or restart); if the errors return, replace it."),
            (gpu.repair_failed, "no spare rows are left to replace broken memory", "Replace the GPU."),
            (gpu.sram_worn, "uncorrected errors of its SRAM exceed the vendor's threshold",
             f"Drain the node, run the vendor's field diagnostic ({tools.diagnostic}) and have the GPU replaced."),
            (gpu.fabric_faults, f"its NVLink fabric reports: {', '.join(gpu.fabric_faults)}",
             "Read the log of the fabric manager (nvidia-fabricmanager, or that of the NVLink switches), then drain "
             "the node and reset its GPUs."),
            (gpu.repair_pending, "memory waits for a reset to be replaced by spare rows",
             f"Drain the node and reset the GPU ({tools.reset}), or restart the node."),
            (gpu.lost, "the driver does not reach it", f"Search the kernel's log for {tools.lost}, drain "
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
    fewer = fewer_items(
        lambda facts: Counter({"the number of its GPUs": len(facts.gpus)}), whole=lambda facts: bool(facts.gpus)
    )
    for violation in fewer(readings):
        if violation.node not in lacking:
            yield violation


def _is_gpu(device: PciDevice, gpus: tuple[Gpu, ...]) -> bool:
    """Whether a device is a GPU of the vendor whose program lists GPUs here."""
    vendors = {PCI_VENDORS[gpu.vendor] for gpu in gpus} or {PCI_VENDORS[GpuVendor.NVIDIA]}
    compute = device.class_code is not None and device.class_code >> 8 in COMPUTING
    return device.kind is PciKind.GPU and device.vendor in vendors and compute and not device.virtual_function


def links(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """PCIe below what GPU and slot can do, while a program uses the GPU: an idle one lowers its link."""
    narrow = {str(violation.details) for violation in degraded_links(node, facts)}
    names = {device.address: device.names for device in facts.pci}
    for gpu in facts.gpus:
        own = (f"gpu device {gpu.address}", *names.get(gpu.address, ()))
        if not gpu.under_load or narrow.intersection(own):
            continue
        slow = below(gpu.link_generation, gpu.link_generation_max)
        if slow or below(gpu.link_width, gpu.link_width_max):
            could = _link(gpu.link_generation_max, gpu.link_width_max)
            state = f"{_link(gpu.link_generation, gpu.link_width)}, where it could at {could}"
            clause = f"{gpu.label} is under load and its PCIe link runs at {state}"
            brief = f"PCIe link of {gpu.label} under load: {state}"
            yield Violation(node=node, clause=clause, key=(gpu.label, state), brief=brief)


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
                yield Violation(
                    node=node,
                    clause=clause,
                    key=(gpu.label, reason),
                    details=degrees,
                    remedy=f"Look at its temperature and power ({TOOLS[gpu.vendor].state}), {SLOWED}",
                )


def without_persistence(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """GPUs that the driver releases whenever no program uses them."""
    off = [gpu.label for gpu in facts.gpus if gpu.persistence is False]
    if off:
        named = "every GPU" if len(off) == len(facts.gpus) else some(off, MOST_NAMED)
        yield Violation(node=node, clause=f"persistence mode is off for {named}", key="persistence")


def unlike_settings(readings: Readings) -> Iterator[Violation]:
    """Power limits, clocks, ECC and MIG: GPU by GPU beside the peers' nodes, and beside the node's other GPUs."""
    beside_peers = list(items_differ(_settings, groups=SAME_MODELS)(readings))
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


def _settings_by_vendor(readings: Readings) -> Iterator[Violation]:
    """Settings that differ, each with the program of the vendor that sets them."""
    for violation in unlike_settings(readings):
        concerned = [facts for node, facts in readings.facts.items() if violation.node in (None, node)]
        vendors = dict.fromkeys(gpu.vendor for facts in concerned for gpu in facts.gpus)
        programs = "; ".join(TOOLS[vendor].setting for vendor in vendors)
        yield msgspec.structs.replace(violation, remedy=f"Set it as on the others: {programs}; {SETTER}")


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


def unlike_software(readings: Readings) -> Iterator[Violation]:
    """The driver once, and firmware and VBIOS of each GPU, which GPUs of other models have in other versions."""
    driver = differs("the driver of the GPUs", lambda facts: facts.gpus[0].driver if facts.gpus else None)
    yield from driver(readings)
    yield from items_differ(_firmware, groups=SAME_MODELS)(readings)


def _firmware(facts: NodeFacts) -> dict[str, str | None]:
    firmware: dict[str, str | None] = {f"the firmware of {gpu.label}": gpu.firmware for gpu in facts.gpus}
    return firmware | {f"the VBIOS of {gpu.label}": gpu.vbios for gpu in facts.gpus}


def _paths(facts: NodeFacts) -> dict[str, str | None]:
    return {
        f"the adapters below one switch with {label}": ", ".join(near) or "none"
        for label, near in switched_adapters(facts).items()
    }


def has_gpus(facts: NodeFacts) -> bool:
    """Whether the driver's program listed GPUs."""
    return bool(facts.gpus)


GPU_SLOWED = Rule(
    kind=FindingKind.GPU_SLOWED,
    order=141,
    look=on_each_node(slowdowns),
    knows=has_gpus,
    remedy=f"Look at its temperature and power, {SLOWED}",
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
        look=_settings_by_vendor,
        knows=has_gpus,
        remedy=f"Set it as on the others; {SETTER}",
    ),
    Rule(
        kind=FindingKind.GPU_SOFTWARE_DIFFERS,
        order=451,
        look=unlike_software,
        knows=has_gpus,
        remedy="Install the same driver on all nodes and restart; let the vendor bring VBIOS and firmware to one "
        "version.",
    ),
)
