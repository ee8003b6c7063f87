"""Cores, NUMA nodes and caches, from the kernel's files of a frame, and the order in which hwloc numbers cores."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.model.facts import Cache, Core, NumaNode, Topology
from seatrial.node.frame import Frame, natural_number
from seatrial.node.processor_sets import Numbers, listed, masked, number, package_number

CACHES = "/sys/devices/system/cpu/cpu[0-9]*/cache/index"


def logical_order(cores: Sequence[Core], nodes: Iterable[NumaNode], shared: Iterable[Numbers]) -> Numbers:
    """The first processors of the cores, in hwloc's order: its core 0, its core 1, and so on.

    Contained parts are ordered by the smallest processor of each: packages, NUMA nodes, and what is `shared`
    (caches, of which each lists its processors).
    """
    packages: dict[int, set[int]] = {}
    for core in cores:
        if core.package is not None:
            packages.setdefault(core.package, set()).update(core.processors)
    processors = {processor for core in cores for processor in core.processors}
    sets = {
        frozenset(part) & processors for part in (*packages.values(), *(node.processors for node in nodes), *shared)
    }
    holders = sorted(sets, key=len, reverse=True)
    least = {holder: min(holder) for holder in holders if holder}
    around: dict[int, list[int]] = {core.processors[0]: [] for core in cores}
    for holder, first in least.items():
        for processor in holder & around.keys():
            around[processor].append(first)
    return tuple(sorted(around, key=lambda processor: (*around[processor], processor)))


def _shared(frame: Frame) -> Iterator[Numbers]:
    for (pattern, item), column in frame.columns.items():
        if pattern.startswith(CACHES) and item in ("shared_cpu_list", "shared_cpu_map"):
            parse = listed if item == "shared_cpu_list" else masked
            yield from (held for cell in set(column.values()) if (held := parse(cell)))


CPU = "/sys/devices/system/cpu/cpu[0-9]*"
ROWS = f"{CPU}/topology"
ONLINE = "/sys/devices/system/cpu/online"
NODES = "/sys/devices/system/node/node[0-9]*"
NODE = "/sys/devices/system/node/node"
CACHE_PLACES = range(10)
UNITS = {"K": 1 << 10, "M": 1 << 20}

Cells = tuple[str, ...]
CacheKind = tuple[int, str, int | None, int]
"""Level, kind, bytes, sharers."""


def sysfs_topology(frame: Frame) -> Topology:
    """The online processors of a frame, their cores and packages, the NUMA nodes and caches; empty where unknown."""
    indexes, sets, totals, rows = _node_cells(frame)
    online = frame.values.get(ONLINE, "")
    cores = sysfs_cores(frame)
    nodes = _nodes(indexes, sets, rows, online)
    return Topology(
        cores=cores,
        numa_nodes=tuple(
            msgspec.structs.replace(each, memory_bytes=total)
            for each, total in zip(nodes, map(node_memory_bytes, totals), strict=True)
        ),
        caches=read_caches(frame),
        source="sysfs" if cores or nodes else "",
        order=logical_order(cores, nodes, set(_shared(frame))),
    )


def sysfs_cores(frame: Frame) -> tuple[Core, ...]:
    """The cores of a frame's online processors, sorted by their first one; empty where the core of a processor is
    unknown.
    """
    indexes, sets, _, _ = _node_cells(frame)
    return _cores(_processor_rows(frame), frame.values.get(ONLINE, ""), indexes, sets)


def node_memory_bytes(line: str) -> int | None:
    """ "Node 0 MemTotal: 8387892 kB" -> bytes; the kernel's "kB" are 1024 bytes."""
    words = line.split()
    kibibytes = natural_number(words[-2]) if len(words) >= 2 and words[-1] == "kB" else None
    return None if kibibytes is None else kibibytes * 1024


def _processor_rows(frame: Frame) -> tuple[Cells, ...]:
    """Number, package, core, list and mask of siblings of each processor; "?" if not reported."""
    masks = frame.columns.get((ROWS, "thread_siblings"), {})
    return tuple(
        (
            row["*"],
            row.get("physical_package_id", "?"),
            row.get("core_id", "?"),
            row.get("thread_siblings_list", "?"),
            masks.get(row["*"], "?"),
        )
        for row in frame.tables.get(ROWS, ())
    )


def _node_cells(frame: Frame) -> tuple[Numbers, tuple[Numbers, ...], Cells, Cells]:
    """Numbers of the NUMA nodes, their processors, the lines of their memory, and their distances."""
    names = {index: name for name in frame.lists.get(NODES, ()) if (index := number(name)) is not None}
    indexes = tuple(sorted(names))
    distances = frame.columns.get((NODES, "distance"), {})
    folders = [f"{NODE}{names[index]}/" for index in indexes]
    return (
        indexes,
        tuple(
            listed(frame.values.get(f"{each}cpulist", "?")) or masked(frame.values.get(f"{each}cpumap", "")) or ()
            for each in folders
        ),
        tuple(frame.values.get(f"{each}meminfo", "") for each in folders),
        tuple(distances.get(names[index], "") for index in indexes),
    )


