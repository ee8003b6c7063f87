"""Numbers of processors, frequencies, governors, idle states, instruction sets and mitigations, from a frame."""

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from seatrial.model.facts import IN_NAME, IdleState, ProcessorFacts
from seatrial.node.frame import WHOLE_NUMBER, Frame, labelled, natural_number, whole_number
from seatrial.node.processor_sets import Numbers, listed, number, package_number
from seatrial.node.topology_sysfs import CPU, NODES, ONLINE, ROWS, sysfs_cores

BY_PROCESSOR = f"{CPU}/cpufreq"
BY_POLICY = "/sys/devices/system/cpu/cpufreq/policy[0-9]*"
NOMINAL = "/sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"
BEHIND_AT = re.compile(r"@ ([0-9]{1,2}(?:\.[0-9]{1,3})?)GHz")

Column = tuple[tuple[int, str], ...]
"""Processor, cell: sorted by processor."""


def read_frequencies(frame: Frame) -> tuple[dict[str, Any], dict[str, str]]:
    """What cpufreq reports, by processor or by policy, as fields of ProcessorFacts, and why some are not known.

    Hz are in the order of the processors' numbers, without those whose file is not readable.
    """
    pattern = BY_PROCESSOR if frame.lists.get(BY_PROCESSOR) else BY_POLICY
    drivers = (f"{_folder(pattern, name)}/scaling_driver" for name in frame.lists.get(pattern, ())[:1])
    driver = next((frame.values.get(file, "") for file in drivers), "")
    governors, preferences = (
        dict(Counter(cell for _, cell in _column(frame, pattern, file)))
        for file in ("scaling_governor", "energy_performance_preference")
    )
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
    return values, {f"processor.{field}": why for field, value in values.items() if not value}


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
    rows = ((_cells_by_processor(name), cell) for name, cell in zip(names, cells, strict=True))
    return tuple(sorted((each, cell.strip()) for processors, cell in rows for each in processors))


def _cells_by_processor(name: str) -> tuple[int, ...]:
    """ "0 1 2" or "0-2" or "7": affected_cpus divides by blanks."""
    single = number(name)
    return (single,) if single is not None else listed(",".join(name.split())) or ()


@functools.lru_cache(maxsize=4096)
def _hz(column: Column) -> tuple[float, ...]:
    return tuple(int(cell) * 1e3 for _, cell in column if WHOLE_NUMBER.fullmatch(cell) and int(cell) > 0)


STATUS = "/proc/self/status"
JOB = "job cpuset"
QUOTAS = "processor quotas"
SMT = "/sys/devices/system/cpu/smt/active"
IDLE = "/sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities/"
THROTTLE = f"{CPU}/thermal_throttle"
VECTOR = re.compile(
    r"mmx|sse\d?|ssse3|sse4[_a-z0-9]+|avx[_a-z0-9]*|fma4?|f16c|amx[_a-z0-9]*|xop"  # x86
    r"|asimd[a-z0-9]*|neon|sve[a-z0-9]*|sme[a-z0-9]*|fphp|bf16|i8mm"  # Arm
)
"""Words of /proc/cpuinfo for vector and matrix instructions: arch/x86/include/asm/cpufeatures.h,
Documentation/arch/arm64/elf_hwcaps.rst."""
CPUINFO = "/proc/cpuinfo"


