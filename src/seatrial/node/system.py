"""Firmware, limits, clock, mounts and sensors, from a frame."""

import re

from seatrial.model.system import Limits, SystemFacts
from seatrial.node.clocks import read_clock
from seatrial.node.firmware import read_firmware
from seatrial.node.frame import Frame, whole_number
from seatrial.node.mounts import read_mounts, read_paths
from seatrial.node.sensors import read_power_limits, read_sensors

LIMITS = "/proc/self/limits"
LIMIT_NAMES = {
    "locked_memory_bytes": "Max locked memory",
    "stack_bytes": "Max stack size",
    "open_files": "Max open files",
    "processes": "Max processes",
}
STAT = "/proc/stat"
UNLIMITED = -1
COLUMNS = re.compile(r" {2,}")


def read_system(frame: Frame) -> tuple[SystemFacts, dict[str, str]]:
    """The system of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    firmware, without_firmware = read_firmware(frame)
    limits, without_limits = read_limits(frame)
    clock, without_clock = read_clock(frame)
    mounts, without_mounts = read_mounts(frame)
    sensors, without_sensors = read_sensors(frame)
    power_limits, without_power_limits = read_power_limits(frame)
    booted = booted_s(frame)
    facts = SystemFacts(
        firmware=firmware,
        limits=limits,
        clock=clock,
        mounts=mounts,
        paths=read_paths(frame),
        sensors=sensors,
        power_limits_w=power_limits,
        booted_s=booted,
    )
    return facts, {
        **without_firmware,
        **without_limits,
        **without_clock,
        **without_mounts,
        **without_sensors,
        **without_power_limits,
        **({"system.booted_s": frame.reason(STAT)} if booted is None else {}),
    }


def read_limits(frame: Frame) -> tuple[Limits, dict[str, str]]:
    """The soft limits of /proc/self/limits, which is in bytes; UNLIMITED (-1) where it says "unlimited"."""
    rows = (COLUMNS.split(line.strip()) for line in frame.files.get(LIMITS, ()))
    soft = {row[0]: row[1] for row in rows if len(row) >= 2}
    read = {field: _limit(soft.get(name, "")) for field, name in LIMIT_NAMES.items()}
    absent = {f"system.limits.{field}": frame.reason(LIMITS) for field, limit in read.items() if limit is None}
    return Limits(**read), absent


def _limit(text: str) -> int | None:
    return UNLIMITED if text == "unlimited" else whole_number(text)


def booted_s(frame: Frame) -> int | None:
    """Unix time of the start of the kernel in s: btime of /proc/stat (proc(5))."""
    for line in frame.files.get(STAT, ()):
        name, _, seconds = line.partition(" ")
        if name == "btime":
            return whole_number(seconds.strip())
    return None