@functools.lru_cache(maxsize=256)
def _cores(rows: tuple[Cells, ...], online: str, indexes: Numbers, sets: tuple[Numbers, ...]) -> tuple[Core, ...]:
    """Processors of equal siblings are one core; without siblings those of one package and core number are.

    Offline processors are left out: their folder may still be there. Empty where the core of a processor is unknown.
    """
    node_of = {processor: index for index, held in zip(indexes, sets, strict=True) for processor in held}
    awake = set(listed(online) or ())
    members: defaultdict[object, dict[int, int | None]] = defaultdict(dict)
    seen: set[int] = set()  # a damaged stream may have a processor twice
    for name, package, core, siblings, mask in rows:
        processor, socket = number(name), package_number(package)
        if processor is None or processor in seen or (awake and processor not in awake):
            continue
        seen.add(processor)
        together = listed(siblings) or masked(mask)
        key = together or (socket, core if number(core) is not None else None)
        if None in key:
            return ()
        members[bool(together), key][processor] = socket
    cores = (
        Core(processors=tuple(sorted(held)), package=held[min(held)], numa_node=node_of.get(min(held)))
        for held in members.values()
    )
    return tuple(sorted(cores, key=lambda core: core.processors))


@functools.lru_cache(maxsize=256)
def _nodes(indexes: Numbers, sets: tuple[Numbers, ...], rows: Cells, online: str) -> tuple[NumaNode, ...]:
    awake = set(listed(online) or ())
    return tuple(
        NumaNode(
            index=index,
            processors=tuple(each for each in held if each in awake) if awake else held,
            distances=node_distances(row, len(indexes)),
        )
        for index, held, row in zip(indexes, sets, rows, strict=True)
    )


def node_distances(row: str, nodes: int) -> Numbers:
    """The distances in a row of numbers; empty where there is not one for each of `count` nodes."""
    distances = [number(word) for word in row.split()]
    return (
        tuple(each for each in distances if each is not None)
        if len(distances) == nodes and None not in distances
        else ()
    )


def read_caches(frame: Frame) -> tuple[Cache, ...]:
    """Each kind once, sorted by level and kind, with how many there are: those that different processors share."""
    counts: Counter[CacheKind] = Counter()
    online = frame.values.get(ONLINE, "")
    for place in CACHE_PLACES:
        pattern = f"{CPU}/cache/index{place}"
        names = frame.lists.get(pattern, ())
        if not names:
            break
        columns = [frame.columns.get((pattern, item), {}) for item in ("level", "type", "size")]
        lists = frame.columns.get((pattern, "shared_cpu_list"), {})
        sharers = lists or frame.columns.get((pattern, "shared_cpu_map"), {})
        cells = tuple(_cells(column, names) for column in (*columns, sharers))
        counts.update(_caches_at((names, *cells), online, bool(lists)))
    return tuple(
        Cache(level=level, kind=kind, size_bytes=size, shared_by=sharers, count=count)
        for (level, kind, size, sharers), count in sorted(counts.items(), key=_order)
    )


def _cells(column: Mapping[str, str], names: Cells) -> Cells:
    """Cells in the order of the names, which a column without gaps has already."""
    return tuple(column.values()) if len(column) == len(names) else tuple(column.get(name, "") for name in names)


def _order(item: tuple[CacheKind, int]) -> tuple[int, str, int, int]:
    level, kind, size, sharers = item[0]
    return level, kind, size or 0, sharers


@functools.lru_cache(maxsize=1024)
def _caches_at(columns: tuple[Cells, ...], online: str, as_lists: bool) -> Counter[CacheKind]:
    """The caches in one place of every processor's list: number, level, type, size, sharers.

    One that no processor shares, so the mask of an ia64 kernel, is the processor's own. Without masks and lists caches
    cannot be counted, and are left out.
    """
    parse = listed if as_lists else masked
    awake = set(listed(online) or ())
    distinct: set[tuple[int, str, str, Numbers]] = set()
    for name, level, kind, size, cell in zip(*columns, strict=True):
        processor, depth, sharers = number(name), number(level), parse(cell) if cell else None
        if processor is None or depth is None or sharers is None or (awake and processor not in awake):
            continue
        together = tuple(each for each in sharers if each in awake) if awake else sharers
        distinct.add((depth, kind.lower(), size, together or (processor,)))
    return Counter((depth, kind, cache_bytes(size), len(together)) for depth, kind, size, together in distinct)


def cache_bytes(text: str) -> int | None:
    """ "48K" -> bytes. The kernel writes KiB, and K behind the number."""
    amount, scale = natural_number(text[:-1]), UNITS.get(text[-1:])
    return None if amount is None or scale is None else amount * scale
