"""Numbers of processors, frequencies, governors, idle states, instruction sets and mitigations, from a frame."""

import functools
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from seatrial.model.hardware import IdleState, ProcessorFacts
from seatrial.node.frame import Frame, whole_number
from seatrial.node.frequencies import base_hz, read_frequencies, turbo
from seatrial.node.processor_sets import Numbers, listed, number, package_number
from seatrial.node.topology_sysfs import CPU, NODES, ONLINE, ROWS, sysfs_cores

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
    absent: dict[str, str] = {}
    frequencies = read_frequencies(frame, absent)
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
        frequency_driver=frequencies.driver,
        governors=frequencies.governors,
        energy_preferences=frequencies.energy_preferences,
        minimum_hz=frequencies.minimum_hz,
        maximum_hz=frequencies.maximum_hz,
        hardware_maximum_hz=frequencies.hardware_maximum_hz,
        present_hz=frequencies.present_hz,
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
    )
    return facts, {**absent, **_absent(frame, facts)}


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
        processor: int(count)
        for name, count in column.items()
        if (processor := number(name)) is not None and count.isascii() and count.isdigit() and len(count) <= 18
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
    """Processors online; if an old kernel does not list them, those with a known core."""
    return len(listed(frame.values.get(ONLINE, "")) or frame.tables.get(ROWS, ())) or None


def _numa_nodes(frame: Frame) -> int | None:
    """NUMA nodes online; if an old kernel does not list them, their folders."""
    return len(listed(frame.values.get(NODES_ONLINE, "")) or frame.lists.get(NODES, ())) or None


def _sockets(frame: Frame) -> int | None:
    """Distinct package numbers; -1 means that the firmware reports none."""
    packages = {package_number(row.get("physical_package_id", "?")) for row in frame.tables.get(ROWS, ())}
    return len(packages) if packages and None not in packages else None
