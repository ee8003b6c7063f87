"""device-missing: fewer GPUs or NVMe drives on the bus than the peers have."""

from collections import Counter
from collections.abc import Iterator
from operator import lt

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciKind
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

TOLD = {PciKind.GPU: "GPUs", PciKind.NVME: "NVMe drives"}
REMEDY = (
    "Look in the kernel's log for a device that fell off the bus (dmesg: AER, Xid 79, link down) and in the "
    "BMC's; power the node off and on, then seat the device anew; one that stays away is dead or has lost its "
    "power cable."
)


def look(readings: Readings) -> Iterator[Violation]:
    """By kind, vendor and model. Network cards are left to the rules that look at their ports."""
    none = {kind: 0 for known in readings.facts.values() for kind in counts(known)}

    def read(facts: NodeFacts) -> dict[str, int | None]:
        return {**none, **counts(facts)} if tells(facts) else {}

    return unlike_items(readings, read, REMEDY, worse=lt)


def tells(facts: NodeFacts) -> bool:
    """Whether its bus can be seen, and what is on it."""
    return facts.complete and bool(facts.pci) and all(None not in (each.vendor, each.device) for each in facts.pci)


def counts(facts: NodeFacts) -> Counter[str]:
    """The number of its devices, by kind and identity; virtual functions come and go and are left out."""
    return Counter(
        f"the number of {TOLD[device.kind]} {device.vendor:04x}:{device.device:04x}"
        for device in facts.pci
        if device.kind in TOLD
        and device.vendor is not None
        and device.device is not None
        and not device.virtual_function
    )


RULE = Rule(kind=FindingKind.DEVICE_MISSING, title="PCIe device missing", look=look)
