"""Rules about the hardware of a node by itself: fans, alarms, PCIe errors, the kernel's log, heat of its processors."""

import re
from collections.abc import Iterator, Mapping

from seatrial.drift.peer_groups import growth, usual
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.node.sensors import GRAVE
from seatrial.rules.base import Readings, Rule, Violation, on_each_node

FAN, DEGREES = "rpm", "degC"
PACKAGE = re.compile(r"coretemp Package id ([0-9]{1,3})|k10temp Tctl(?: #([0-9]{1,3}))?")
"""Sensors of a whole processor: Intel's coretemp, AMD's k10temp (one chip for each)."""
CONTROLLERS_PACKAGE = re.compile(r"BMC (?:[0-9]{2}-)?(CPU ?[1-9])(?: Temp(?:erature)?)?")
"""A BMC's, whose name is kept: it counts from 1."""
APART_CELSIUS = 5.0
"""A smaller difference between two processors is usual, as it is between nodes of one rack."""
COUNTED = ("nonfatal", "fatal")
"""PCIe errors of which one is a fault; corrected ones only while they grow."""


def fans(facts: NodeFacts) -> dict[str, float]:
    """Fan -> revolutions per minute."""
    return {sensor.name: sensor.value for sensor in facts.system.sensors if sensor.unit == FAN}


def stopped_fans(readings: Readings) -> Iterator[Violation]:
    """Fans at 0 rpm that their chip or BMC reports, that turned before, or that turn on most of the peers."""
    for group in readings.peers:
        of_node = {node: fans(readings.facts[node]) for node in group}
        names = dict.fromkeys(name for speeds in of_node.values() for name in speeds)
        turn = {name: usual({node: speeds[name] > 0 for node, speeds in of_node.items() if name in speeds})
                for name in names}  # fmt: skip
        for node, speeds in of_node.items():
            alarms = readings.facts[node].system.alarms
            after = fans(readings.after[node]) if node in readings.after else {}
            for name, rpm in speeds.items():
                why = _why_stopped(name, rpm, after.get(name), alarms, peers=bool(turn[name]) and len(group) > 1)
                if why:
                    yield Violation(node=node, clause=f"{name} {why}", key=name)
        for node in group:
            for name, why in readings.facts[node].system.alarms.items():
                if "fan" in name.lower() and name not in of_node[node]:
                    yield Violation(node=node, clause=f"{name} reports {why}", key=name)


def _why_stopped(name: str, rpm: float, after: float | None, alarms: Mapping[str, str], *, peers: bool) -> str:
    """`does not turn (0 rpm), and turns on its peers`; empty for a fan that turns, or of which nothing is known."""
    if name in alarms:
        return f"reports {alarms[name]} at {rpm:.0f} rpm"
    if rpm > 0 and after == 0:
        return f"stopped between the two readings ({rpm:.0f} rpm before)"
    return "does not turn (0 rpm), and turns on its peers" if rpm == 0 and peers else ""


