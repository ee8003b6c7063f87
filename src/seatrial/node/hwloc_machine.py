"""A whole recorded machine, from hwloc's XML."""

import re
from xml.etree import ElementTree as ET

import msgspec

from seatrial.model.facts import NodeFacts, ProcessorFacts, Topology
from seatrial.model.system import Firmware, SystemFacts
from seatrial.node.frame import whole_number, without_value
from seatrial.node.gpus import facts_from_smi, is_smi
from seatrial.node.hwloc_devices import NOT_TOLD, PLACES, hwloc_devices, infos, parse_hwloc
from seatrial.node.nccl_topology import facts_from_nccl, is_nccl_topology
from seatrial.node.processor import named_hz
from seatrial.node.processor_sets import Numbers, masked
from seatrial.node.topology import xml_topology

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
    if is_nccl_topology(text):
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
