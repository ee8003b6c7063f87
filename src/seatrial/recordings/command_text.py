"""Facts of a node from what lscpu, dmidecode, lstopo and ipmitool print, alone or one after another."""

import re
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import NamedTuple

import msgspec

from seatrial.importers.printed_text import by_node, plain
from seatrial.model.facts import (
    Core,
    MemoryFacts,
    NetworkInterface,
    NodeFacts,
    NumaNode,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca
from seatrial.model.system import Firmware, SystemFacts
from seatrial.node.frame import FactsFormatError, labelled, without_value
from seatrial.node.memory import dmi_dimms
from seatrial.node.pci import ADDRESS
from seatrial.node.sensors import controller_alarms, controller_sensors
from seatrial.node.system import sub_numa_mode
from seatrial.recordings.sysinfo import lscpu_numa_nodes, lscpu_processor, whole

LSCPU_LINE = re.compile(r"\s{0,8}([A-Z][\w() /.-]{1,40}?):\s+(\S.*)")
LSCPU_NEEDS = ("Architecture", "CPU(s)")
MODEL = "Model name"
ARCHITECTURES = r"x86_64|i[3-6]86|aarch64|armv\dl|ppc64(?:le)?|s390x|riscv64"
TRANSLATED_MARKS = tuple(
    re.compile(rf"^[^\n:：]{{1,60}}[:：]\s*+(?:{words})\s*$", re.MULTILINE)
    for words in (ARCHITECTURES, "Little Endian|Big Endian|32-bit, 64-bit")
)
"""The names of architectures, of the order of bytes and of modes are the same in all languages."""
FRENCH = re.compile(rf"^Architecture\s:\s*+(?:{ARCHITECTURES})\s*$", re.MULTILINE)
"""A space is before each colon in French, and the name of the first field is the English one."""
IN_ENGLISH = "Run it with LC_ALL=C."
DMI_HANDLE = re.compile(r"Handle 0x[0-9A-Fa-f]+, DMI type [0-9]{1,18}")
DMI_FIELD = re.compile(r"[\t ]{1,16}([A-Z][^:\t]{1,40}): *+(.*)")
INDENTED = ("\t", "  ")
"""A terminal shows blanks for tabs, and so they are copied out of it."""
DMI_TITLES = (
    "BIOS Information",
    "System Information",
    "Base Board Information",
    "Processor Information",
    "Memory Device",
)
"""Titles of the structures that are read: `dmidecode -q` prints no handles."""
MACHINE = re.compile(r"^Machine(?: L#0)? \(", re.MULTILINE)
OPENINGS = {
    "lscpu": re.compile(r"^Architecture:\s", re.MULTILINE),
    "dmidecode": re.compile(
        rf"^# dmidecode [0-9]|^[ \t]{{0,16}}Handle 0x[0-9A-Fa-f]+, DMI type|^(?:{'|'.join(DMI_TITLES)})\n[\t ]",
        re.MULTILINE,
    ),
    "lstopo": MACHINE,
    "ipmitool": re.compile(
        r"^Firmware Revision {2,}: |^[^|\n]{1,40}\|[^|\n]{1,40}\| *(?:ok|ns|cr|nc|nr)\b", re.MULTILINE
    ),
}
"""Beginning of each command's output."""
NOT_PRINTED = "none of lscpu, dmidecode, lstopo and ipmitool printed it"
WITH_PROCESSORS = "Record it without --no-smt, --only and the like, or better use `seatrial facts --output FILE`."
EXPECTED = "Record `lscpu; dmidecode; lstopo` of a node in one file, or better `seatrial facts --output FILE`."
OBJECT = re.compile(r"(Package|Socket|NUMANode|Core|PU)(?:\([^)]{0,200}\))? [LP]#([0-9]{1,6})(?: \(([^)]{0,400})\))?")
"""`lstopo -p` prints physical numbers (P#) alone; otherwise they are in the parentheses."""
PHYSICAL = re.compile(r"P#([0-9]{1,6})")
SIZE = re.compile(r"(?<![\w#])([0-9]{1,9})(KB|MB|GB|TB|KiB|MiB|GiB|TiB)\b")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""hwloc prints KB for 1024 bytes."""
PCI = re.compile(r"PCI ((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?: \(([^)]{0,400})\))?")
VERBOSE_PCI = re.compile(
    r"PCI [^=]{0,40}\bbusid=((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) .{0,40}?class=[0-9a-f]{4}\(([^)]*)\)"
)
"""`lstopo -v`: PCI L#1 (busid=0000:00:03.0 id=1af4:1041 class=0200(Ethernet) ...)."""
VERBOSE_MODEL = re.compile(r'\bCPUModel="([^"]{1,200})"')
DEVICE = re.compile(
    r"(Net|OpenFabrics|Network|Block|GPU|CoProc)(?:\([^)]{0,200}\))? (?:L#[0-9]{1,9} )?"
    r'(?:\([^()]{0,400}\) )?"([^"\s]{1,64})"'
)
KINDS = {
    "InfiniBand": PciKind.NETWORK, "Ethernet": PciKind.NETWORK, "Network": PciKind.NETWORK, "Fabric": PciKind.NETWORK,
    "3D": PciKind.GPU, "Co-Processor": PciKind.GPU, "ProcessingAccelerator": PciKind.GPU, "NVMExp": PciKind.NVME,
}  # fmt: skip
"""hwloc's short names of PCI classes (hwloc_pci_class_string). VGA is left out: most are consoles."""


def commands_in(text: str) -> frozenset[str]:
    """Which of these commands printed a text, or its beginning. Other lines may precede it."""
    return frozenset(command for command, opening in OPENINGS.items() if opening.search(text))


def texts_by_node(text: str, name: str) -> dict[str, str]:
    """Node -> what was printed on it, where pdsh, clush or Ansible name nodes; else all under `name`.

    The other text is without what a launcher, a mail or a page has put before its lines.
    """
    parts = by_node(text)
    if sum(bool(commands_in(part)) for part in parts.values()) > 1:
        return parts
    return {name: text if commands_in(text) else dedent(plain(text))}


def facts_from_text(text: str, name: str) -> NodeFacts:
    """The facts in the output of these commands, in any order, of the node `name`.

    Raises FactsFormatError for a text with none of them.
    """
    lines = text.splitlines()
    sections, blocks = lscpu_sections(lines), dmi_blocks(lines)
    cpu = sections[0] if sections else {}
    if not cpu and is_translated(text):
        raise FactsFormatError("This looks like lscpu's output in another language than English.", IN_ENGLISH)
    machine = lstopo_topology(lines) if MACHINE.search(text) else None
    if not (cpu or blocks or machine or OPENINGS["ipmitool"].search(text)):
        if MACHINE.search(text):
            raise FactsFormatError("This output of lstopo shows no logical processors (PU).", WITH_PROCESSORS)
        raise FactsFormatError("This text contains no output of lscpu, dmidecode, lstopo or ipmitool.", EXPECTED)
    processors, sockets = whole(cpu, "CPU(s)"), whole(cpu, "Socket(s)") or whole(cpu, "CPU socket(s)")
    topology = machine.topology if machine else Topology(numa_nodes=lscpu_numa_nodes(cpu), source="lscpu")
    dimms = dmi_dimms(tuple(_memory_lines(blocks)))
    memories = [node.memory_bytes for node in topology.numa_nodes if node.memory_bytes is not None]
    facts = NodeFacts(
        hostname=name,
        complete=True,
        cpu_model=_model_name(sections)
        or (machine.cpu_model if machine else "")
        or _fields(blocks, "Processor Information").get("Version", ""),
        processors=processors or len(topology.processors) or None,
        cores=sum(filter(None, map(_cores, sections))) or len(topology.cores) or None,
        sockets=sockets or len(topology.packages) or None,
        numa_nodes=whole(cpu, "NUMA node(s)") or len(topology.numa_nodes) or None,
        memory_bytes=sum(memories) or sum(dimm.size_bytes or 0 for dimm in dimms) or None,
        interfaces=machine.interfaces if machine else (),
        hcas=machine.hcas if machine else (),
        pci=machine.pci if machine else (),
        topology=topology,
        processor=_processor(sections, processors),
        memory=MemoryFacts(dimms=dimms, source="dmidecode" if dimms else ""),
        system=SystemFacts(
            firmware=_firmware(blocks, lines, _cluster_mode(cpu)),
            sensors=tuple(controller_sensors(lines)),
            alarms=controller_alarms(lines),
        ),
    )
    return msgspec.structs.replace(facts, absent=_absent(facts))


def lscpu_sections(lines: list[str]) -> list[dict[str, str]]:
    """Field -> content of lscpu's output, once for each type of cores; nothing where a field that it always prints is
    missing.

    A section begins with the name of a model. What is not of one type (all processors, NUMA nodes) is in all sections.
    """
    words: dict[str, str] = {}
    types: list[dict[str, str]] = []
    for line in lines:
        if match := LSCPU_LINE.fullmatch(line):
            field, content = match[1], match[2].strip()
            if field == LSCPU_NEEDS[0] and field in words:
                break  # a second output
            if field == MODEL:
                types.append({})
            if types:
                types[-1].setdefault(field, content)
            words.setdefault(field, content)
    if not all(field in words for field in LSCPU_NEEDS):
        return []
    return [words | one for one in types] or [words]


def is_translated(text: str) -> bool:
    """Whether it is lscpu's output in another language than English: what it names stays, and its fields change."""
    return FRENCH.search(text) is not None or all(mark.search(text) for mark in TRANSLATED_MARKS)


def _cores(section: Mapping[str, str]) -> int | None:
    """Number of cores of one type."""
    sockets = whole(section, "Socket(s)") or whole(section, "CPU socket(s)")
    per_socket = whole(section, "Core(s) per socket")
    if per_socket and sockets:
        return per_socket * sockets
    clusters, per_cluster = whole(section, "Cluster(s)"), whole(section, "Core(s) per cluster")
    return per_cluster * clusters if per_cluster and clusters else None


def _model_name(sections: list[dict[str, str]]) -> str:
    """`Cortex-X925 (10 cores) + Cortex-A725 (10 cores)` where there are several types of cores."""
    if len(sections) < 2:
        return sections[0].get(MODEL, "") if sections else ""
    return " + ".join(f"{one[MODEL]} ({cores} cores)" if (cores := _cores(one)) else one[MODEL] for one in sections)


def _processor(sections: list[dict[str, str]], processors: int | None) -> ProcessorFacts:
    """The processor; if there are several types of cores, a frequency for each processor, the first type first."""
    first = lscpu_processor(sections[0] if sections else {}, processors)
    if len(sections) < 2:
        return first
    counts = [(_cores(one) or 0) * (whole(one, "Thread(s) per core") or 1) for one in sections]
    of_types = [lscpu_processor(one, count) for one, count in zip(sections, counts, strict=True)]
    highest = tuple(hz for one, count in zip(of_types, counts, strict=True) if count for hz in one.hardware_maximum_hz)
    return msgspec.structs.replace(
        first,
        hardware_maximum_hz=highest if len(highest) == processors else (),
        smt_active=any(one.smt_active for one in of_types) if first.smt_active is not None else None,
    )


def dmi_blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Title and lines of each structure that dmidecode prints."""
    blocks: list[tuple[str, list[str]]] = []
    starting = inside = False
    for line in lines:
        words = line.strip()
        if DMI_HANDLE.match(words):
            starting = True
        elif (starting and words) or words in DMI_TITLES:
            blocks.append((words, []))
            starting, inside = False, True
        elif inside and line.startswith(INDENTED):
            blocks[-1][1].append(line)
        elif words:
            starting = inside = False
    return blocks


def _fields(blocks: list[tuple[str, list[str]]], title: str) -> dict[str, str]:
    """Fields of the first structure of that title."""
    inside = next((lines for each, lines in blocks if each == title), [])
    matches = (DMI_FIELD.fullmatch(line) for line in inside)
    return {match[1]: match[2].strip() for match in matches if match}


def _memory_lines(blocks: list[tuple[str, list[str]]]) -> Iterator[str]:
    for title, lines in blocks:
        if title == "Memory Device":
            yield title
            yield from lines


def _cluster_mode(cpu: Mapping[str, str]) -> str:
    """The mode by the NUMA nodes with processors; "" where some are not listed, and for virtual machines."""
    sockets = whole(cpu, "Socket(s)") or whole(cpu, "CPU socket(s)") or 0
    listed = lscpu_numa_nodes(cpu)
    nodes = sum(bool(node.processors) for node in listed)
    if not (nodes and sockets) or len(listed) != whole(cpu, "NUMA node(s)") or "Hypervisor vendor" in cpu:
        return ""
    by_socket = (nodes // sockets,) * sockets if nodes % sockets == 0 else (nodes,) * (nodes == 1)
    model = whole(cpu, "CPU family"), whole(cpu, "Model")
    return sub_numa_mode(cpu.get("Vendor ID", ""), model, by_socket, sockets)


def _firmware(blocks: list[tuple[str, list[str]]], lines: list[str], cluster_mode: str) -> Firmware:
    system, board, bios = (_fields(blocks, f"{part} Information") for part in ("System", "Base Board", "BIOS"))
    return Firmware(
        vendor=system.get("Manufacturer", ""),
        product=system.get("Product Name", ""),
        board=board.get("Product Name", ""),
        bios_vendor=bios.get("Vendor", ""),
        bios_version=bios.get("Version", ""),
        bios_date=bios.get("Release Date", ""),
        bmc_version=labelled(tuple(lines), " : ").get("Firmware Revision", ""),
        cluster_mode=cluster_mode,
    )


def _absent(facts: NodeFacts) -> dict[str, str]:
    groups = ("settings", "system.limits", "system.clock", "system.mounts", "software")
    why = "no output of dmidecode describes memory modules"
    absent = dict.fromkeys((*groups, *without_value(facts)), NOT_PRINTED)
    return absent if facts.memory.dimms else absent | {"memory.dimms": why}


class PciText(NamedTuple):
    """A device under construction: its address, what hwloc calls its class, and the names of its software devices."""

    address: str
    class_name: str
    names: list[str]


class MachineText(NamedTuple):
    """What the text shows of a machine."""

    topology: Topology
    pci: tuple[PciDevice, ...]
    hcas: tuple[Hca, ...]
    interfaces: tuple[NetworkInterface, ...]
    cpu_model: str = ""
    """Only `lstopo -v` prints it."""


class _TreePlace:
    """The package and the NUMA node that the present line is in, by its indentation."""

    def __init__(self) -> None:
        self.package: tuple[int, int] | None = None
        self.node: tuple[int, int] | None = None
        self._cores = 0

    def enter_node(self, indent: int, number: int, cores: int) -> None:
        """Several nodes without cores between them are near the same cores, and the first is their main memory."""
        if self.node is None or self.node[0] != indent or cores > self._cores:
            self.node = (indent, number)
            self._cores = cores

    def leave(self, indent: int) -> None:
        """Forget what is not above a line with this indentation. A NUMA node is a child beside the cores it is near."""
        if self.package and indent <= self.package[0]:
            self.package = None
        if self.node and indent < self.node[0]:
            self.node = None


def lstopo_topology(lines: list[str]) -> MachineText | None:
    """None where the text shows no core or processor. Sizes are rounded as lstopo prints them."""
    place = _TreePlace()
    cores: list[Core] = []
    members: list[int] = []
    nodes: dict[int, NumaNode] = {}
    devices: list[PciText] = []
    interfaces: list[NetworkInterface] = []
    hcas: list[Hca] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        place.leave(indent)
        for kind, logical, attributes in OBJECT.findall(line):
            physical = PHYSICAL.search(attributes)
            number = int(physical[1]) if physical else int(logical)
            if kind in ("Package", "Socket"):
                place.package = (indent, number)
            elif kind == "NUMANode":
                place.enter_node(indent, number, len(cores))
                nodes[number] = NumaNode(index=number, memory_bytes=_bytes(attributes))
            elif kind == "Core":
                members = []
                cores.append(Core(processors=(), package=_number(place.package), numa_node=_number(place.node)))
            elif cores:
                members.append(number)
                cores[-1] = Core(
                    processors=tuple(sorted(members)), package=cores[-1].package, numa_node=cores[-1].numa_node
                )
        if match := PCI.search(line) or VERBOSE_PCI.search(line):
            devices.append(PciText(match[1] if match[1].count(":") > 1 else f"0000:{match[1]}", match[2] or "", []))
        for kind, name in DEVICE.findall(line):
            if devices:
                devices[-1].names.append(name)
            address = devices[-1].address if devices else ""
            if kind in ("Net", "Network"):
                interfaces.append(NetworkInterface(name=name, pci_address=address))
            elif kind == "OpenFabrics":
                hcas.append(Hca(name=name, pci_address=address))
    whole = tuple(core for core in cores if core.processors)
    if not whole:
        return None
    return MachineText(
        topology=Topology(cores=whole, numa_nodes=_with_processors(nodes, whole), source="lstopo"),
        pci=tuple(sorted(map(_device, devices), key=lambda device: device.address)),
        hcas=tuple(hcas),
        interfaces=tuple(interfaces),
        cpu_model=next((match[1] for match in map(VERBOSE_MODEL.search, lines) if match), ""),
    )


def _number(place: tuple[int, int] | None) -> int | None:
    return place[1] if place else None


def _bytes(text: str) -> int | None:
    match = SIZE.search(text)
    return int(match[1]) * UNITS[match[2][0]] if match else None


def _with_processors(nodes: dict[int, NumaNode], cores: tuple[Core, ...]) -> tuple[NumaNode, ...]:
    return tuple(
        NumaNode(
            index=number,
            processors=tuple(sorted(each for core in cores if core.numa_node == number for each in core.processors)),
            memory_bytes=nodes[number].memory_bytes,
        )
        for number in sorted(nodes)
    )


def _device(text: PciText) -> PciDevice:
    address = text.address if ADDRESS.fullmatch(text.address) else ""
    return PciDevice(
        address=address,
        kind=KINDS.get(text.class_name, PciKind.OTHER),
        names=tuple(sorted(text.names)),
        path=(PciHop(address=address),),
    )
