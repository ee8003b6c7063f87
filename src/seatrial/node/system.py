"""Firmware, limits, clock, mounts and sensors, from a frame.

Units and names of sensors' files: Linux, Documentation/hwmon/sysfs-interface.rst, driver-api/thermal/sysfs-api.rst and
power/powercap/powercap.rst.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from seatrial.model.system import ClockState, Firmware, Limits, Sensor, SystemFacts
from seatrial.node.frame import Frame, answer, whole_number, why_no_answer
from seatrial.node.mounts import read_mounts, read_paths
from seatrial.node.processor import cpuinfo
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
HWLOC_DUMP = "/var/run/hwloc/knl_memoryside_cache"
SIDE_CACHES = f"{NODES}/memory_side_cache"
FIRST = re.compile(r"[0-9]{1,9}")
ZEN = 23
"""The first family of AMD processors whose firmware has a setting "NUMA nodes per socket"."""
HWMON = "/sys/class/hwmon"
READING = re.compile(r"/sys/class/hwmon/hwmon([0-9]{1,6})/(temp|fan|power)([0-9]{1,6})_(?:input|average)")
ZONES = "/sys/class/thermal/"
ZONE = re.compile(r"/sys/class/thermal/thermal_zone([0-9]{1,6})/temp")
POWER = "/sys/class/powercap/"
POWER_LIMIT = re.compile(r"(/sys/class/powercap/([^/]+)/constraint_[0-9]{1,3}_)power_limit_uw")
UNITS = {"temp": ("degC", 1e-3), "fan": ("rpm", 1.0), "power": ("W", 1e-6)}
"""Millidegrees, revolutions per minute, microwatts."""


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


def read_firmware(frame: Frame) -> tuple[Firmware, dict[str, str]]:
    """Texts as the firmware has them, blanks around them gone; modes in lower case.

    Second: name of a fact ("system.firmware.vendor") -> why it is not known; "system.firmware" where there is no DMI.
    """
    dmi = {name: frame.values.get(f"{DMI}/{file}", "").strip() for name, file in DMI_FILES.items()}
    bmc = [frame.values[path].strip() for path in sorted(path for path in frame.values if path.startswith(BMC))]
    modes = _dumped_modes(frame)
    memory_mode = modes.get("memory_mode") or ("cache" if frame.lists.get(SIDE_CACHES) else "")
    cluster_mode = modes.get("cluster_mode") or _sub_numa_mode(frame)
    firmware = Firmware(**dmi, bmc_version=bmc[0] if bmc else "", memory_mode=memory_mode, cluster_mode=cluster_mode)
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


def _dumped_modes(frame: Frame) -> dict[str, str]:
    """What hwloc-dump-hwdata wrote at boot, on Knights Landing and Knights Mill alone: "memory_mode: Cache"."""
    pairs = (line.partition(":") for line in frame.files.get(HWLOC_DUMP, ()))
    words = {key.strip(): value.strip().lower() for key, _, value in pairs}
    return {key: word for key, word in words.items() if word != "unknown"}


def _sub_numa_mode(frame: Frame) -> str:
    """snc2 (Intel: two NUMA nodes a package, Cluster-on-Die included), nps4 (AMD from Zen on); "" where unknown.

    Counts the NUMA nodes that have processors, by package. One node for each Intel package is not a mode: quadrant,
    hemisphere and all-to-all look the same; one node for several AMD packages is nps0. A virtual machine's NUMA nodes
    are as configured, which is not a mode either.
    """
    packages = {row["*"]: row.get("physical_package_id", "?") for row in frame.tables.get(ROWS, ()) if "*" in row}
    nodes: defaultdict[str, int] = defaultdict(int)
    for cpulist in _cpulists(frame):
        first = FIRST.match(cpulist)
        if first:
            nodes[packages.get(first[0], "?")] += 1
    counts = set(nodes.values())
    if "?" in nodes or len(counts) != 1:
        return ""
    count = counts.pop()
    says = cpuinfo(frame)
    if "hypervisor" in says.get("flags", "").split():
        return ""
    if says.get("vendor_id") == "GenuineIntel":
        return f"snc{count}" if count > 1 else ""
    family = says.get("cpu family", "")
    if says.get("vendor_id") != "AuthenticAMD" or not FIRST.fullmatch(family) or int(family) < ZEN:
        return ""
    return "nps0" if len(nodes) < len(set(packages.values())) else f"nps{count}"


def _cpulists(frame: Frame) -> list[str]:
    cpulists = frame.columns.get((NODES, "cpulist"), {})
    return [
        cpulists.get(number) or frame.values.get(NODES.replace("[0-9]*", f"{number}/cpulist"), "")
        for number in frame.lists.get(NODES, ())
    ]


def read_sensors(frame: Frame) -> tuple[tuple[Sensor, ...], dict[str, str]]:
    """Chip by chip, then the thermal zones: "coretemp Package id 0", in degC, rpm and W.

    Equal names are distinguished by " #2", " #3" in the order of the chips. Second: "system.sensors" -> why there is
    none.
    """
    found = [*_chips(frame), *_zones(frame)]
    times: Counter[str] = Counter()
    sensors = []
    for sensor in found:
        times[sensor.name] += 1
        again = times[sensor.name]
        sensors.append(sensor if again == 1 else msgspec.structs.replace(sensor, name=f"{sensor.name} #{again}"))
    return tuple(sensors), {} if sensors else {"system.sensors": frame.reason(HWMON)}


def _chips(frame: Frame) -> list[Sensor]:
    matches = [match for path in frame.values if path.startswith(HWMON) and (match := READING.fullmatch(path))]
    matches.sort(key=lambda match: (int(match[1]), match[2], int(match[3])))
    sensors: dict[tuple[str, str, str], Sensor] = {}
    for match in matches:
        chip, kind, number = match.groups()
        reading = frame.integer(match[0])
        if reading is None:
            continue
        folder = f"{HWMON}/hwmon{chip}"
        unit, scale = UNITS[kind]
        critical = frame.integer(f"{folder}/{kind}{number}_crit")
        label = frame.values.get(f"{folder}/{kind}{number}_label", "").strip() or f"{kind}{number}"
        sensors[chip, kind, number] = Sensor(
            name=f"{frame.values.get(f'{folder}/name', '').strip() or f'hwmon{chip}'} {label}",
            unit=unit,
            value=reading * scale,
            critical=critical * scale if critical is not None else None,
        )
    return list(sensors.values())


def _zones(frame: Frame) -> list[Sensor]:
    matches = [match for path in frame.values if path.startswith(ZONES) and (match := ZONE.fullmatch(path))]
    sensors = []
    for match in sorted(matches, key=lambda match: int(match[1])):
        reading = frame.integer(match[0])
        if reading is not None:
            kind = frame.values.get(match[0].removesuffix("temp") + "type", "").strip() or f"zone {match[1]}"
            sensors.append(Sensor(name=f"thermal {kind}", unit="degC", value=reading * 1e-3))
    return sensors


def read_power_limits(frame: Frame) -> tuple[dict[str, float], dict[str, str]]:
    """RAPL domain and constraint ("package-0 long_term", "package-0 dram long_term") -> its limit in W.

    Second: "system.power_limits_w" -> why there is none.
    """
    limits = {}
    for path, text in sorted(each for each in frame.values.items() if each[0].startswith(POWER)):
        match = POWER_LIMIT.fullmatch(path)
        limit = frame.integer(path) if match else None
        if match and limit is not None:
            constraint = frame.values.get(f"{match[1]}name", text).strip()
            limits[f"{_domain(frame.values, match[2])} {constraint}"] = limit * 1e-6
    return limits, {} if limits else {"system.power_limits_w": "no /sys/class/powercap/*/constraint_*_power_limit_uw"}


def _domain(values: Mapping[str, str], folder: str) -> str:
    """intel-rapl:0 -> "package-0"; intel-rapl:0:1 -> "package-0 dram"; intel-rapl-mmio:0 -> "mmio package-0"."""
    control, *numbers = folder.split(":")
    places = [":".join((control, *numbers[:depth])) for depth in range(1, len(numbers) + 1)]
    names = [values.get(f"/sys/class/powercap/{place}/name", place).strip() for place in places]
    return " ".join((*(["mmio"] if control.endswith("-mmio") else []), *(names or [folder])))
