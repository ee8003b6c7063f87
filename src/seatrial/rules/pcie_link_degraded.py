"""pcie-link-degraded: a link trained below what both of its ends support."""

from collections.abc import Iterator

from seatrial.limits.pcie import LinkState, PciLink, current, ends_agree, link_pairs, trainable
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciDevice, PciKind
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Seat the card anew and clean the slot, look at risers and cables, and at the speed and lanes that the BIOS "
    "allows the slot (lspci -vv: LnkCap against LnkSta); a link that trains low again after that needs another "
    "card or board."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Every link once, though several functions of a card share it."""
    for node, known in readings.facts.items():
        seen = set()
        for device in known.pci:
            for link in [] if device.virtual_function else link_pairs(device.path):
                identity = link.upper.address if link.upper else link.name
                now, could = current(link), trainable(link)
                if identity not in seen and degraded(link, device.kind):
                    seen.add(identity)
                    says = (
                        f"the PCIe link {link.name} ({called(device)}) runs at {now}, where both ends support {could}"
                    )
                    yield Violation(node=node, says=says, key=f"{link.name} {now} {could}", remedy=REMEDY)


def degraded(link: PciLink, kind: PciKind) -> bool:
    """Whether it could be faster: the lesser of both ends' abilities counts, so a card in an older slot is well.

    Where an end is unknown, or the two tell of different states (one of them is emulated), nothing is claimed. The
    speed of a GPU's link is left out: runtime power management lowers it while nothing is computed.
    """
    if link.upper is None or not ends_agree(link):
        return False
    now, could = current(link), trainable(link)
    narrow = below(now.width, could.width)
    return narrow or (kind is not PciKind.GPU and below(now.transfers_per_s, could.transfers_per_s))


def below(now: float | None, could: float | None) -> bool:
    """Whether both are known and the first is the lesser."""
    return now is not None and could is not None and now < could


def called(device: PciDevice) -> str:
    """What people know it by."""
    return device.names[0] if device.names else f"{device.kind.value} device {device.address}"


def knows(facts: NodeFacts) -> bool:
    """Whether any link tells its state."""
    unknown = LinkState()
    return any(current(link) != unknown for device in facts.pci for link in link_pairs(device.path))


RULE = Rule(kind=FindingKind.PCIE_LINK_DEGRADED, title="PCIe link below what both ends support", look=look, knows=knows)