def read_processor(frame: Frame) -> tuple[ProcessorFacts, dict[str, str]]:
    """The processors of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    says = cpuinfo(frame)
    frequencies, without_frequencies = read_frequencies(frame)
    base, base_source = base_hz(frame, says.get("model name", ""))
    smt, throttle = frame.integer(SMT), throttle_events(frame)
    quota = _least_quota(frame.values.get(QUOTAS, ""))
    facts = ProcessorFacts(
        vendor=says.get("vendor_id") or says.get("CPU implementer", ""),
        microcode=says.get("microcode", ""),
        instruction_sets=_instruction_sets(says.get("flags") or says.get("Features", "")),
        family=whole_number(says.get("cpu family", "")),
        model_number=whole_number(says.get("model", "")),
        stepping=whole_number(says.get("stepping", "")),
        base_hz=base,
        base_hz_source=base_source,
        turbo=turbo(frame),
        smt_active=None if smt is None else smt == 1,
        idle_states=_idle_states(frame),
        mitigations=_mitigations(frame),
        throttle_events=throttle,
        allowed=_allowed(frame),
        quota_processors=_quota_processors(quota),
        quota_file=quota.file if quota else "",
        quota_text=quota.content if quota and quota.file else "",
        **frequencies,
    )
    return facts, {**without_frequencies, **_absent(frame, facts)}


def _absent(frame: Frame, facts: ProcessorFacts) -> dict[str, str]:
    turbo_files = ("intel_pstate/no_turbo", "cpufreq/boost")
    read: dict[str, tuple[object, str]] = {
        "vendor": (facts.vendor, CPUINFO),
        "microcode": (facts.microcode, CPUINFO),
        "instruction_sets": (facts.instruction_sets, CPUINFO),
        "family": (facts.family is not None, CPUINFO),
        "model_number": (facts.model_number is not None, CPUINFO),
        "stepping": (facts.stepping is not None, CPUINFO),
        "smt_active": (facts.smt_active is not None, SMT),
        "idle_states": (facts.idle_states, IDLE),
        "mitigations": (facts.mitigations, VULNERABILITIES + "*"),
        "throttle_events": (facts.throttle_events is not None, THROTTLE),
        "allowed": (facts.allowed, STATUS),
        "quota_processors": (facts.quota_processors is not None, QUOTAS),
        "quota_file": (facts.quota_file, QUOTAS),
        "quota_text": (facts.quota_text, QUOTAS),
    }
    absent = {f"processor.{name}": frame.reason(item) for name, (known, item) in read.items() if not known}
    if facts.turbo is None:
        reasons = (frame.reason(f"/sys/devices/system/cpu/{file}") for file in turbo_files)
        absent["processor.turbo"] = "; ".join(reasons)
    if facts.base_hz is None:
        why = "neither base_frequency nor nominal_freq, and no frequency in the model's name"
        absent |= {"processor.base_hz": why, "processor.base_hz_source": why}
    return absent


@functools.lru_cache(maxsize=256)
def _instruction_sets(flags: str) -> tuple[str, ...]:
    return tuple(word for word in dict.fromkeys(flags.split()) if VECTOR.fullmatch(word))


def _idle_states(frame: Frame) -> tuple[IdleState, ...]:
    """Idle states in the kernel's order, the shallowest first. The kernel's latencies are in microseconds."""
    names, latencies, disabled = (frame.columns.get((IDLE, item), {}) for item in ("name", "latency", "disable"))
    places = sorted((place, entry) for entry in names if (place := number(entry)) is not None)
    return tuple(
        IdleState(name=names[entry], latency_s=_seconds(latencies.get(entry, "")), disabled=disabled.get(entry) == "1")
        for _, entry in places
    )


def _seconds(microseconds: str) -> float | None:
    count = whole_number(microseconds)
    return None if count is None else count / 1e6


def _mitigations(frame: Frame) -> dict[str, str]:
    names = frame.lists.get(VULNERABILITIES + "*", ())
    return {name: text for name in names if (text := frame.values.get(VULNERABILITIES + name)) is not None}


def throttle_events(frame: Frame) -> int | None:
    """Times that cores, and times that packages, were slowed down for heat, since boot.

    Every processor of a core counts the core's events, and every processor of a package the package's. So of the
    counts of one core the largest is taken, also of those of one package, and these are added up. A processor
    whose core or package is not known counts for one of its own, and all of unknown package for one package.
    """
    cores = _counts(frame, "core_throttle_count")
    packages = _counts(frame, "package_throttle_count")
    if not cores and not packages:
        return None
    if not any(cores.values()) and not any(packages.values()):
        return 0
    known = sysfs_cores(frame)
    core_of = {each: core.processors[0] for core in known for each in core.processors}
    package_of = {each: core.package for core in known for each in core.processors}
    of_core: dict[int, int] = {}
    for processor, count in cores.items():
        core = core_of.get(processor, processor)
        of_core[core] = max(of_core.get(core, 0), count)
    of_package: dict[int | None, int] = {}
    for processor, count in packages.items():
        package = package_of.get(processor)
        of_package[package] = max(of_package.get(package, 0), count)
    return sum(of_core.values()) + sum(of_package.values())


def _counts(frame: Frame, file: str) -> dict[int, int]:
    column = frame.columns.get((THROTTLE, file), {})
    return {
        processor: count
        for name, cell in column.items()
        if (processor := number(name)) is not None and (count := natural_number(cell)) is not None
    }


def _allowed(frame: Frame) -> Numbers:
    """Processors on which the collector or its job may run: the collector's step may have fewer."""
    allowed = set(listed(frame.values.get(JOB, "")) or ())
    for line in frame.files.get(STATUS, ()):
        name, _, processors = line.partition(":")
        if name == "Cpus_allowed_list":
            allowed.update(listed(processors) or ())
    return tuple(sorted(allowed))