def silent_fans(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Fans at 0 rpm without an alarm, beside fans that turn: boards have more connectors than fans."""
    speeds = fans(facts)
    turning = sum(rpm > 0 for rpm in speeds.values())
    still = [name for name, rpm in speeds.items() if rpm == 0 and name not in facts.system.alarms]
    if still and turning:
        clause = f"{', '.join(still)} at 0 rpm, {count(turning, 'other fan')} turning"
        yield Violation(node=node, clause=clause, key=tuple(still))


def alarms_of(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Temperatures, power supplies and all else but fans, which have a rule of their own."""
    for name, why in facts.system.alarms.items():
        if name not in fans(facts) and "fan" not in name.lower():
            yield Violation(node=node, clause=f"{name} reports {why}", key=(name, why))


def package_temperatures(facts: NodeFacts) -> dict[str, float]:
    """Name of the processor -> its temperature, of the kernel or else of the BMC; nothing for a single processor."""
    degrees = {sensor.name: sensor.value for sensor in facts.system.sensors if sensor.unit == DEGREES}
    of_kernel = [(PACKAGE.fullmatch(name), value) for name, value in degrees.items()]
    of_board = [(CONTROLLERS_PACKAGE.fullmatch(name), value) for name, value in degrees.items()]
    packages = {f"processor {match[1] or int(match[2] or 1) - 1}": value for match, value in of_kernel if match}
    packages = packages or {match[1]: value for match, value in of_board if match}
    return packages if len(packages) > 1 else {}


def unlike_sockets(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """The hottest and the coolest processor of a node."""
    packages = package_temperatures(facts)
    if not packages:
        return
    hot, cool = (pick(packages, key=packages.__getitem__) for pick in (max, min))
    apart = packages[hot] - packages[cool]
    if apart >= APART_CELSIUS:
        clause = f"{hot} is {apart:.0f} °C hotter than {cool} ({packages[hot]:.0f} and {packages[cool]:.0f} °C)"
        yield Violation(node=node, clause=clause, key=(hot, cool), details=apart)


def pcie_errors(readings: Readings) -> Iterator[Violation]:
    """Uncorrected errors since the kernel was started; corrected ones between the two readings."""
    for node, facts in () if readings.during else readings.facts.items():
        latest = readings.after.get(node, facts)
        for address, kinds in _errors(latest if latest.boot_id == facts.boot_id else facts).items():
            for kind in COUNTED:
                if kinds.get(kind):
                    clause = f"{count(kinds[kind], f'{kind} PCIe error')} at {address} since the kernel was started"
                    yield Violation(node=node, clause=clause, key=(kind, address), details=kinds[kind])
    for node, before, after in readings.read_twice():
        earlier = _errors(before)
        for address, kinds in _errors(after).items():
            grown = growth(earlier.get(address, {}).get("correctable"), kinds.get("correctable"))
            if grown:
                clause = f"{count(grown, 'PCIe error')} corrected at {address} during the run"
                yield Violation(node=node, clause=clause, key=address, details=grown)


def _errors(facts: NodeFacts) -> dict[str, dict[str, int]]:
    """Place of a link (with the name of the device at its end) -> kind -> errors."""
    return {
        f"{hop.address} ({device.names[0]})"
        if hop.address == device.address and device.names
        else hop.address: hop.errors
        for device in facts.pci
        for hop in device.path
        if hop.errors
    }


def logged_errors(readings: Readings) -> Iterator[Violation]:
    """Grave lines since boot, and any kind that grew between the two readings."""
    for node, facts in readings.facts.items():
        after = readings.after.get(node)
        latest = after.system if after is not None and after.boot_id == facts.boot_id else facts.system
        for kind, lines in latest.kernel_log.items():
            more = lines - facts.system.kernel_log.get(kind, 0)
            if more > 0 or (kind in GRAVE and not readings.during):
                often = (
                    f"{count(more, 'new line')} during the run" if more > 0 else f"{count(lines, 'line')} since boot"
                )
                clause = f"{kind}: {often}, the last: {latest.kernel_log_last.get(kind, '')!r}"
                brief = f"{kind}, {count(more or lines, 'line')} in the kernel's log"
                remedy = xid_remedy(latest.kernel_log_last.get(kind, ""))
                yield Violation(node=node, clause=clause, key=kind, details=(lines, more), brief=brief, remedy=remedy)


XID = re.compile(r"NVRM: Xid \([^)]{1,60}\): (\d{1,4})\b")
XID_CLASSES = {
    (13, 31, 43, 45): "the program made an error (an illegal address or instruction), or was ended: look at the job "
    "first; if it returns with other programs on one GPU, test that GPU",
    (48, 92, 94, 95): "the memory had an error that ECC did not correct, or many that it did: drain the node and reset "
    "the GPU",
    (63, 64): "a memory row is replaced by a spare one: reset the GPU when it is free; after Xid 64 replace it",
    (74,): "an NVLink failed: look at the fabric manager and at the other GPU of the link, reset all GPUs of the node",
    (79,): "the GPU has fallen off the bus: look at power, heat and seat of the card, restart, then try another slot",
    (61, 62, 69, 109, 119, 120): "the GPU or its system processor (GSP) does not answer: reset the GPU or restart the "
    "node; if it returns, update driver and firmware, then replace the GPU",
    (140, 143, 144, 145, 146, 147, 148, 149, 150): "an uncorrected error of memory or NVLink: drain the node, reset "
    "the GPU, and ask the vendor if it returns",
}
"""Numbers of NVIDIA's Xid errors (docs.nvidia.com/deploy/xid-errors) -> what they mean and what to do."""


def xid_remedy(line: str) -> str:
    """What the Xid in a line of the kernel's log means; empty for a line without one and for other numbers."""
    match = XID.search(line)
    number = int(match[1]) if match else 0
    meaning = next((meaning for numbers, meaning in XID_CLASSES.items() if number in numbers), "")
    return f"Xid {number}: {meaning}." if meaning else ""


PCIE_ERRORS = Rule(
    kind=FindingKind.PCIE_ERRORS,
    order=15,
    look=pcie_errors,
    knows=lambda facts: bool(_errors(facts)),
    remedy="Reseat the card, then move it to another slot, then replace it (`seatrial swap start` finds which of them "
    "it is); check risers and their cables. Each corrected error is a packet that was sent again, and a link that "
    "makes many of them trains down or fails under load.",
)

KERNEL_LOG = Rule(
    kind=FindingKind.KERNEL_LOG,
    order=125,
    look=logged_errors,
    knows=lambda facts: bool(facts.system.kernel_log) or "system.kernel_log" not in facts.absent,
    remedy="Read the lines around it (dmesg -T, journalctl -k) and the BMC's log. Xid and machine checks have numbers "
    "that their vendors explain (NVIDIA's Xid table, rasdaemon or mcelog); take the node out of service until the "
    "part is replaced.",
)

HARDWARE = (
    PCIE_ERRORS,
    KERNEL_LOG,
    Rule(
        kind=FindingKind.FAN_STOPPED,
        order=142,
        look=stopped_fans,
        knows=lambda facts: bool(fans(facts)),
        remedy="Replace the fan, or connect it; check its plug and its speed in the BMC (ipmitool sdr type Fan). "
        "Until then watch temperatures and throttling: `seatrial nodes --for 60m`.",
    ),
    Rule(
        kind=FindingKind.HARDWARE_ALARM,
        order=144,
        look=on_each_node(alarms_of),
        remedy="Read the BMC's log (ipmitool sel elist) and look at the machine: a power supply that failed leaves the "
        "node without redundancy or at a lower power limit; a critical temperature makes processors slow.",
    ),
)

HARDWARE_NOTES = (
    Rule(
        kind=FindingKind.SOCKETS_DIFFER,
        order=900,
        look=on_each_node(unlike_sockets),
        knows=lambda facts: bool(package_temperatures(facts)),
        remedy="Compare both under the same load (`seatrial nodes`). The processor behind the other in the air flow is "
        "a few degrees hotter by design; else look at its fan, the paste under its heat sink, and dust.",
    ),
    Rule(
        kind=FindingKind.FAN_SILENT,
        order=910,
        look=on_each_node(silent_fans),
        knows=lambda facts: bool(fans(facts)),
        remedy="Check whether a fan is connected. A connector without a fan reads 0 rpm as well, and so does a "
        "fan that its board stops while it is cool.",
    ),
)
