"""What a node could do at most: its memory channels, and its vector units at the frequency that was observed."""

import math
from collections.abc import Sequence

from seatrial.judgement.nodes.figures import TRAFFIC
from seatrial.limits.memory import memory_limits
from seatrial.limits.microarchitectures import nominal_hz, recognise
from seatrial.limits.peak import flops_per_cycle
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import Kernel
from seatrial.model.node_trials import Measure, NodeFigures, NodeLimits
from seatrial.model.words import count

QUANTUM_CYCLES = 2_400_000
"""Cycles of one quantum of noise_work on x86-64: 400,000 steps of three shifts and three exclusive ors, one cycle each,
each waiting for the one before."""
FULL_SHARE = 0.9
"""Share of the cores: if hardly fewer fill the memory, it is not what limits them."""
AT_BASE = 1.02
"""Times the base frequency: up to this the clock is at the base, by the error of the measurement."""
TURBO_GAINS = 1.05
"""A turbo of less than this is not worth a remark."""
X86 = ("GenuineIntel", "AuthenticAMD", "HygonGenuine")


def limits_of(figures: NodeFigures, facts: NodeFacts | None, cores: int) -> NodeLimits:
    """The limits of a node whose arithmetic was measured on that many cores."""
    if facts is None:
        return NodeLimits(unknown=("the facts of the node are not known",))
    memory, source, reasons = _memory(facts)
    triad = figures.values.get(Measure.TRIAD)
    traffic = TRAFFIC[Kernel.MEMORY_TRIAD]
    moved = triad.value * traffic.with_write_allocate / traffic.counted if triad else None
    clocked = figures.noise if facts.processor.vendor in X86 else None
    hertz = QUANTUM_CYCLES / clocked.quantum_s if clocked else None
    rate = flops_per_cycle(facts)
    peak = cores * rate[0] * hertz if rate and hertz and cores else None
    fma = figures.values.get(Measure.FMA)
    if peak is None:
        reasons = (*reasons, "operations per cycle or the observed frequency are not known")
    return NodeLimits(
        memory_bytes_per_s=memory,
        memory_source=source,
        memory_share=moved / memory if moved and memory else None,
        observed_hz=hertz,
        core_hz={core: QUANTUM_CYCLES / one_s for core, one_s in clocked.core_quantum_s.items()} if clocked else {},
        base_hz=base_hz_of(facts),
        most_hz=most_hz_of(facts),
        cores=facts.cores or cores or None,
        filling_cores=_filling_cores(figures, facts.cores or cores),
        flops_per_s=peak,
        flops_source=f"{count(cores, 'core')} x {rate[0]} per cycle ({rate[1]}) x observed frequency"
        if rate and peak
        else "",
        arithmetic_share=fma.value / peak if fma and peak else None,
        unknown=reasons,
    )


def _memory(facts: NodeFacts) -> tuple[float | None, str, tuple[str, ...]]:
    """All channels together, where from, and why they are not known."""
    packages = memory_limits(facts)
    limits: Sequence[Limit] = [package for package in packages if isinstance(package, Limit)]
    if len(limits) < len(packages) or not limits:
        reasons = [package.reason for package in packages if not isinstance(package, Limit)]
        return None, "", tuple(dict.fromkeys(reasons))
    return (
        sum(package.limit_bytes_per_s for package in limits),
        "; ".join(dict.fromkeys(package.binding for package in limits)),
        (),
    )


def base_hz_of(facts: NodeFacts) -> float | None:
    """The clock that a processor has on all cores in any case."""
    line = recognise(facts)
    return facts.processor.base_hz or (nominal_hz(line, facts.cpu_model)[0] if line else None)


def most_hz_of(facts: NodeFacts) -> float | None:
    """The clock that one core reaches at most."""
    line = recognise(facts)
    read = max(facts.processor.hardware_maximum_hz, default=None)
    return read or (nominal_hz(line, facts.cpu_model)[1] if line else None)


def _filling_cores(figures: NodeFigures, cores: int) -> int | None:
    """More cores than these cannot speed up work that streams from memory."""
    whole, single = figures.values.get(Measure.TRIAD), figures.values.get(Measure.CORE_TRIAD)
    if whole is None or single is None or not single.value:
        return None
    filling = math.ceil(whole.value / single.value)
    return filling if filling < FULL_SHARE * cores else None


def clock_text(limits: NodeLimits) -> str:
    """`2.98 to 3.02 GHz on all cores at once (base 2.60 GHz, one core at most 3.50 GHz)`; empty where not known."""
    if not limits.core_hz:
        return ""
    least, most = (f"{pick(limits.core_hz.values()) / 1e9:.2f}" for pick in (min, max))
    clocks = f"{most} GHz" if least == most else f"{least} to {most} GHz"
    table = [
        f"{what} {hertz / 1e9:.2f} GHz"
        for what, hertz in (("base", limits.base_hz), ("one core at most", limits.most_hz))
        if hertz
    ]
    beside = f" ({', '.join(table)})" if table else ""
    return f"{clocks} on all cores at once{beside}"


def without_turbo(limits: NodeLimits) -> bool:
    """Whether no core was faster than the base frequency, although the processor can be."""
    if not (limits.core_hz and limits.base_hz and limits.most_hz):
        return False
    return max(limits.core_hz.values()) < AT_BASE * limits.base_hz < limits.most_hz / TURBO_GAINS


def memory_text(limits: NodeLimits) -> str:
    """`memory is full with 9 of 28 cores`; empty where more cores have more of it."""
    if limits.filling_cores is None or not limits.cores:
        return ""
    return f"memory is full with {limits.filling_cores} of {count(limits.cores, 'core')}"
