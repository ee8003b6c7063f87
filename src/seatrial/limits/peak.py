"""Peak floating point: double precision operations per cycle and core, times cores, times a frequency."""

import re

from seatrial.limits.microarchitectures import nominal_hz, recognise
from seatrial.model.facts import IN_NAME, NodeFacts
from seatrial.model.limit import ComputePeak, NoLimit

BY_INSTRUCTION_SET = (
    (frozenset({"avx512f"}), 32),
    (frozenset({"avx2", "fma"}), 16),
    (frozenset({"avx"}), 8),
    (frozenset({"sse2"}), 4),
)
"""The widest first; two units of each. Two fused multiply-adds on 8 doubles are 32, on 4 are 16; an addition and a
multiplication on 4 are 8, on 2 are 4. Intel 64 Optimization Reference Manual, chapter 2."""

EXCEPTIONS = (
    ("AuthenticAMD", 21, range(256), 4, "Bulldozer to Excavator: two cores share two units of 128 bits"),
    ("AuthenticAMD", 23, range(0x30), 8, "Zen 1: 256-bit instructions in two halves"),
    ("AuthenticAMD", 25, range(256), 16, "Zen 3 and 4: AVX-512 in two halves"),
    ("GenuineIntel", 6, range(175, 176), 8, "Sierra Forest: 256-bit instructions in two halves"),
)
"""Vendor, family, models -> less than their instruction sets promise, and why."""

FORMULA = "cores * flops_per_cycle * hz"

_NAMED_HZ = re.compile(r"@\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*GHz")


def flops_per_cycle(facts: NodeFacts) -> tuple[int, str] | None:
    """Double precision, per core, and where it comes from; None where the processor is not known.

    By the table of processors, by the exceptions, then by the instruction sets that the kernel lists.
    """
    line = recognise(facts)
    if line is not None:
        return line.flops_per_cycle, f"table of processors: {line.name} ({'; '.join(line.sources)})"
    seen = facts.processor
    for vendor, family, models, flops, why in EXCEPTIONS:
        if (seen.vendor, seen.family) == (vendor, family) and seen.model_number in models:
            return flops, why
    have = set(seen.instruction_sets)
    for needed, flops in BY_INSTRUCTION_SET:
        if needed <= have:
            return flops, f"instruction sets of /proc/cpuinfo: {' '.join(sorted(needed))}, two units assumed"
    return None


def compute_peaks(facts: NodeFacts) -> tuple[ComputePeak | NoLimit, ...]:
    """Flop/s of all cores at the base frequency, and at the highest one of any core ("... at maximum")."""
    node = facts.hostname
    cores = facts.cores or len(facts.topology.cores)
    rate = flops_per_cycle(facts)
    if rate is None or not cores:
        model = facts.cpu_model or "this processor"
        why = f"operations per cycle of {model} not known" if rate is None else "number of cores not known"
        return (NoLimit(path=f"{node} cores > floating point", reason=why),)
    peaks: list[ComputePeak | NoLimit] = []
    base = _base(facts)
    if base is None:
        path = f"{node} cores > floating point at base frequency"
        peaks.append(
            NoLimit(
                path=path,
                reason="the base frequency could not be read, and neither the name nor the table of processors has it",
            )
        )
    else:
        peaks.append(_peak(facts, "base frequency", cores, rate, base))
    top = _top(facts)
    if top is not None:
        peaks.append(_peak(facts, "maximum frequency", cores, rate, top))
    return tuple(peaks)


def _top(facts: NodeFacts) -> tuple[float, str, bool] | None:
    """The highest frequency of any core: Hz, source, and whether it is from the table."""
    read = max(facts.processor.hardware_maximum_hz or facts.processor.maximum_hz, default=None)
    if read:
        return read, f"cpufreq/cpuinfo_max_freq on {facts.hostname}", False
    return _from_table(facts, 1)


def _base(facts: NodeFacts) -> tuple[float, str, bool] | None:
    """Hz, source, and whether it is only in the name or the table."""
    if facts.processor.base_hz:
        source = facts.processor.base_hz_source
        if source == IN_NAME:
            return facts.processor.base_hz, f"the name {facts.cpu_model}", True
        return facts.processor.base_hz, f"{source or 'the facts'} on {facts.hostname}", False
    named = _NAMED_HZ.search(facts.cpu_model)
    if named:
        return float(named[1]) * 1e9, f"the name {facts.cpu_model}", True
    return _from_table(facts, 0)


def _from_table(facts: NodeFacts, place: int) -> tuple[float, str, bool] | None:
    """Hz, source and True of the frequency in the table of processors: the base (`place` 0) or the highest (1)."""
    line = recognise(facts)
    hz = nominal_hz(line, facts.cpu_model)[place] if line else None
    return (hz, f"table of processors: {line.name}", True) if line and hz else None


def _peak(
    facts: NodeFacts, which: str, cores: int, rate: tuple[int, str], frequency: tuple[float, str, bool]
) -> ComputePeak:
    flops, rate_source = rate
    hz, hz_source, named = frequency
    unknown = ["number of vector units; two are assumed"] if rate_source.startswith("instruction") else []
    if flops >= 32 and facts.processor.vendor == "GenuineIntel":
        unknown.append("the frequency under AVX-512, which is lower and cannot be read")
    if which == "maximum frequency":
        unknown.append("the frequency of all cores at once, which is at most this")
    line = recognise(facts)
    if line is not None and line.flops_note:
        unknown.append(line.flops_note)
    return ComputePeak(
        path=f"{facts.hostname} cores > floating point at {which}",
        flops_per_s=cores * flops * hz,
        flops_per_cycle=flops,
        cores=cores,
        hz=hz,
        nominal=True if named else not rate_source.startswith("instruction sets"),
        inputs={"cores": float(cores), "flops_per_cycle": float(flops), "hz": hz},
        source=f"{rate_source}; {hz_source}",
        formula=FORMULA,
        unknown=tuple(unknown),
    )
