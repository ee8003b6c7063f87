"""Processor frequencies and who controls them, from the cpufreq files of a frame. The kernel's unit is kHz."""

import functools
import re
from collections import Counter

import msgspec

from seatrial.model.hardware import IN_NAME
from seatrial.node.frame import WHOLE_NUMBER, Frame
from seatrial.node.processor_sets import listed, number
from seatrial.node.topology_sysfs import CPU

BY_PROCESSOR = f"{CPU}/cpufreq"
BY_POLICY = "/sys/devices/system/cpu/cpufreq/policy[0-9]*"
NOMINAL = "/sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"
BEHIND_AT = re.compile(r"@ ([0-9]{1,2}(?:\.[0-9]{1,3})?)GHz")

Column = tuple[tuple[int, str], ...]
"""Processor, cell: sorted by processor."""


class Frequencies(msgspec.Struct, frozen=True, kw_only=True):
    """Frequencies in Hz, in the order of the processors' numbers, without those whose file is not readable."""

    driver: str
    governors: dict[str, int]
    energy_preferences: dict[str, int]
    minimum_hz: tuple[float, ...]
    maximum_hz: tuple[float, ...]
    hardware_maximum_hz: tuple[float, ...]
    present_hz: tuple[float, ...]


def read_frequencies(frame: Frame, absent: dict[str, str]) -> Frequencies:
    """What cpufreq reports for every processor, by processor or by policy; adds to `absent` what it does not report."""
    pattern = BY_PROCESSOR if frame.lists.get(BY_PROCESSOR) else BY_POLICY
    drivers = (f"{_folder(pattern, name)}/scaling_driver" for name in frame.lists.get(pattern, ())[:1])
    driver = next((frame.values.get(file, "") for file in drivers), "")
    governors = Counter(cell for _, cell in _column(frame, pattern, "scaling_governor"))
    preferences = Counter(cell for _, cell in _column(frame, pattern, "energy_performance_preference"))
    hz = {
        field: _hz(_column(frame, pattern, file))
        for field, file in (
            ("minimum_hz", "scaling_min_freq"),
            ("maximum_hz", "scaling_max_freq"),
            ("hardware_maximum_hz", "cpuinfo_max_freq"),
            ("present_hz", "scaling_cur_freq"),
        )
    }
    values = {"frequency_driver": driver, "governors": governors, "energy_preferences": preferences, **hz}
    why = frame.reason(pattern) if frame.lists.get(pattern) else "no cpufreq: the kernel does not set frequencies here"
    absent.update({f"processor.{field}": why for field, value in values.items() if not value})
    return Frequencies(driver=driver, governors=dict(governors), energy_preferences=dict(preferences), **hz)


def base_hz(frame: Frame, model_name: str) -> tuple[float | None, str]:
    """The frequency without turbo, and where it is from.

    base_frequency (intel_pstate, kHz), nominal_freq (ACPI CPPC, MHz), else the name's.

    The frequency in an Intel brand string is that at which the processor was qualified: Intel 64 and IA-32
    Architectures Software Developer's Manual, volume 2, CPUID, "Extracting the Processor Frequency from Brand Strings".
    """
    for pattern in (BY_PROCESSOR, BY_POLICY):
        for name in frame.lists.get(pattern, ())[:1]:
            khz = frame.integer(f"{_folder(pattern, name)}/base_frequency")
            if khz is not None and khz > 0:
                return khz * 1e3, "cpufreq/base_frequency"
    mhz = frame.integer(NOMINAL)
    if mhz is not None and mhz > 0:
        return mhz * 1e6, "acpi_cppc/nominal_freq"
    return named_hz(model_name)


def named_hz(model_name: str) -> tuple[float | None, str]:
    """The frequency behind the @ of a model's name, and that it is from there; None where there is none."""
    match = BEHIND_AT.search(model_name)
    return (float(match[1]) * 1e9, IN_NAME) if match else (None, "")


def turbo(frame: Frame) -> bool | None:
    """Whether all processors may go beyond the base frequency; None where neither driver nor policies report it."""
    forbidden, boost = frame.integer(NO_TURBO), frame.integer(BOOST)
    if forbidden is not None:
        return forbidden == 0
    if boost is not None:
        return boost == 1
    policies = frame.columns.get((BY_PROCESSOR, "boost")) or frame.columns.get((BY_POLICY, "boost"), {})
    return all(cell == "1" for cell in policies.values()) if policies else None


def _folder(pattern: str, name: str) -> str:
    return pattern.replace("[0-9]*", name)


def _column(frame: Frame, pattern: str, file: str) -> Column:
    """The cells of a file by processor; those of a policy count for each of its processors."""
    cells = frame.columns.get((pattern, file), {})
    if pattern == BY_PROCESSOR:
        return _sorted(tuple(cells), tuple(cells.values()))
    members = frame.columns.get((pattern, "affected_cpus"), {})
    names = tuple(members.get(name, name) for name in cells)
    return _sorted(names, tuple(cells.values()))


@functools.lru_cache(maxsize=4096)
def _sorted(names: tuple[str, ...], cells: tuple[str, ...]) -> Column:
    rows = ((_processors(name), cell) for name, cell in zip(names, cells, strict=True))
    return tuple(sorted((each, cell.strip()) for processors, cell in rows for each in processors))


def _processors(name: str) -> tuple[int, ...]:
    """ "0 1 2" or "0-2" or "7": affected_cpus divides by blanks."""
    single = number(name)
    return (single,) if single is not None else listed(",".join(name.split())) or ()


@functools.lru_cache(maxsize=4096)
def _hz(column: Column) -> tuple[float, ...]:
    return tuple(int(cell) * 1e3 for _, cell in column if WHOLE_NUMBER.fullmatch(cell) and int(cell) > 0)
