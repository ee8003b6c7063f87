"""Sensors, alarms and power limits of the kernel and of the board's controller (BMC), and errors in the kernel's log.

Units and names of sensors' files: Linux, Documentation/hwmon/sysfs-interface.rst, driver-api/thermal/sysfs-api.rst and
power/powercap/powercap.rst. Which lines of the log the collector keeps is in `collect/parts/system.sh`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from seatrial.model.system import Sensor
from seatrial.node.frame import Frame, answer, why_no_answer

DMESG = "dmesg"
LONGEST_LINE = 160
STAMP = re.compile(r"\[ {0,12}[0-9]{1,12}\.[0-9]{1,9}\] ")


class LogKind(NamedTuple):
    """A kind of hardware error and the lines that report it. `grave`: each of them is a fault, not only many."""

    name: str
    pattern: re.Pattern[str]
    grave: bool


LOG_KINDS = (
    LogKind("GPU error (Xid)", re.compile(r"NVRM: Xid"), True),
    LogKind("PCIe error", re.compile(r"PCIe Bus Error: severity=(?!Correct)|AER: .{0,120}(?:Uncorrected|Fatal)"), True),
    LogKind("corrected PCIe error", re.compile(r"PCIe Bus Error: severity=Correct|AER: .{0,120}Correct"), False),
    LogKind("memory error", re.compile(r"EDAC .{0,120}\b(?:UE|[Uu]ncorrect)"), True),
    LogKind("machine check", re.compile(r"Hardware Error|[Mm]achine [Cc]heck (?:[Ee]xception|events logged)"), True),
    LogKind("heat", re.compile(r"(?:temperature above threshold|clock) throttled|throttled"), False),
    LogKind("disk error", re.compile(r"I/O error, dev "), True),
    LogKind(
        "adapter error",
        re.compile(
            r"mlx[45]_core.{0,120}(?:health|syndrome|internal error|[Tt]imed? ?out|fatal|failed|error)"
            r"|hfi1.{0,120}(?:[Ee]rror|[Ff]atal|[Ff]reeze|timed out|going down)"
        ),
        True,
    ),
)
"""The first kind that fits counts."""

GRAVE = frozenset(kind.name for kind in LOG_KINDS if kind.grave)


def read_kernel_log(frame: Frame) -> tuple[dict[str, int], dict[str, str], dict[str, str]]:
    """Kind -> number of its lines; kind -> the last one, without its time; "system.kernel_log" -> why it is unknown."""
    numbers: dict[str, int] = {}
    last: dict[str, str] = {}
    for line in answer(frame, DMESG):
        kind = next((kind.name for kind in LOG_KINDS if kind.pattern.search(line)), "")
        if kind:
            numbers[kind] = numbers.get(kind, 0) + 1
            last[kind] = STAMP.sub("", line, count=1).strip()[:LONGEST_LINE]
    output = frame.commands.get(DMESG)
    if output is not None and output.status == 0:
        return numbers, last, {}
    why = "dmesg needs root here (kernel.dmesg_restrict)" if output is not None else why_no_answer(frame, DMESG)
    return {}, {}, {"system.kernel_log": why}


HWMON = "/sys/class/hwmon"
READING = re.compile(r"/sys/class/hwmon/hwmon([0-9]{1,6})/(temp|fan|power)([0-9]{1,6})_(?:input|average)")
ZONES = "/sys/class/thermal/"
ZONE = re.compile(r"/sys/class/thermal/thermal_zone([0-9]{1,6})/temp")
POWER = "/sys/class/powercap/"
POWER_LIMIT = re.compile(r"(/sys/class/powercap/([^/]+)/constraint_[0-9]{1,3}_)power_limit_uw")
UNITS = {"temp": ("degC", 1e-3), "fan": ("rpm", 1.0), "power": ("W", 1e-6)}
"""Millidegrees, revolutions per minute, microwatts."""
ALARM = re.compile(r"/sys/class/hwmon/hwmon([0-9]{1,6})/((?:temp|fan|power)[0-9]{1,6})_((?:crit_)?alarm|fault)")
CONTROLLER = "ipmitool mc info"
CONTROLLER_SENSORS = "ipmitool sdr"
CONTROLLER_UNITS = {"RPM": "rpm", "degrees C": "degC", "Watts": "W", "Volts": "V", "Amps": "A"}
READ_VALUE = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?) (RPM|degrees C|Watts|Volts|Amps)")
STATES = {"cr": "critical", "lcr": "critical", "ucr": "critical", "nr": "beyond repair", "lnr": "beyond repair",
          "unr": "beyond repair"}  # fmt: skip
"""States of a sensor by ipmitool(1) that call for somebody: critical, and non-recoverable."""
FAILURE = re.compile(r"(?:[Ff]ailure detected|[Ff]ailed|AC lost|[Pp]redictive failure)")
"""Words of IPMI 2.0, table 42-3, about power supplies, fans and drives."""
POWER_SUPPLY = re.compile(r"BMC (?:PS|PSU|Power Supply) ?[0-9]{1,2}(?: Status)?$", re.IGNORECASE)
STATE_BITS = re.compile(r"0x[0-9a-fA-F]{2}")
SUPPLY_STATES = {0x02: "failure", 0x04: "predictive failure", 0x08: "input lost"}
"""States of a power supply, same table, sensor type 08h: presence is bit 0."""


def read_sensors(frame: Frame) -> tuple[tuple[Sensor, ...], dict[str, str]]:
    """Chip by chip, then the thermal zones: "coretemp Package id 0", in degC, rpm and W.

    Equal names are distinguished by " #2", " #3" in the order of the chips. Second: "system.sensors" -> why there is
    none.
    """
    readings = [*_chips(frame), *_zones(frame), *controller_sensors(answer(frame, CONTROLLER_SENSORS))]
    times: Counter[str] = Counter()
    sensors = []
    for sensor in readings:
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
        sensors[chip, kind, number] = Sensor(
            name=_name(frame, chip, f"{kind}{number}"),
            unit=unit,
            value=reading * scale,
            critical=critical * scale if critical is not None else None,
        )
    return list(sensors.values())


def _name(frame: Frame, chip: str, reading: str) -> str:
    """The chip and the label of a reading, or its number: `coretemp Package id 0`, `nct6779 fan1`."""
    folder = f"{HWMON}/hwmon{chip}"
    label = frame.values.get(f"{folder}/{reading}_label", "").strip() or reading
    return f"{frame.values.get(f'{folder}/name', '').strip() or f'hwmon{chip}'} {label}"


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


def read_alarms(frame: Frame) -> dict[str, str]:
    """Sensors that their chip or the BMC reports as bad -> in which way: `alarm`, `fault`, `critical`."""
    alarms = {}
    matches = [match for path in frame.values if path.startswith(HWMON) and (match := ALARM.fullmatch(path))]
    for match in sorted(matches, key=lambda match: match[0]):
        if frame.integer(match[0]):
            alarms[_name(frame, match[1], match[2])] = match[3].replace("_", " ")
    return alarms | controller_alarms(answer(frame, CONTROLLER_SENSORS))


def controller_alarms(lines: Iterable[str]) -> dict[str, str]:
    """Sensors of the BMC that are critical, beyond repair, or report a failure."""
    alarms = {}
    for row in controller_rows(lines):
        failure = FAILURE.search(row.reading)
        if row.state in STATES or failure:
            alarms[row.sensor] = failure[0].lower() if failure else STATES[row.state]
        elif POWER_SUPPLY.match(row.sensor) and STATE_BITS.fullmatch(row.reading):
            bits = int(row.reading, 16)
            states = [state for bit, state in SUPPLY_STATES.items() if bits & bit]
            alarms |= {row.sensor: ", ".join(states)} if states else {}
    return alarms


class ControllerRow(NamedTuple):
    """One line of `ipmitool sdr`."""

    sensor: str
    reading: str
    state: str


def controller_rows(lines: Iterable[str]) -> Iterator[ControllerRow]:
    """Sensors of `ipmitool sdr` (name, reading, state) and of `sdr elist` (name, number, state, entity, reading)."""
    for line in lines:
        cells = [cell.strip() for cell in line.split("|", maxsplit=5)]
        if not cells[0]:
            continue
        if len(cells) == 3:
            yield ControllerRow(f"BMC {cells[0]}", cells[1], cells[2])
        elif len(cells) == 5:
            yield ControllerRow(f"BMC {cells[0]}", cells[4], cells[2])


def controller_sensors(lines: Iterable[str]) -> list[Sensor]:
    """Readings with a unit that is known."""
    matches = ((row, READ_VALUE.fullmatch(row.reading)) for row in controller_rows(lines))
    return [
        Sensor(name=row.sensor, unit=CONTROLLER_UNITS[match[2]], value=float(match[1]))
        for row, match in matches
        if match
    ]
