"""A whole recorded machine, from hwloc's XML."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import msgspec

from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciHop, PciKind, ProcessorFacts, Topology
from seatrial.model.hca import Hca
from seatrial.model.system import Firmware, SystemFacts
from seatrial.node.frame import FactsFormatError, whole_number, without_value
from seatrial.node.gpus import OTHER_FACTS, facts_from_smi, is_smi, pci_address
from seatrial.node.hwloc_devices import NOT_TOLD, PLACES, hwloc_devices, infos, parse_hwloc, xml_root
from seatrial.node.pci import SPEED, pci_kind
from seatrial.node.processor import named_hz
from seatrial.node.processor_sets import Numbers, masked, number
from seatrial.node.topology import xml_topology

MARK = re.compile(r"<system\s+version=")
NO_DOCTYPE = re.compile(r"(?!)")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,8}")
WIDTH = re.compile(r"\d{1,2}")
DEEPEST = 32
"""Switches above each other; real machines have three."""
NOT_PRINTED = "a topology file of NCCL does not contain it"


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


HOSTNAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
MEGAHERTZ = re.compile(r"[0-9]{1,6}")
NEVER_TOLD = (
    "memory.dimms", "settings", "system.limits", "system.clock", "system.mounts", "system.sensors", "software",
)  # fmt: skip


def facts_from_xml(text: str, name: str) -> NodeFacts:
    """The facts in an export of hwloc 1, 2 or 3, whose node is called `name` where the export has no name.

    Processors are those in the export: where it was made under a batch system, the job's. Raises FactsFormatError for
    other text. The output of `nvidia-smi -q -x` and topology files of NCCL are XML of a machine, too.
    """
    if is_smi(text):
        return facts_from_smi(text, name)
    if MARK.search(text[:8192]) is not None:
        return facts_from_nccl(text, name)
    root = parse_hwloc(text)
    topology = xml_topology(text)
    says = _machine_infos(root)
    devices = hwloc_devices(root)
    model = _model(root)
    memories = [node.memory_bytes for node in topology.numa_nodes if node.memory_bytes is not None]
    hostname = says.get("HostName", "")
    processors = {each.get("os_index") for each in root.iter("object") if each.get("type") == "PU"}
    facts = NodeFacts(
        hostname=hostname if HOSTNAME.fullmatch(hostname) else name,
        complete=True,
        kernel=says.get("OSRelease", ""),
        cpu_model=model,
        processors=len(processors) or None,
        cores=len(topology.cores) or None,
        sockets=sum(PLACES.get(each.get("type", "")) == "Package" for each in root.iter("object")) or None,
        numa_nodes=len(topology.numa_nodes) or None,
        memory_bytes=sum(memories) if memories else None,
        interfaces=devices.interfaces,
        hcas=devices.hcas,
        pci=devices.pci,
        topology=topology,
        processor=_processor(root, model, topology),
        system=SystemFacts(firmware=_firmware(says)),
    )
    absent = devices.absent | dict.fromkeys((*NEVER_TOLD, *without_value(facts)), NOT_TOLD)
    return msgspec.structs.replace(facts, absent=absent)


def _machine_infos(root: ET.Element) -> dict[str, str]:
    """Infos of the whole: up to version 2 of the machine, in version 3 of the topology, and some of both."""
    machine = root.find("object")
    return {**infos(root), **(infos(machine) if machine is not None else {})}


def _first(root: ET.Element, info: str) -> str:
    """The first info of that name in any object: a processor's is on its package, or where none is, on the machine."""
    values = (each.get("value", "").strip() for each in root.iter("info") if each.get("name") == info)
    return next(filter(None, values), "")


def _model(root: ET.Element) -> str:
    """The name; of Arm's processors, whose name is that of the architecture, the numbers as in facts of live nodes."""
    implementer, part = _first(root, "CPUImplementer"), _first(root, "CPUPart")
    return f"implementer {implementer} part {part}" if implementer and part else _first(root, "CPUModel")


def _firmware(says: dict[str, str]) -> Firmware:
    return Firmware(
        vendor=says.get("DMISysVendor", "").strip(),
        product=says.get("DMIProductName", "").strip(),
        board=says.get("DMIBoardName", "").strip(),
        bios_vendor=says.get("DMIBIOSVendor", "").strip(),
        bios_version=says.get("DMIBIOSVersion", "").strip(),
        bios_date=says.get("DMIBIOSDate", "").strip(),
        memory_mode=says.get("MemoryMode", "").strip().lower(),
        cluster_mode=says.get("ClusterMode", "").strip().lower(),
    )


def _processor(root: ET.Element, model: str, topology: Topology) -> ProcessorFacts:
    greatest = _frequencies(root, "FrequencyMaxMHz", topology.processors)
    base = _frequencies(root, "FrequencyBaseMHz", topology.processors)
    base_frequency = (base[0], "hwloc's FrequencyBaseMHz") if base and len(set(base)) == 1 else named_hz(model)
    return ProcessorFacts(
        vendor=_first(root, "CPUVendor"),
        family=whole_number(_first(root, "CPUFamilyNumber")),
        model_number=whole_number(_first(root, "CPUModelNumber")),
        stepping=whole_number(_first(root, "CPUStepping")),
        hardware_maximum_hz=greatest,
        base_hz=base_frequency[0],
        base_hz_source=base_frequency[1],
    )


def _frequencies(root: ET.Element, info: str, processors: Numbers) -> tuple[float, ...]:
    """Hz of each processor, from the kinds of processors that hwloc distinguishes; empty if one of them is not
    reported.
    """
    by_processor: dict[int, float] = {}
    for kind in root.iterfind("cpukind"):
        megahertz = infos(kind).get(info, "")
        if MEGAHERTZ.fullmatch(megahertz):
            by_processor.update(dict.fromkeys(masked(kind.get("cpuset", "")) or (), int(megahertz) * 1e6))
    return tuple(by_processor[each] for each in processors) if all(each in by_processor for each in processors) else ()
