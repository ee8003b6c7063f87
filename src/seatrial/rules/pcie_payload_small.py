"""pcie-payload-small: packets on the bus smaller than the path allows, and smaller than the peers'."""

from collections.abc import Iterator

from seatrial.drift.peer_groups import usual
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciDevice
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Let the kernel set it alike on the whole path (boot with pci=pcie_bus_perf or pcie_bus_safe), or set "
    "MaxPayload in the BIOS as on the other nodes. At 128 bytes a sixth of the link is headers, at 256 a twelfth."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Device by device, by its address."""
    for group in readings.peers:
        tables = {node: payloads(readings.facts[node]) for node in group}
        for address in dict.fromkeys(address for table in tables.values() for address in table):
            values = {node: table[address][0] for node, table in tables.items() if address in table}
            most = usual(values)
            for node, value in values.items():
                supported = tables[node][address][1]
                if most is not None and value < most and value < supported:
                    says = (
                        f"PCIe device {address} sends at most {value} bytes in a packet, where its path supports "
                        f"{supported} and most of its peers use {most}"
                    )
                    yield Violation(node=node, says=says, key=f"{address} {value}", remedy=REMEDY)


def payloads(facts: NodeFacts) -> dict[str, tuple[int, int]]:
    """Address -> MaxPayload that is set, and what every hop of the path supports; in bytes."""
    return {
        device.address: (set_to, supported)
        for device in facts.pci
        if (set_to := device.path[-1].max_payload_bytes if device.path else None) and (supported := _supported(device))
    }


def _supported(device: PciDevice) -> int | None:
    told = [hop.max_payload_supported_bytes for hop in device.path]
    known = [each for each in told if each]
    return min(known) if known and len(known) == len(told) else None


RULE = Rule(kind=FindingKind.PCIE_PAYLOAD_SMALL, title="small PCIe packets", look=look)
