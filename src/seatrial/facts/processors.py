"""Processors, cores, sockets and the model's name, from a frame."""

import re

import msgspec

from seatrial.facts.frame import Frame
from seatrial.facts.processor_sets import package_number
from seatrial.facts.topology_sysfs import sysfs_cores

ONLINE = "/sys/devices/system/cpu/online"
NODES = "/sys/devices/system/node/online"
NODE_FOLDERS = "/sys/devices/system/node/node[0-9]*"
TOPOLOGY = "/sys/devices/system/cpu/cpu[0-9]*/topology"
CPUINFO = "/proc/cpuinfo"
RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class Processors(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel says of the processors. Numbers of things; None where it does not say, and `absent` why."""

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
        "cores": (len(sysfs_cores(frame)) or None, TOPOLOGY),
        "sockets": (_sockets(frame), TOPOLOGY),
        "numa_nodes": (_numa_nodes(frame), NODES),
    }
    absent = {name: frame.reason(path) for name, (number, path) in read.items() if number is None}
    if not model:
        absent["cpu_model"] = frame.reason(CPUINFO)
    return Processors(model=model, absent=absent, **{name: number for name, (number, _) in read.items()})


def count_of(listed: str) -> int | None:
    """How many numbers a kernel list such as "0-3,8,10-11" holds. None: not such a list."""
    ranges = [RANGE.fullmatch(part) for part in listed.strip().split(",")]
    if not all(ranges):
        return None
    bounds = [(int(each[1]), int(each[2] or each[1])) for each in ranges if each]
    return None if any(high < low for low, high in bounds) else sum(high - low + 1 for low, high in bounds)


def cpu_model(frame: Frame) -> str:
    """The model's name: x86 prints "model name", POWER "cpu", and Arm only the numbers of implementer and part."""
    pairs = (line.partition(":") for line in frame.files.get(CPUINFO, ()))
    says = {key.strip(): value.strip() for key, _, value in pairs}
    if "CPU implementer" in says and "model name" not in says:
        return f"implementer {says['CPU implementer']} part {says.get('CPU part', 'unknown')}"
    return says.get("model name") or says.get("cpu") or ""


def _processors(frame: Frame) -> int | None:
    """Those online; where an old kernel does not list them, those it tells a core of."""
    return count_of(frame.values.get(ONLINE, "")) or len(frame.tables.get(TOPOLOGY, ())) or None


def _numa_nodes(frame: Frame) -> int | None:
    """Those online; where an old kernel does not list them, their folders."""
    return count_of(frame.values.get(NODES, "")) or len(frame.lists.get(NODE_FOLDERS, ())) or None


def _sockets(frame: Frame) -> int | None:
    """Distinct package numbers; the kernel's -1 says that the firmware tells none."""
    packages = {package_number(row.get("physical_package_id", "?")) for row in frame.tables.get(TOPOLOGY, ())}
    return len(packages) if packages and None not in packages else None
