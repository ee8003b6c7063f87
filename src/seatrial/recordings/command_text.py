"""Facts of a node from what lscpu, dmidecode and lstopo print, alone or one after another."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import MemoryFacts, ProcessorFacts, Topology
from seatrial.model.system import Firmware, SystemFacts
from seatrial.node.frame import FactsFormatError
from seatrial.node.memory import dmi_dimms
from seatrial.recordings.lstopo_text import lstopo_topology
from seatrial.recordings.sysinfo import lscpu_numa_nodes, lscpu_processor, whole

LSCPU_LINE = re.compile(r"\s{0,8}([A-Z][\w() /.-]{1,40}?):\s+(\S.*)")
LSCPU_NEEDS = ("Architecture", "CPU(s)")
MODEL = "Model name"
ARCHITECTURES = r"x86_64|i[3-6]86|aarch64|armv\dl|ppc64(?:le)?|s390x|riscv64"
TRANSLATED_MARKS = tuple(
    re.compile(rf"^[^\n:：]{{1,60}}[:：]\s*+(?:{words})\s*$", re.MULTILINE)
    for words in (ARCHITECTURES, "Little Endian|Big Endian")
)
"""The names of architectures and of the order of bytes are the same in all languages."""
IN_ENGLISH = "Run it with LC_ALL=C."
DMI_HANDLE = re.compile(r"Handle 0x[0-9A-Fa-f]+, DMI type [0-9]{1,18}")
DMI_FIELD = re.compile(r"\t([A-Z][^:\t]{1,40}): *+(.*)")
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
        rf"^# dmidecode [0-9]|^Handle 0x[0-9A-Fa-f]+, DMI type|^(?:{'|'.join(DMI_TITLES)})\n\t", re.MULTILINE
    ),
    "lstopo": MACHINE,
}
"""Beginning of each command's output."""
PLAIN = (
    "kernel", "boot_id", "cpu_model", "processors", "cores", "sockets", "numa_nodes", "memory_bytes", "interfaces",
    "hcas", "pci", "mpi_versions", "tcp_segments_sent", "tcp_segments_resent", "oom_kills",
)  # fmt: skip
"""Facts outside the groups."""
NOT_PRINTED = "none of lscpu, dmidecode and lstopo printed it"
WITH_PROCESSORS = "Record it without --no-smt, --only and the like, or better use `seatrial gather`."
EXPECTED = "Record `lscpu; dmidecode; lstopo` of a node in one file, or better `seatrial gather`."


def commands_in(text: str) -> frozenset[str]:
    """Which of these commands printed a text, or its beginning. Other lines may precede it."""
    return frozenset(command for command, opening in OPENINGS.items() if opening.search(text))


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
    if not (cpu or blocks or machine):
        if MACHINE.search(text):
            raise FactsFormatError("This output of lstopo shows no logical processors (PU).", WITH_PROCESSORS)
        raise FactsFormatError("This text contains no output of lscpu, dmidecode or lstopo.", EXPECTED)
    processors, sockets = whole(cpu, "CPU(s)"), whole(cpu, "Socket(s)") or whole(cpu, "CPU socket(s)")
    topology = machine.topology if machine else Topology(numa_nodes=lscpu_numa_nodes(cpu), source="lscpu")
    dimms = dmi_dimms(tuple(_memory_lines(blocks)))
    memories = [node.memory_bytes for node in topology.numa_nodes if node.memory_bytes is not None]
    facts = NodeFacts(
        hostname=name,
        complete=True,
        cpu_model=_model_name(sections) or (machine.cpu_model if machine else "") or _processor_name(blocks),
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
        system=SystemFacts(firmware=_firmware(blocks)),
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
    return all(mark.search(text) for mark in TRANSLATED_MARKS)


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
    starting = False
    for line in lines:
        if DMI_HANDLE.match(line):
            starting = True
        elif (starting and line.strip()) or line.rstrip() in DMI_TITLES:
            blocks.append((line.strip(), []))
            starting = False
        elif blocks and line.startswith("\t"):
            blocks[-1][1].append(line)
        elif line.strip():
            starting = False
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


def _processor_name(blocks: list[tuple[str, list[str]]]) -> str:
    return _fields(blocks, "Processor Information").get("Version", "")


def _firmware(blocks: list[tuple[str, list[str]]]) -> Firmware:
    system, board, bios = (_fields(blocks, f"{part} Information") for part in ("System", "Base Board", "BIOS"))
    return Firmware(
        vendor=system.get("Manufacturer", ""),
        product=system.get("Product Name", ""),
        board=board.get("Product Name", ""),
        bios_vendor=bios.get("Vendor", ""),
        bios_version=bios.get("Version", ""),
        bios_date=bios.get("Release Date", ""),
    )


def _absent(facts: NodeFacts) -> dict[str, str]:
    groups: Mapping[str, msgspec.Struct] = {
        "topology": facts.topology, "processor": facts.processor, "memory": facts.memory,
        "system.firmware": facts.system.firmware,
    }  # fmt: skip
    absent = dict.fromkeys(("settings", "system.limits", "system.clock", "system.mounts", "software"), NOT_PRINTED)
    if not facts.memory.dimms:
        absent["memory.dimms"] = "no output of dmidecode describes memory modules"
    absent |= {field: NOT_PRINTED for field in PLAIN if not getattr(facts, field)}
    for group, record in groups.items():
        empty = (field for field in record.__struct_fields__ if getattr(record, field) in (None, "", (), {}))
        absent = {f"{group}.{field}": NOT_PRINTED for field in empty if field != "source"} | absent
    return absent
