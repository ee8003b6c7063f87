"""pcie-starves-port: a network port that is faster than the PCIe path of its card."""

from collections.abc import Iterator

from seatrial.limits.pcie import LinkState, current, link_pairs, raw_bytes_per_s, trainable
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciDevice
from seatrial.model.hca import PortState
from seatrial.model.units import link_rate
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.pcie_link_degraded import called

EQUAL = 0.98
"""PCIe 2.0 x8 and 4X QDR carry 32 Gb/s both, PCIe 3.0 x4 carries 31.5: neither is a card in a wrong slot. The next
combination that is sold, 40 Gb/s Ethernet on PCIe 3.0 x4, has 0.79 of what it needs."""

REMEDY = (
    "Put the card into a slot of more lanes or of a newer generation, one that its processor feeds directly: "
    "lspci -vv, LnkCap of the card and of the port above it, and the board's manual."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Each card against its fastest active port alone: two ports that only together are too much are a choice."""
    for node, known in readings.facts.items():
        rates = port_rates(known)
        for device in known.pci:
            port, path = rates.get(device.address), able(device)
            if port and path and not device.virtual_function and path < EQUAL * port:
                says = (
                    f"PCIe lets {link_rate(path)} through to {called(device)} ({device.address}), whose port runs at "
                    f"{link_rate(port)}"
                )
                yield Violation(node=node, says=says, key=f"{device.address} {path} {port}", remedy=REMEDY)


def port_rates(facts: NodeFacts) -> dict[str, float]:
    """PCI address -> data rate in bit/s of the fastest port of it that is active."""
    found: dict[str, float] = {}
    for hca in facts.hcas:
        for port in hca.ports:
            if port.state is PortState.ACTIVE and port.data_bits_per_s:
                found[hca.pci_address] = max(found.get(hca.pci_address, 0.0), port.data_bits_per_s)
    for interface in facts.interfaces:
        if interface.state == "up" and interface.speed_bits_per_s and interface.pci_address:
            found[interface.pci_address] = max(found.get(interface.pci_address, 0.0), interface.speed_bits_per_s)
    found.pop("", None)
    return found


def able(device: PciDevice) -> float | None:
    """bit/s after line encoding that the narrowest link of its path is made for; None where none tells.

    What the links could do, since one that runs below that is a finding of its own.
    """
    rates = []
    for link in link_pairs(device.path):
        could, now = trainable(link), current(link)
        told = could if link.upper is not None and None not in (could.transfers_per_s, could.width) else now
        rates.append(raw_bytes_per_s(LinkState(transfers_per_s=told.transfers_per_s, width=told.width)))
    known = [rate for rate in rates if rate is not None]
    return 8 * min(known) if known else None


RULE = Rule(
    kind=FindingKind.PCIE_STARVES_PORT,
    title="PCIe path slower than the port",
    look=look,
    knows=lambda facts: bool(port_rates(facts)) and bool(facts.pci),
)
