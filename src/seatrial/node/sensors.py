"""Temperatures, fans, power, and the limits of power, from a frame.

Units and names of files: Linux, Documentation/hwmon/sysfs-interface.rst, driver-api/thermal/sysfs-api.rst and
power/powercap/powercap.rst.
"""

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from seatrial.model.system import Sensor
from seatrial.node.frame import Frame

HWMON = "/sys/class/hwmon"
READING = re.compile(r"/sys/class/hwmon/hwmon([0-9]{1,6})/(temp|fan|power)([0-9]{1,6})_(?:input|average)")
ZONES = "/sys/class/thermal/"
ZONE = re.compile(r"/sys/class/thermal/thermal_zone([0-9]{1,6})/temp")
POWER = "/sys/class/powercap/"
POWER_LIMIT = re.compile(r"(/sys/class/powercap/([^/]+)/constraint_[0-9]{1,3}_)power_limit_uw")
UNITS = {"temp": ("degC", 1e-3), "fan": ("rpm", 1.0), "power": ("W", 1e-6)}
"""Millidegrees, revolutions per minute, microwatts."""


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