class _Quota(NamedTuple):
    """What one control group leaves to its processes, in processors; infinite: as much as there is."""

    processors: float
    file: str = ""
    content: str = ""


def _least_quota(groups: str) -> _Quota | None:
    """The smallest of a control group and those above it, "QUOTA PERIOD FILE" each; "max", or -1 in v1: none.

    Earlier archives have no FILE.
    """
    quotas = []
    for group in filter(None, groups.split(";")):
        quota, period, file = (*group.split(" ", 2), "", "")[:3]
        content = f"{quota} {period}" if file.endswith("/cpu.max") else quota
        if quota in ("max", "-1"):
            quotas.append(_Quota(math.inf))
        elif (most := whole_number(quota)) and (every := whole_number(period)):
            quotas.append(_Quota(most / every, file, content))
    return min(quotas, key=lambda each: each.processors, default=None)


def _quota_processors(quota: _Quota | None) -> float | None:
    if quota is None:
        return None
    return quota.processors if math.isfinite(quota.processors) else -1.0


def cpuinfo(frame: Frame) -> Mapping[str, str]:
    """Word -> content, of the last processor that the collector kept; nothing where the file is not there."""
    return labelled(frame.files.get(CPUINFO, ()))


NODES_ONLINE = "/sys/devices/system/node/online"


def read_processors(frame: Frame) -> tuple[dict[str, Any], dict[str, str]]:
    """The model and the counts of a frame, as fields of NodeFacts, and why some are not known.

    Processors are the online logical ones; cores are their distinct sets of thread siblings. If an old kernel does not
    list what is online, processors are those with a known core, and NUMA nodes those with a folder.
    """
    folders = frame.lists.get(NODES, ())
    read = {
        "processors": (len(listed(frame.values.get(ONLINE, "")) or frame.tables.get(ROWS, ())) or None, ONLINE),
        "cores": (len(sysfs_cores(frame)) or None, ROWS),
        "sockets": (_sockets(frame), ROWS),
        "numa_nodes": (len(listed(frame.values.get(NODES_ONLINE, "")) or folders) or None, NODES_ONLINE),
        "cpu_model": (_cpu_model(frame), CPUINFO),
    }
    absent = {name: frame.reason(path) for name, (fact, path) in read.items() if not fact}
    return {name: fact for name, (fact, _) in read.items()}, absent


def _cpu_model(frame: Frame) -> str:
    """The model's name: x86 prints "model name", POWER "cpu", and Arm only the numbers of implementer and part."""
    says = cpuinfo(frame)
    if "CPU implementer" in says and "model name" not in says:
        return f"implementer {says['CPU implementer']} part {says.get('CPU part', 'unknown')}"
    return says.get("model name") or says.get("cpu") or ""


def _sockets(frame: Frame) -> int | None:
    """Distinct package numbers; -1 means that the firmware reports none."""
    packages = {package_number(row.get("physical_package_id", "?")) for row in frame.tables.get(ROWS, ())}
    return len(packages) if packages and None not in packages else None
