"""How single fields are compared: which of them name a record, which are summarised, which are left out."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.hardware import (
    Cache,
    Core,
    Dimm,
    IdleState,
    NumaNode,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port
from seatrial.model.system import KernelFacts, Library, Mount, MpiFile, Sensor, SystemFacts
from seatrial.model.words import Unknown

Scalar = str | int | float | bool
Field = tuple[type[msgspec.Struct], str]

OF_ONE_NODE = frozenset({"clientaddr", "addr", "mountaddr"})
"""Options of network file systems that hold the client's address, or the one of several servers' it was given."""
SIZED_BY_MEMORY = frozenset({"size", "nr_inodes", "nr_blocks"})


class Key(NamedTuple):
    """What a record is called among its like, and the fields that the name holds."""

    of: Callable[[Any], str]
    fields: tuple[str, ...]


def counted(numbers: Mapping[str, int]) -> str:
    """performance × 63, powersave × 1: the most common first."""
    return ", ".join(
        f"{word} × {count}" for word, count in sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    )


def ranges(numbers: Iterable[int], width: int = 0) -> str:
    """0-15,32-47, as the kernel writes lists; each number filled up to `width` digits with zeros."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in spans)


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
    numbers = [number for core in cores for number in core.processors]
    return {
        "count": len(cores),
        "processors": ranges(numbers),
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


KEYS: dict[type[msgspec.Struct], Key] = {
    NetworkInterface: Key(lambda each: each.name, ("name",)),
    Hca: Key(lambda each: each.name, ("name",)),
    Port: Key(lambda each: str(each.number), ("number",)),
    PciDevice: Key(lambda each: each.address, ("address",)),
    PciHop: Key(lambda each: each.address, ("address",)),
    NumaNode: Key(lambda each: str(each.index), ("index",)),
    Cache: Key(lambda each: f"L{each.level} {each.kind}", ("level", "kind")),
    Dimm: Key(lambda each: each.locator, ("locator",)),
    IdleState: Key(lambda each: each.name, ("name",)),
    Mount: Key(lambda each: each.path, ("path",)),
    Sensor: Key(lambda each: each.name, ("name",)),
    MpiFile: Key(lambda each: each.name, ("name",)),
    Library: Key(lambda each: each.name, ("name",)),
    Unknown: Key(lambda each: f"unknown {each.word}", ("word",)),
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
    {(Port, "counters"), (NetworkInterface, "errors"), (SystemFacts, "sensors"), (ProcessorFacts, "throttle_events")}
)
"""Fields that differ between all nodes and all times, and are not flattened; `EXCUSES` has the reasons."""
