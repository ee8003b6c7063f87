"""Identifiers that every machine has of its own: random PCI domains, and names and values with addresses or UUIDs.

They differ between equal nodes and mean nothing. They are replaced before nodes are compared, and only there.
"""

import re
from collections.abc import Iterable

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciDevice

VIRTUAL_DOMAINS = range(0x100, 0x10000)
"""Hyper-V derives the PCI domain of a passed-through device from a random identifier of the virtual machine (Linux,
drivers/pci/controller/pci-hyperv.c). Firmware numbers domains from 0, and volume management devices from 0x10000."""

ADDRESS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
OF_DOMAIN = re.compile(r"(?<![a-zA-Z0-9])([a-z]{2,8})P([0-9]{3,5})(?=[ps][0-9])")
"""enP40166p0s2: predictable names contain the domain, in decimal (systemd.net-naming-scheme(7))."""
OF_MAC = re.compile(r"(?<![a-zA-Z0-9])([a-z]{2})x[0-9a-f]{12}(?![0-9a-f])")
"""enx001122334455: a name made of the MAC address."""
IDENTIFIER = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUID
    r"|(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4}"  # MAC address, GUID of a port or a card
    r"|(?:0x|eui\.|nvme\.|wwn-0x)[0-9a-f]{16,32})(?![0-9a-f])",
    re.IGNORECASE,
)


def without_identifiers(facts: NodeFacts) -> NodeFacts:
    """The same node with random PCI domains numbered in the order of their devices, and names without addresses.

    Two nodes with the same devices then have the same names for them.
    """
    if not _has_any(facts):
        return facts
    domains = _domains(facts.pci)
    devices = [
        msgspec.structs.replace(
            device,
            address=_place(device.address, domains),
            names=tuple(sorted(_name(name, domains) for name in device.names)),
            path=tuple(msgspec.structs.replace(hop, address=_place(hop.address, domains)) for hop in device.path),
        )
        for device in facts.pci
    ]
    hcas = tuple(
        msgspec.structs.replace(
            hca,
            name=_name(hca.name, domains),
            pci_address=_place(hca.pci_address, domains),
            ports=tuple(
                msgspec.structs.replace(
                    port, interfaces=tuple(_name(interface, domains) for interface in port.interfaces)
                )
                for port in hca.ports
            ),
        )
        for hca in facts.hcas
    )
    interfaces = tuple(
        msgspec.structs.replace(
            interface,
            name=_name(interface.name, domains),
            pci_address=_place(interface.pci_address, domains),
            lower=tuple(_name(lower, domains) for lower in interface.lower),
        )
        for interface in facts.interfaces
    )
    return msgspec.structs.replace(
        facts, pci=tuple(sorted(devices, key=lambda device: device.address)), hcas=hcas, interfaces=interfaces
    )


def identifiers_only(texts: Iterable[object]) -> bool:
    """Whether values differ in nothing but identifiers: UUIDs, MAC addresses, GUIDs."""
    words = list(texts)
    return all(isinstance(text, str) and IDENTIFIER.search(text) for text in words) and (
        len({IDENTIFIER.sub("", str(text)) for text in words}) == 1
    )


def _has_any(facts: NodeFacts) -> bool:
    names = [*(each.name for each in facts.interfaces), *(each.name for each in facts.hcas)]
    return bool(_domains(facts.pci)) or any(OF_MAC.search(name) for name in names)


def _domains(devices: Iterable[PciDevice]) -> dict[str, str]:
    """Random domain -> "vm1", "vm2", ... by what is in it, never by its number."""
    inside: dict[str, list[str]] = {}
    for device in devices:
        match = ADDRESS.fullmatch(device.address)
        if match and int(match[1], 16) in VIRTUAL_DOMAINS:
            names = sorted(OF_DOMAIN.sub(r"\1P", name) for name in device.names)
            inside.setdefault(match[1], []).append(
                f"{device.kind} {device.vendor} {device.device} {device.numa_node} {match[2]} {names}"
            )
    in_order = sorted(inside, key=lambda domain: (sorted(inside[domain]), domain))
    return {domain: f"vm{place}" for place, domain in enumerate(in_order, start=1)}


def _place(address: str, domains: dict[str, str]) -> str:
    domain, colon, rest = address.partition(":")
    return f"{domains.get(domain, domain)}{colon}{rest}"


def _name(name: str, domains: dict[str, str]) -> str:
    """enP40166p0s2 -> enPvm1p0s2, enx001122334455 -> enx."""
    numbered = OF_DOMAIN.sub(lambda match: f"{match[1]}P{domains.get(f'{int(match[2]):04x}', match[2])}", name)
    return OF_MAC.sub(r"\1x", numbered)
