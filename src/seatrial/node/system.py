"""Firmware, limits, clock, mounts and sensors, from a frame."""

import re

import msgspec

from seatrial.model.system import ClockState, Limits, SystemFacts
from seatrial.node.firmware import read_firmware
from seatrial.node.frame import Frame, answer, whole_number, why_no_answer
from seatrial.node.mounts import read_mounts, read_paths
from seatrial.node.sensors import read_power_limits, read_sensors

KERNEL_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
CHRONY = "chronyc -n tracking"
NTP = "ntpq -c rv 0 leap,stratum,offset"
SYSTEMD = "timedatectl show -p NTPSynchronized"
SYNCHRONISED = {"Normal": True, "Insert second": True, "Delete second": True, "Not synchronised": False}
"""chronyc(1), tracking, Leap status."""
LEAP_ALARM = {"00": True, "01": True, "10": True, "11": False}
"""RFC 5905, figure 9: the leap indicator; 11 is "unknown (clock unsynchronized)"."""
SYSTEM_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?) seconds (fast|slow) of NTP time")
ASSIGNMENT = re.compile(r"(leap|stratum|offset)=(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)")
KERNEL_UNREADABLE = "the kernel's own state (adjtimex) is not readable from a shell"


def read_clock(frame: Frame) -> tuple[ClockState, dict[str, str]]:
    """The answer of the first of chronyc, ntpq and timedatectl that works; offset in s, positive: this clock is ahead.

    Second: name of a fact ("system.clock.synchronised") -> why it is not known.
    """
    readers = {CHRONY: _chrony, NTP: _ntp, SYSTEMD: _systemd}
    state = ClockState()
    why = "; ".join((*(why_no_answer(frame, command) for command in readers), KERNEL_UNREADABLE))
    for command, read in readers.items():
        if lines := answer(frame, command):
            state = read(lines)
            why = f"{command} printed {'; '.join(lines)[:160]!r}"
            break
    state = msgspec.structs.replace(state, kernel_clock=frame.values.get(KERNEL_CLOCK, "").strip())
    absent = {
        f"system.clock.{name}": why for name in ("synchronised", "offset_s", "stratum") if getattr(state, name) is None
    }
    if not state.kernel_clock:
        absent["system.clock.kernel_clock"] = frame.reason(KERNEL_CLOCK)
    return state, absent


def _chrony(lines: tuple[str, ...]) -> ClockState:
    pairs = (line.partition(":") for line in lines)
    says = {key.strip(): value.strip() for key, _, value in pairs}
    shift = SYSTEM_TIME.fullmatch(says.get("System time", ""))
    return ClockState(
        source="chrony",
        synchronised=SYNCHRONISED.get(says.get("Leap status", "")),
        offset_s=float(shift[1]) * (1 if shift[2] == "fast" else -1) if shift else None,
        stratum=whole_number(says.get("Stratum", "")),
    )


def _ntp(lines: tuple[str, ...]) -> ClockState:
    """ntpq's offset is the server's time less ours, in ms (RFC 5905, section 8: theta), so its sign is turned."""
    says = dict(ASSIGNMENT.findall(" ".join(lines)))
    return ClockState(
        source="ntp",
        synchronised=LEAP_ALARM.get(says.get("leap", "")),
        offset_s=-float(says["offset"]) / 1e3 if "offset" in says else None,
        stratum=whole_number(says.get("stratum", "")),
    )


def _systemd(lines: tuple[str, ...]) -> ClockState:
    """It passes on the kernel's own flag, whoever set it (timedatectl(1))."""
    says = dict(line.strip().partition("=")[::2] for line in lines)
    return ClockState(
        source="timedatectl", synchronised={"yes": True, "no": False}.get(says.get("NTPSynchronized", ""))
    )


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
    """The soft limits of /proc/self/limits, which is in bytes; UNLIMITED (-1) for "unlimited"."""
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
