"""Firmware, limits and clock, from a frame; with mounts, sensors and the kernel's log the system of a node."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.model.system import ClockState, Firmware, Limits, SystemFacts
from seatrial.node.frame import Frame, Reader, answer, labelled, whole_number, why_no_answer
from seatrial.node.mounts import read_automounts, read_mounts, read_paths
from seatrial.node.processor import cpuinfo
from seatrial.node.sensors import CONTROLLER, read_alarms, read_kernel_log, read_power_limits, read_sensors
from seatrial.node.topology_sysfs import NODES, ROWS

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
DMI = "/sys/class/dmi/id"
DMI_FILES = {
    "vendor": "sys_vendor",
    "product": "product_name",
    "board": "board_name",
    "bios_vendor": "bios_vendor",
    "bios_version": "bios_version",
    "bios_date": "bios_date",
}
BMC = "/sys/devices/platform/ipmi_bmc."
BMC_PATTERN = f"{BMC}*"
ENGINE = "/sys/class/mei/mei0/fw_ver"
"""Platform and version: `0:11.8.77.3664` (Documentation/ABI/testing/sysfs-class-mei)."""
ATTRIBUTES = "/sys/class/firmware-attributes/"
ATTRIBUTE = re.compile(r"/sys/class/firmware-attributes/[^/]+/attributes/([^/]+)/current_value")
INTERLEAVED = "interleaved"
"""Cluster mode of a machine whose sockets share one NUMA node: memory alternates between them."""
HWLOC_DUMP = "/var/run/hwloc/knl_memoryside_cache"
SIDE_CACHES = f"{NODES}/memory_side_cache"
FIRST = re.compile(r"[0-9]{1,9}")
P6, NEHALEM = 6, 26
"""Before it, all Intel processors of a machine share one memory controller behind the front-side bus."""
ZEN = 23
"""The first family of AMD processors whose firmware has a setting "NUMA nodes per socket"."""


def read_clock(frame: Frame) -> tuple[ClockState, dict[str, str]]:
    """The answer of the first of chronyc, ntpq and timedatectl that works; offset in s, positive: this clock is ahead.

    Second: name of a fact ("system.clock.synchronised") -> why it is not known.
    """
    readers = {CHRONY: _chrony, NTP: _ntp, SYSTEMD: _systemd}
    state = ClockState()
    why = "; ".join((why_no_answer(frame, *readers), KERNEL_UNREADABLE))
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
    says = labelled(lines)
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
    says = labelled(lines, "=")
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
    readers: Mapping[str, Reader] = {
        "firmware": read_firmware,
        "limits": read_limits,
        "clock": read_clock,
        "mounts": read_mounts,
        "sensors": read_sensors,
        "power_limits_w": read_power_limits,
    }
    groups: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, read in readers.items():
        groups[name], missing = read(frame)
        absent |= missing
    kernel_log, last_lines, without_log = read_kernel_log(frame)
    booted = booted_s(frame)
    absent |= without_log | ({"system.booted_s": frame.reason(STAT)} if booted is None else {})
    facts = SystemFacts(
        paths=read_paths(frame),
        automounts=read_automounts(frame),
        alarms=read_alarms(frame),
        kernel_log=kernel_log,
        kernel_log_last=last_lines,
        booted_s=booted,
        **groups,
    )
    return facts, absent


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


def read_firmware(frame: Frame) -> tuple[Firmware, dict[str, str]]:
    """Texts as the firmware has them, blanks around them gone; modes in lower case.

    Second: name of a fact ("system.firmware.vendor") -> why it is not known; "system.firmware" where there is no DMI.
    """
    dmi = {name: frame.values.get(f"{DMI}/{file}", "").strip() for name, file in DMI_FILES.items()}
    bmc = [frame.values[path].strip() for path in sorted(path for path in frame.values if path.startswith(BMC))]
    modes = _dumped_modes(frame)
    memory_mode = modes.get("memory_mode") or ("cache" if frame.lists.get(SIDE_CACHES) else "")
    cluster_mode = modes.get("cluster_mode") or _sub_numa_mode(frame)
    firmware = Firmware(
        **dmi,
        bmc_version=bmc[0] if bmc else labelled(answer(frame, CONTROLLER), " : ").get("Firmware Revision", ""),
        management_engine=frame.values.get(ENGINE, "").partition(":")[2].strip(),
        settings=_firmware_settings(frame),
        memory_mode=memory_mode,
        cluster_mode=cluster_mode,
    )
    if any(dmi.values()):
        absent = {
            f"system.firmware.{name}": frame.reason(f"{DMI}/{file}")
            for name, file in DMI_FILES.items()
            if not dmi[name]
        }
    else:
        absent = {"system.firmware": frame.reason(DMI)}
    if not firmware.bmc_version:
        absent["system.firmware.bmc_version"] = frame.reason(BMC_PATTERN)
    if not memory_mode:
        absent["system.firmware.memory_mode"] = f"{frame.reason(HWLOC_DUMP)}; no memory-side cache"
    if not cluster_mode:
        absent["system.firmware.cluster_mode"] = f"{frame.reason(HWLOC_DUMP)}; one NUMA node per package, or unknown"
    return firmware, absent


def _firmware_settings(frame: Frame) -> dict[str, str]:
    """Attribute -> its value, where the kernel shows settings of the BIOS (Dell, HP and Lenovo)."""
    matches = (
        (ATTRIBUTE.fullmatch(path), value) for path, value in frame.values.items() if path.startswith(ATTRIBUTES)
    )
    return {match[1]: value.strip() for match, value in sorted(matches, key=str) if match}


def _dumped_modes(frame: Frame) -> dict[str, str]:
    """What hwloc-dump-hwdata wrote at boot, on Knights Landing and Knights Mill alone: "memory_mode: Cache"."""
    words = labelled(frame.files.get(HWLOC_DUMP, ()))
    return {key: word.lower() for key, word in words.items() if word.lower() != "unknown"}


def _sub_numa_mode(frame: Frame) -> str:
    """The mode by the NUMA nodes that have processors; a virtual machine has them as configured, and no mode."""
    packages = {row["*"]: row.get("physical_package_id", "?") for row in frame.tables.get(ROWS, ()) if "*" in row}
    nodes: defaultdict[str, int] = defaultdict(int)
    for cpulist in _cpulists(frame):
        first = FIRST.match(cpulist)
        if first:
            nodes[packages.get(first[0], "?")] += 1
    says = cpuinfo(frame)
    if "?" in nodes or "hypervisor" in says.get("flags", "").split():
        return ""
    family, model = (whole_number(says.get(name, "")) for name in ("cpu family", "model"))
    packages_in_all = len(set(packages.values()))
    return sub_numa_mode(says.get("vendor_id", ""), (family, model), tuple(nodes.values()), packages_in_all)


def sub_numa_mode(vendor: str, model: tuple[int | None, int | None], nodes: Sequence[int], packages: int) -> str:
    """snc2 (Intel: two NUMA nodes a package, Cluster-on-Die included), nps4 (AMD from Zen on); "" where unknown.

    `model`: family and number. `nodes`: how many NUMA nodes each package has that has some. One node for each Intel
    package is not a mode: quadrant, hemisphere and all-to-all look the same; one node for several packages is nps0
    (AMD) or INTERLEAVED.
    """
    if len(set(nodes)) != 1:
        return ""
    family, number = model
    if vendor == "GenuineIntel":
        one_controller = family == P6 and (number or NEHALEM) < NEHALEM
        if len(nodes) < packages:
            return "" if one_controller else INTERLEAVED
        return f"snc{nodes[0]}" if nodes[0] > 1 else ""
    if vendor != "AuthenticAMD" or (family or 0) < ZEN:
        return ""
    return "nps0" if len(nodes) < packages else f"nps{nodes[0]}"


def _cpulists(frame: Frame) -> list[str]:
    cpulists = frame.columns.get((NODES, "cpulist"), {})
    return [
        cpulists.get(number) or frame.values.get(NODES.replace("[0-9]*", f"{number}/cpulist"), "")
        for number in frame.lists.get(NODES, ())
    ]
