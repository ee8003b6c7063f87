"""Every fact of a node under one dotted name, so that nodes can be compared.

"processor.governors" -> "performance × 64", "hcas.mlx5_0.ports.1.rate_text" -> "100 Gb/sec (4X EDR)",
"pci.0000:03:00.0.path.0000:00:02.1.current_width" -> 8. An unknown fact has no name. A record with a name of its own
(a device, a mount) is a fact too: "hcas.mlx5_0" -> True. Some fields are summarised, and some are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from seatrial.model.facts import (
    Cache,
    Core,
    Dimm,
    Gpu,
    IdleState,
    NetworkInterface,
    NodeFacts,
    NumaNode,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port
from seatrial.model.system import AutomountKey, KernelFacts, Library, Mount, MpiFile, Sensor, SystemFacts
from seatrial.model.words import Unknown, ranges

Scalar = str | int | float | bool
Flat = dict[str, Scalar]
Summary = Callable[[Any], object]
Field = tuple[type[msgspec.Struct], str]

OF_ONE_NODE = frozenset({"clientaddr", "addr", "mountaddr"})
"""Options of network file systems that hold the client's address, or the one of several servers' it was given."""
SIZED_BY_MEMORY = frozenset({"size", "nr_inodes", "nr_blocks"})


class FactGroup(NamedTuple):
    """Part of a node's facts: the prefix of its names, its content, and its summary."""

    name: str
    content: object
    summary: Summary | None = None

    def flat(self, *, steady: bool = False) -> Flat:
        """The piece's facts by their dotted names; `steady`: without the fields that are `UNSTEADY`."""
        flat: Flat = {}
        _add(flat, self.name, self.summary(self.content) if self.summary else self.content, steady)
        return flat


def parts(facts: NodeFacts, *, steady: bool = False) -> Iterator[FactGroup]:
    """The facts in pieces: the fields of groups, and the devices one by one; `steady`: without `UNSTEADY` fields.

    Pieces of equal name and content have equal facts, so what is equal on many nodes is flattened only once.
    """
    for field, summary in _steps(NodeFacts, steady):
        content = getattr(facts, field)
        if summary is not None:
            yield FactGroup(field, content, summary)
        elif isinstance(content, msgspec.Struct):
            for inner, inner_summary in _steps(type(content), steady):
                yield FactGroup(f"{field}.{inner}", getattr(content, inner), inner_summary)
        elif _is_records(content):
            yield from (FactGroup(f"{field}.{key}", record) for key, record in _keyed(content))
        else:
            yield FactGroup(field, content)


@cache
def _steps(record: type[msgspec.Struct], steady: bool) -> tuple[tuple[str, Summary | None], ...]:
    """The fields of a record that are compared, in order, and their summaries; without those already in its name."""
    named = KEYS[record].fields if record in KEYS else ()
    return tuple(
        (field, SUMMARIES.get((record, field)))
        for field in record.__struct_fields__
        if field not in named and (record, field) not in LEFT_OUT and not (steady and (record, field) in UNSTEADY)
    )


def _add(flat: Flat, name: str, value: Any, steady: bool) -> None:  # noqa: ANN401 - any field's content
    """Records by their fields, dicts by their keys, tuples by their records' names or as one text."""
    if value is None or value == "":
        return
    if isinstance(value, bool | int | float):
        flat[name] = value
    elif isinstance(value, str | Unknown):
        flat[name] = str(value)
    elif isinstance(value, msgspec.Struct):
        _add_record(flat, name, value, steady)
    elif isinstance(value, Mapping):
        for key, content in value.items():
            if content == "":
                flat[f"{name}.{key}"] = ""  # a module without a version, a parameter without a value
            else:
                _add(flat, f"{name}.{key}", content, steady)
    elif _is_records(value):
        for key, record in _keyed(value):
            _add(flat, f"{name}.{key}", record, steady)
    elif value:
        _add(flat, name, " ".join(map(str, value)), steady)


def _add_record(flat: Flat, name: str, record: msgspec.Struct, steady: bool) -> None:
    if type(record) in KEYS:
        flat[name] = True
    for field, summary in _steps(type(record), steady):
        content = getattr(record, field)
        _add(flat, f"{name}.{field}", summary(content) if summary else content, steady)


def _is_records(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], msgspec.Struct)


def _keyed(records: tuple[msgspec.Struct, ...]) -> Iterator[tuple[str, msgspec.Struct]]:
    """Each record with the name it has among its like; a second one of the same name is "name#2"."""
    seen: Counter[str] = Counter()
    for record in records:
        key = KEYS[type(record)].of(record)
        seen[key] += 1
        yield (key if seen[key] == 1 else f"{key}#{seen[key]}"), record


class RecordKey(NamedTuple):
    """What a record is called among its like, and the fields that the name holds."""

    of: Callable[[Any], str]
    fields: tuple[str, ...]


def counted(numbers: Mapping[str, int]) -> str:
    """performance × 63, powersave × 1: the most common first."""
    return ", ".join(
        f"{word} × {count}" for word, count in sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    )


def extremes(values: tuple[float, ...]) -> dict[str, float]:
    """Minimum and maximum over the processors."""
    return {"least": min(values), "most": max(values)} if values else {}


