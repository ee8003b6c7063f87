"""The topology file of NCCL (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): switches, GPUs and adapters of a node."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciHop, PciKind
from seatrial.model.hca import Hca
from seatrial.node.frame import FactsFormatError
from seatrial.node.gpus import OTHER_FACTS, pci_address
from seatrial.node.hwloc_devices import xml_root
from seatrial.node.pci import SPEED, pci_kind
from seatrial.node.processor_sets import number

MARK = re.compile(r"<system\s+version=")
NO_DOCTYPE = re.compile(r"(?!)")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,8}")
WIDTH = re.compile(r"\d{1,2}")
DEEPEST = 32
"""Switches above each other; real machines have three."""
NOT_PRINTED = "a topology file of NCCL does not contain it"


def is_nccl_topology(text: str) -> bool:
    """Whether an XML text is a topology file of NCCL, by its root element; a comment may precede it."""
    return MARK.search(text[:8192]) is not None


def facts_from_nccl(text: str, name: str) -> NodeFacts:
    """The PCI devices, GPUs and adapters of a node called `name`. Raises FactsFormatError for a damaged file."""
    root = xml_root(text, NO_DOCTYPE, "NCCL", "let NCCL write it again (NCCL_TOPO_DUMP_FILE).")
    if root.tag != "system":
        raise FactsFormatError(f"This XML contains a {root.tag[:40]!r}, not a topology file of NCCL.")
    devices = [device for cpu in root.iterfind("cpu") for device in _devices(cpu, number(cpu.get("numaid", "")), ())]
    if not devices:
        raise FactsFormatError("This topology file of NCCL has no PCI device.")
    gpus = [device for device in devices if device.kind is PciKind.GPU]
    numbers = {
        pci_address(element.get("busid", "")): gpu.get("dev", "")
        for element in root.iter("pci")
        if (gpu := element.find("gpu")) is not None and WIDTH.fullmatch(gpu.get("dev", ""))
    }
    numbered = numbers.keys() >= {device.address for device in gpus} and len(set(numbers.values())) == len(numbers)
    adapters = [device for device in devices if device.kind is PciKind.NETWORK]
    return NodeFacts(
        hostname=name,
        complete=True,
        pci=tuple(sorted(devices, key=lambda device: device.address)),
        gpus=tuple(
            Gpu(address=device.address, index=int(numbers[device.address]) if numbered else index)
            for index, device in enumerate(gpus)
        ),
        hcas=tuple(
            Hca(name=device.names[0] if device.names else device.address, pci_address=device.address,
                numa_node=device.numa_node)
            for device in adapters
        ),
        absent={fact: NOT_PRINTED for fact in OTHER_FACTS if fact not in ("hcas", "pci")},
    )  # fmt: skip


def _devices(above: ET.Element, numa_node: int | None, path: tuple[PciHop, ...]) -> Iterator[PciDevice]:
    """The devices below an element. NCCL says of each element which link is above it: both ends have that state."""
    for element in above.iterfind("pci"):
        address = pci_address(element.get("busid", ""))
        if not address or len(path) > 2 * DEEPEST:
            continue
        own = (*path, _hop(f"{address} above", element), _hop(address, element))
        code, vendor = _number(element, "class"), _number(element, "vendor")
        if element.find("pci") is not None:
            yield from _devices(element, numa_node, own)
            continue
        names = (net.get("name", "")[:60] for net in element.iterfind("nic/net"))
        kind = PciKind.GPU if element.find("gpu") is not None else pci_kind(code, vendor)
        yield PciDevice(
            address=address,
            kind=kind,
            class_code=code,
            vendor=vendor,
            device=_number(element, "device"),
            names=tuple(sorted(filter(None, names))),
            numa_node=numa_node,
            path=own,
        )


def _hop(address: str, element: ET.Element) -> PciHop:
    speed = SPEED.fullmatch(element.get("link_speed", "").strip())
    width = element.get("link_width", "")
    return PciHop(
        address=address,
        current_transfers_per_s=float(speed[1]) * 1e9 if speed else None,
        current_width=int(width) or None if WIDTH.fullmatch(width) else None,
    )


def _number(element: ET.Element, name: str) -> int | None:
    text = element.get(name, "")
    return int(text, 16) if HEXADECIMAL.fullmatch(text) else None
