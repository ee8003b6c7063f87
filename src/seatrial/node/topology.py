"""Cores, NUMA nodes and caches, from hwloc's XML where the node has it, else from sysfs."""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

import msgspec

from seatrial.model.facts import Cache, Core, NumaNode, Topology
from seatrial.node.frame import FactsFormatError, Frame, natural_number
from seatrial.node.hwloc_devices import PLACES, parse_hwloc
from seatrial.node.processor_sets import Numbers, masked, number, package_number
from seatrial.node.topology_sysfs import CPU, NODES, ROWS, node_distances, sysfs_topology

MEMORY = ' local_memory="'
REAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
LOCAL = 10
KINDS = {"0": "unified", "1": "data", "2": "instruction"}


class Ancestry(NamedTuple):
    """What an object lies in: package, core, caches, each by its element's place in the document."""

    package: int | None = None
    core: int | None = None
    caches: Numbers = ()


class Walked(msgspec.Struct, kw_only=True):
    """What a walk through the objects collects."""

    packages: dict[int, int | None] = {}
    """Place in the document -> the firmware's number."""
    cores: dict[int, tuple[int | None, list[int]]] = {}
    """Place -> place of its package, its processors."""
    caches: dict[int, ET.Element] = {}
    sharers: Counter[int] = msgspec.field(default_factory=Counter)
    nodes: dict[int, tuple[Numbers, int | None]] = {}
    """Number -> nearby processors, place of its memory in the document's memories."""
    processors: set[int] = set()


def xml_topology(text: str) -> Topology:
    """The topology of an export of hwloc 1, 2 or 3. Raises FactsFormatError where it is none.

    Nodes of the same model differ only in the bytes of memory: these are removed first, so that the rest is read once.
    """
    first, *rest = text.split(MEMORY)
    pieces = [piece.partition('"') for piece in rest]
    # Instead of the bytes, their place among all of them.
    skeleton = _skeleton(first + "".join(f'{MEMORY}{place}"{piece[2]}' for place, piece in enumerate(pieces)))
    amounts = [natural_number(piece[0]) for piece in pieces]
    nodes = tuple(
        node if node.memory_bytes is None else msgspec.structs.replace(node, memory_bytes=amounts[node.memory_bytes])
        for node in skeleton.numa_nodes
    )
    return msgspec.structs.replace(skeleton, numa_nodes=nodes)


@functools.lru_cache(maxsize=64)
def _skeleton(text: str) -> Topology:
    """Everything but the bytes of memory, which are replaced by their index among `local_memory` in the text."""
    root = parse_hwloc(text)
    walked = _walk(root)
    _add_only_node(walked)
    homes = _homes(walked)
    cores = [
        Core(
            processors=tuple(sorted(held)),
            package=None if package is None else walked.packages[package],
            numa_node=homes.get(min(held)),
        )
        for package, held in walked.cores.values()
        if held
    ]
    return Topology(
        cores=tuple(sorted(cores, key=lambda core: core.processors)),
        numa_nodes=_nodes(root, walked, homes),
        caches=_caches(walked),
        source="hwloc XML",
        order=tuple(core.processors[0] for core in cores),
    )


def _walk(root: ET.Element) -> Walked:
    """Through all objects, without recursion: the depth is the text's to choose."""
    walked = Walked()
    waiting = [(each, Ancestry()) for each in root.iterfind("object")]
    place = 0
    while waiting:
        element, around = waiting.pop()
        place += 1
        kind, index = element.get("type", ""), number(element.get("os_index", ""))
        name = PLACES.get(kind, kind)
        if name == "PU" and index is not None and index not in walked.processors:
            walked.processors.add(index)
            walked.sharers.update(around.caches)
            if around.core is not None:
                walked.cores[around.core][1].append(index)
        elif name == "Package":
            walked.packages[place] = package_number(element.get("os_index", ""))
            around = around._replace(package=place)
        elif name == "Core":
            walked.cores[place] = (around.package, [])
            around = around._replace(core=place)
        elif name == "NUMANode" and index is not None:
            walked.nodes[index] = (masked(element.get("cpuset", "")) or (), number(element.get("local_memory", "")))
        elif "Cache" in name and name != "MemorySideCache":
            walked.caches[place] = element
            around = around._replace(caches=(*around.caches, place))
        elif name == "Machine" and element.get("local_memory"):
            walked.nodes.setdefault(-1, ((), number(element.get("local_memory", ""))))
        waiting.extend((each, around) for each in reversed(element.findall("object")))
    return walked


def _add_only_node(walked: Walked) -> None:
    """hwloc 1 leaves out a NUMA node that is the only one, and gives its memory to the machine."""
    memory = walked.nodes.pop(-1, ((), None))[1]
    if memory is not None and not walked.nodes:
        walked.nodes[0] = (tuple(sorted(walked.processors)), memory)