def core_summary(cores: tuple[Core, ...]) -> dict[str, Scalar]:
    """How many there are, of which package and NUMA node, and which logical processors share one."""
    if not cores:
        return {}
    packages = Counter(f"package {core.package}" for core in cores if core.package is not None)
    nodes = Counter(f"node {core.numa_node}" for core in cores if core.numa_node is not None)
    threads = Counter(_siblings(core) for core in cores)
    return {
        "count": len(cores),
        "processors": ranges(number for core in cores for number in core.processors),
        "packages": counted(packages),
        "numa_nodes": counted(nodes),
        "siblings": counted(threads),
    }


def _siblings(core: Core) -> str:
    """n,n+64: the numbers of a core's logical processors, seen from the first."""
    return ",".join(
        "n" if number == core.processors[0] else f"n{number - core.processors[0]:+}" for number in core.processors
    )


def idle_gpu_path(devices: tuple[PciDevice, ...]) -> tuple[PciDevice, ...]:
    """GPUs without the present speed of their links, which they lower while they idle; the width stays."""
    return tuple(
        msgspec.structs.replace(
            each,
            path=tuple(
                msgspec.structs.replace(hop, current_transfers_per_s=None, current_bytes_per_s=None)
                for hop in each.path
            ),
        )
        if each.kind is PciKind.GPU
        else each
        for each in devices
    )


def not_automounted(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """Mounts that do not come and go with use: none at or below the mount point of an automounter."""
    automounted = [mount.path for mount in mounts if mount.kind == "autofs"]
    return tuple(
        mount
        for mount in mounts
        if mount.kind == "autofs"
        or not any(mount.path == path or mount.path.startswith(path.rstrip("/") + "/") for path in automounted)
    )


def mount_options(options: tuple[str, ...]) -> str:
    """The options, sorted: their order means nothing; without those that are the node's own or follow its memory."""
    left_out = OF_ONE_NODE | SIZED_BY_MEMORY
    return ",".join(sorted(option for option in options if option.partition("=")[0] not in left_out))


def parameters(command_line: str) -> dict[str, str]:
    """The kernel's parameters one by one; a repeated one with all its values."""
    values: dict[str, str] = {}
    for word in command_line.split():
        name, _, value = word.partition("=")
        values[name] = f"{values[name]} {value}" if name in values else value
    return values


KEYS: dict[type[msgspec.Struct], RecordKey] = {
    NetworkInterface: RecordKey(lambda each: each.name, ("name",)),
    Hca: RecordKey(lambda each: each.name, ("name",)),
    Port: RecordKey(lambda each: str(each.number), ("number",)),
    PciDevice: RecordKey(lambda each: each.address, ("address",)),
    PciHop: RecordKey(lambda each: each.address, ("address",)),
    Gpu: RecordKey(lambda each: each.address, ("address",)),
    NumaNode: RecordKey(lambda each: str(each.index), ("index",)),
    Cache: RecordKey(lambda each: f"L{each.level} {each.kind}", ("level", "kind")),
    Dimm: RecordKey(lambda each: each.locator, ("locator",)),
    IdleState: RecordKey(lambda each: each.name, ("name",)),
    Mount: RecordKey(lambda each: each.path, ("path",)),
    AutomountKey: RecordKey(lambda each: f"{each.path} of {each.map}", ("path", "map")),
    Sensor: RecordKey(lambda each: each.name, ("name",)),
    MpiFile: RecordKey(lambda each: each.name, ("name",)),
    Library: RecordKey(lambda each: each.name, ("name",)),
    Unknown: RecordKey(lambda each: f"unknown {each.word}", ("word",)),
}

SUMMARIES: dict[Field, Callable[[Any], object]] = {
    (NodeFacts, "mpi_versions"): ", ".join,
    (NodeFacts, "pci"): idle_gpu_path,
    (Topology, "cores"): core_summary,
    (NumaNode, "processors"): ranges,
    (ProcessorFacts, "governors"): counted,
    (ProcessorFacts, "energy_preferences"): counted,
    (ProcessorFacts, "minimum_hz"): extremes,
    (ProcessorFacts, "maximum_hz"): extremes,
    (ProcessorFacts, "hardware_maximum_hz"): extremes,
    (ProcessorFacts, "allowed"): ranges,
    (KernelFacts, "command_line"): parameters,
    (SystemFacts, "mounts"): not_automounted,
    (Mount, "options"): mount_options,
}
"""Fields that are summarised. Those of `Core` are summarised by `core_summary`."""

LEFT_OUT: dict[Field, str] = {
    (NodeFacts, "absent"): "why a fact is missing, no fact: that it is missing shows in its own place",
    (ProcessorFacts, "present_hz"): "a sample of an instant for each processor",
    (ProcessorFacts, "quota_file"): "the name of a control group, often of one job; quota_processors is what it leaves",
    (ProcessorFacts, "quota_text"): "quota_processors in the words of a file",
}
"""Fields that are left out -> why."""

UNSTEADY: frozenset[Field] = frozenset(
    {
        (Port, "counters"),
        (NetworkInterface, "errors"),
        (PciHop, "errors"),
        *(
            (Gpu, name)
            for name in (
                "corrected_errors",
                "link_generation",
                "state",
                "use",
                "slowdowns",
                "temperature_celsius",
                "nvlink_errors",
            )
        ),
        (SystemFacts, "sensors"),
        (SystemFacts, "alarms"),
        (SystemFacts, "kernel_log"),
        (SystemFacts, "kernel_log_last"),
        (ProcessorFacts, "throttle_events"),
    }
)
"""Fields that differ between all nodes and all times, and are not flattened; `EXCUSES` has the reasons."""
