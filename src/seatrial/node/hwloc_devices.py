"""PCI devices, HCAs and network interfaces, from hwloc's XML."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from seatrial.model.facts import NetworkInterface, PciDevice, PciHop
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.pcie import link_bytes_per_s, links_of, links_text
from seatrial.model.words import Unknown
from seatrial.node.frame import FactsFormatError
from seatrial.node.pci import ADDRESS, pci_kind
from seatrial.node.port_rate import port_family
from seatrial.node.processor_sets import masked

DOCTYPE = re.compile(r"""<!DOCTYPE\s+topology\s+SYSTEM\s+(?:"[\w.]*"|'[\w.]*')\s*>""")
"""The only one that hwloc writes. A declaration with more in it could define entities that grow without end."""

MOST_CHARACTERS = 64 << 20
"""Descriptions of the largest nodes have a few megabytes."""

PLACES = {"Package": "Package", "Socket": "Package", "NUMANode": "NUMANode", "Node": "NUMANode", "Core": "Core"}
"""Types of objects in the versions 1, 2 and 3 of the format -> what we call them."""


def xml_root(text: str, doctype: "re.Pattern[str]", what: str, remedy: str) -> ET.Element:
    """The root element. `doctype`: the only declaration that `what` writes; one with more in it could define entities
    that grow without end.

    Raises FactsFormatError for text that is too long or not well-formed, and for any other declaration.
    """
    if len(text) > MOST_CHARACTERS:
        raise FactsFormatError(
            f"This XML has more than {MOST_CHARACTERS >> 20} MiB.", "Check that it is the right file."
        )
    declared = text.count("<!DOCTYPE")
    if "<!ENTITY" in text or declared > 1 or declared != len(doctype.findall(text)):
        raise FactsFormatError(
            f"This XML declares more than {what}'s document type.", f"Entities are not accepted: {remedy}"
        )
    try:
        return ET.fromstring(text)  # noqa: S314 - declarations are refused above
    except (ET.ParseError, ValueError) as error:
        raise FactsFormatError(f"This is not well-formed XML: {error}.", remedy[:1].upper() + remedy[1:]) from None


def parse_hwloc(text: str) -> ET.Element:
    """The root `topology` of an export of hwloc 1, 2 or 3.

    Raises FactsFormatError for text that is not well-formed, that declares entities or more than hwloc's document type,
    or whose root is another. Nothing outside the text is read.
    """
    root = xml_root(text, DOCTYPE, "hwloc", "export it again with `lstopo --of xml`.")
    if root.tag != "topology" or root.find("object") is None:
        raise FactsFormatError(
            f"This XML contains a {root.tag[:40]!r}, not an hwloc topology with its objects.",
            "Export one with `lstopo --of xml`.",
        )
    return root


def infos(element: ET.Element) -> dict[str, str]:
    """Name -> value of the infos directly under an element; the first of each name."""
    values: dict[str, str] = {}
    for info in element.iterfind("info"):
        values.setdefault(info.get("name", ""), info.get("value", ""))
    return values


CLASS = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[\w{4}:\w{4}\] [0-9a-f]{2}( [0-9a-f]{2})?)?")
"""Class and subclass, vendor and device, of the subsystem too, revision, and in newer versions the programming
interface."""
SPEED = re.compile(r"[0-9]{1,6}\.[0-9]{1,9}")
NETWORK, OPENFABRICS, STORAGE = "network", "openfabrics", "storage"
KINDS_2 = {"0": STORAGE, "2": NETWORK, "3": OPENFABRICS}
KINDS_3 = {"1": STORAGE, "16": NETWORK, "32": OPENFABRICS, "48": OPENFABRICS}
"""osdev_type: a number up to version 2 of the format, bits from version 3 on; hwloc.h, hwloc_obj_osdev_type_e."""
PORT_INFO = re.compile(r"Port([1-9][0-9]{0,2})(State|LID|GID0)")
PORT_STATES = {"1": PortState.DOWN, "2": PortState.INIT, "3": PortState.ARMED, "4": PortState.ACTIVE}
HEXADECIMAL = re.compile(r"0x[0-9a-f]{1,8}")
NOT_TOLD = "not in hwloc's XML"


class FoundDevice(NamedTuple):
    """A device or an OS device, what is above it, and the NUMA nodes near it."""

    element: ET.Element
    above: tuple[ET.Element, ...]
    """PCI bridges and devices from the root port down."""
    nodeset: str


class Devices(NamedTuple):
    """All of a machine, sorted by address or name, and why some of what they are is not known."""

    pci: tuple[PciDevice, ...]
    hcas: tuple[Hca, ...]
    interfaces: tuple[NetworkInterface, ...]
    absent: dict[str, str]


def hwloc_devices(root: ET.Element) -> Devices:
    """The devices of an export of hwloc 1, 2 or 3, which as a rule holds a part of them."""
    kinds = KINDS_3 if root.get("version", "").startswith("3") else KINDS_2
    walked = list(_walk(root))
    absent: dict[str, str] = {}
    software: dict[str, list[str]] = {}
    hcas, interfaces = {}, {}
    for os_device in (os_device for os_device in walked if os_device.element.get("type") == "OSDev"):
        name, kind = os_device.element.get("name", ""), kinds.get(os_device.element.get("osdev_type", ""))
        address = _address(os_device.above[-1]) if os_device.above else ""
        if not name or kind is None:
            continue
        software.setdefault(address, []).append(name)
        if kind == NETWORK:
            interfaces[name] = NetworkInterface(name=name, pci_address=address)
            absent |= {
                f"interfaces.{name}.{field}": NOT_TOLD for field in ("link_type", "speed_bits_per_s", "mtu_bytes")
            }
        elif kind == OPENFABRICS:
            hcas[name] = _hca(name, address, os_device)
            absent |= {f"hcas.{name}.{field}": NOT_TOLD for field in ("driver", "board_id", "ports.rate_text")}
    pci = {}
    for os_device in (os_device for os_device in walked if os_device.element.get("type") == "PCIDev"):
        address = _address(os_device.element)
        if address:
            pci[address] = _pci_device(os_device, tuple(sorted(software.get(address, ()))), absent)
    return Devices(
        pci=tuple(pci[address] for address in sorted(pci)),
        hcas=tuple(hcas[name] for name in sorted(hcas)),
        interfaces=tuple(interfaces[name] for name in sorted(interfaces)),
        absent=absent,
    )


def _walk(root: ET.Element) -> Iterator[FoundDevice]:
    """Every object in the document's order, without recursion."""
    waiting = [FoundDevice(each, (), "") for each in reversed(root.findall("object"))]
    while waiting:
        item = waiting.pop()
        yield item
        inside = item.above
        if item.element.get("pci_busid"):
            inside = (*item.above, item.element)
        nodeset = item.element.get("nodeset", item.nodeset)
        waiting.extend(FoundDevice(each, inside, nodeset) for each in reversed(item.element.findall("object")))


