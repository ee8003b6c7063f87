"""The number of processors, cores, sockets and NUMA nodes, and /proc/cpuinfo, from a frame."""

import functools
from collections.abc import Mapping

import msgspec

from seatrial.node.frame import Frame
from seatrial.node.processor_sets import listed, package_number
from seatrial.node.topology_sysfs import NODES, ONLINE, ROWS, sysfs_cores

CPUINFO = "/proc/cpuinfo"


def cpuinfo(frame: Frame) -> Mapping[str, str]:
    """Word -> content, of the last processor that the collector kept; nothing where the file is not there."""
    return _says(frame.files.get(CPUINFO, ()))


@functools.lru_cache(maxsize=256)
def _says(lines: tuple[str, ...]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


NODES_ONLINE = "/sys/devices/system/node/online"


class Processors(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel reports about the processors. Counts; None where it reports none, and `absent` has the reason."""

    model: str
    processors: int | None
    cores: int | None
    sockets: int | None
    numa_nodes: int | None
    absent: dict[str, str]


def read_processors(frame: Frame) -> Processors:
    """Processors are the online logical ones; cores are their distinct sets of thread siblings."""
    model = cpu_model(frame)
    read = {
        "processors": (_processors(frame), ONLINE),
        "cores": (len(sysfs_cores(frame)) or None, ROWS),
        "sockets": (_sockets(frame), ROWS),
        "numa_nodes": (_numa_nodes(frame), NODES_ONLINE),
    }
    absent = {name: frame.reason(path) for name, (number, path) in read.items() if number is None}
    if not model:
        absent["cpu_model"] = frame.reason(CPUINFO)
    return Processors(model=model, absent=absent, **{name: number for name, (number, _) in read.items()})


def cpu_model(frame: Frame) -> str:
    """The model's name: x86 prints "model name", POWER "cpu", and Arm only the numbers of implementer and part."""
    says = cpuinfo(frame)
    if "CPU implementer" in says and "model name" not in says:
        return f"implementer {says['CPU implementer']} part {says.get('CPU part', 'unknown')}"
    return says.get("model name") or says.get("cpu") or ""


def _processors(frame: Frame) -> int | None:
    """Those online; where an old kernel does not list them, those with a known core."""
    return len(listed(frame.values.get(ONLINE, "")) or frame.tables.get(ROWS, ())) or None


def _numa_nodes(frame: Frame) -> int | None:
    """Those online; where an old kernel does not list them, their folders."""
    return len(listed(frame.values.get(NODES_ONLINE, "")) or frame.lists.get(NODES, ())) or None


def _sockets(frame: Frame) -> int | None:
    """Distinct package numbers; -1 means that the firmware reports none."""
    packages = {package_number(row.get("physical_package_id", "?")) for row in frame.tables.get(ROWS, ())}
    return len(packages) if packages and None not in packages else None