def _homes(walked: Walked) -> dict[int, int]:
    """Processor -> its NUMA node in the kernel's eyes.

    hwloc calls every memory near a processor its own, HBM and GPU memory too; the kernel only one: that of the fewest
    processors, and among equals the first, for firmware numbers plain memory first.
    """
    homes: dict[int, int] = {}
    for index in sorted(walked.nodes, key=lambda each: (len(walked.nodes[each][0]), each)):
        for processor in walked.nodes[index][0]:
            homes.setdefault(processor, index)
    return homes


def _nodes(root: ET.Element, walked: Walked, homes: dict[int, int]) -> tuple[NumaNode, ...]:
    indexes = tuple(sorted(walked.nodes))
    rows = _distances(root, tuple(walked.nodes))
    return tuple(
        NumaNode(
            index=index,
            processors=tuple(sorted(each for each in walked.processors if homes.get(each) == index)),
            memory_bytes=walked.nodes[index][1],
            distances=rows.get(index, ()),
        )
        for index in indexes
    )


def _distances(root: ET.Element, indexes: Numbers) -> dict[int, Numbers]:
    """NUMA node -> its row, where a matrix is the kernel's and holds every node. `indexes`: in the document's order.

    hwloc writes none for an only node, whose distance to itself is 10 (ACPI specification, SLIT).
    """
    if len(indexes) == 1:
        return {indexes[0]: (LOCAL,)}
    for matrix in root.iterfind("distances2"):
        if matrix.get("name") == "NUMALatency" and matrix.get("indexing") == "os":
            order = [number(word) for word in _words(matrix, "indexes")]
            rows = _rows(order, _words(matrix, "u64values"), indexes)
            if rows:
                return rows
    for matrix in root.iter("distances"):  # hwloc 1: multiples of a base, which is the smallest of them
        base = _real(matrix.get("latency_base", ""))
        values = [f"{base * _real(each.get('value', '')):.0f}" for each in matrix.iterfind("latency")]
        rows = _rows(list(indexes), values, indexes)
        if rows and base:
            return rows
    return {}


def _words(matrix: ET.Element, tag: str) -> list[str]:
    return [word for each in matrix.iterfind(tag) for word in (each.text or "").split()]


def _real(text: str) -> float:
    return float(text) if REAL.fullmatch(text) else 0.0


def _rows(order: Sequence[int | None], values: Sequence[str], indexes: Numbers) -> dict[int, Numbers]:
    """The matrix `values`, whose rows and columns are in `order`, by the nodes of `indexes`; none if it lacks any."""
    wanted = sorted(indexes)
    if sorted(each for each in order if each is not None) != wanted or len(values) != len(wanted) ** 2:
        return {}
    places = [order.index(index) for index in wanted]
    return {
        index: node_distances(" ".join(values[row * len(order) + column] for column in places), len(wanted))
        for index, row in zip(wanted, places, strict=True)
    }


def _caches(walked: Walked) -> tuple[Cache, ...]:
    counts: Counter[tuple[int, str, int, int]] = Counter()
    for place, element in walked.caches.items():
        level, size = number(element.get("depth", "")), element.get("cache_size", "")
        if level is None or not walked.sharers[place]:
            continue
        kind = KINDS.get(element.get("cache_type", ""), "")
        counts[level, kind, natural_number(size) or 0, walked.sharers[place]] += 1
    return tuple(
        Cache(level=level, kind=kind, size_bytes=size or None, shared_by=sharers, count=count)
        for (level, kind, size, sharers), count in sorted(counts.items())
    )


HWLOC = tuple(
    f"{program} --of xml --no-io {option}"
    for program in ("lstopo-no-graphics", "lstopo")
    for option in ("--disallowed", "--whole-system")
)
"""What the collector may have run; hwloc 2 and hwloc 1 call the processors that a job may not use differently."""


def read_topology(frame: Frame) -> tuple[Topology, dict[str, str]]:
    """The topology of a frame. Second: name of a fact, with the group in front of it -> why it is not known.

    hwloc's XML wins where it is valid and complete. The kernel's files give the same: cores, packages, NUMA nodes,
    caches.
    """
    absent: dict[str, str] = {}
    topology = _from_hwloc(frame, absent) or sysfs_topology(frame)
    if not topology.cores:
        absent["topology.cores"] = frame.reason(ROWS)
    if not topology.numa_nodes:
        absent["topology.numa_nodes"] = frame.reason(NODES)
    if not topology.caches:
        absent["topology.caches"] = frame.reason(f"{CPU}/cache/index0")
    return topology, absent


def _from_hwloc(frame: Frame, absent: dict[str, str]) -> Topology | None:
    for command in HWLOC:
        answer = frame.commands.get(command)
        if answer is None or answer.status != 0:
            continue
        try:
            return xml_topology("\n".join(answer.lines))
        except FactsFormatError as error:
            absent["topology.source"] = f"{command}: {error.what}"
    return None