def _address(element: ET.Element) -> str:
    text = element.get("pci_busid", "")
    return text if ADDRESS.fullmatch(text) else ""


def _numa_node(device: FoundDevice) -> int | None:
    """The only one nearby; None for several: hwloc puts a device there where the firmware reports none."""
    near = masked(device.nodeset) or ()
    return near[0] if len(near) == 1 else None


def _pci_device(found: FoundDevice, names: tuple[str, ...], absent: dict[str, str]) -> PciDevice:
    address = _address(found.element)
    match = CLASS.match(found.element.get("pci_type", ""))
    code, vendor, device = (int(match[place], 16) for place in (1, 2, 3)) if match else (None, None, None)
    interface = match[4] if match else None
    path = (*(each for each in found.above if _address(each)), found.element)
    for hop in path:
        field = f"pci.{address}.path.{_address(hop)}"
        if why := _why_no_link(hop.get("pci_link_speed", "")):
            absent[f"{field}.current_transfers_per_s"] = absent[f"{field}.current_width"] = why
        absent[f"{field}.max_transfers_per_s"] = absent[f"{field}.max_width"] = NOT_TOLD
    return PciDevice(
        address=address,
        kind=pci_kind(None if code is None else code << 8, vendor),
        class_code=None if code is None or interface is None else code << 8 | int(interface, 16),
        vendor=vendor,
        device=device,
        names=names,
        numa_node=_numa_node(found),
        path=tuple(_hop(each) for each in path),
    )


def _hop(element: ET.Element) -> PciHop:
    rate = link_rate(element.get("pci_link_speed", ""))
    trained = links_of(rate) if rate else ()
    speed, width = trained[0] if len(trained) == 1 else (None, None)
    return PciHop(
        address=_address(element), current_transfers_per_s=speed, current_width=width, current_bytes_per_s=rate
    )


def link_rate(text: str) -> float | None:
    """Bytes per second of one direction after encoding: hwloc reports this product of speed and width, in GB/s.

    The exact rate of the links that have this product, of which hwloc writes six decimals. None where no PCIe link has
    it: 0 for a link that could not be read, 0.1 and 0.2 for devices of plain PCI and for others from hwloc 1.
    """
    links = links_of(float(text) * 1e9) if SPEED.fullmatch(text) else ()
    return link_bytes_per_s(*links[0]) if links else None


def _why_no_link(text: str) -> str:
    rate = link_rate(text)
    if rate is not None:
        links = links_text(rate)
        return f"hwloc reports only {float(text):g} GB/s for the whole link: {links}" if " or " in links else ""
    if not SPEED.fullmatch(text) or not float(text):
        return "hwloc could not read the link's speed"
    return f"hwloc reports {float(text):g} GB/s for the whole link, a rate that no PCIe link has"


def _hca(name: str, address: str, device: FoundDevice) -> Hca:
    says: dict[int, dict[str, str]] = {}
    for info, value in infos(device.element).items():
        if match := PORT_INFO.fullmatch(info):
            says.setdefault(int(match[1]), {})[match[2]] = value
    ports = tuple(_port(name, number, says[number]) for number in sorted(says))
    return Hca(name=name, pci_address=address, numa_node=_numa_node(device), ports=ports)


def _port(name: str, number: int, says: dict[str, str]) -> Port:
    """A port with a LID uses InfiniBand or a related protocol; without one, RoCE, or it waits for a subnet manager."""
    state, lid = says.get("State", ""), says.get("LID", "")
    identifier = int(lid, 16) if HEXADECIMAL.fullmatch(lid) else None
    family = port_family("", name=name)
    return Port(
        number=number,
        family=family if identifier or family is not PortFamily.INFINIBAND else Unknown(word="no link layer reported"),
        state=PORT_STATES.get(state) or (Unknown(word=state) if state else None),
        lid=identifier,
        subnet_prefix=says.get("GID0", "")[:19],
    )
