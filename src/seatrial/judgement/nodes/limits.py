"""What a node could do at most: its memory channels, and its vector units at the frequency that was observed."""

from collections.abc import Sequence

from seatrial.judgement.nodes.figures import TRAFFIC
from seatrial.limits.memory import memory_limits
from seatrial.limits.peak import flops_per_cycle
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import Kernel
from seatrial.model.node_trials import Measure, NodeFigures, NodeLimits
from seatrial.model.words import count

QUANTUM_CYCLES = 2_400_000
"""Of one quantum of noise_work on x86-64: 400,000 steps of three shifts and three exclusive ors, one cycle each, each
waiting for the one before."""
X86 = ("GenuineIntel", "AuthenticAMD", "HygonGenuine")


def limits_of(figures: NodeFigures, facts: NodeFacts | None, cores: int) -> NodeLimits:
    """The limits of a node whose arithmetic was measured on that many cores."""
    if facts is None:
        return NodeLimits(unknown=("the facts of the node are not known",))
    memory, source, reasons = _memory(facts)
    triad = figures.values.get(Measure.TRIAD)
    traffic = TRAFFIC[Kernel.MEMORY_TRIAD]
    moved = triad.value * traffic.with_write_allocate / traffic.counted if triad else None
    hertz = _observed_hz(figures, facts)
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


def _observed_hz(figures: NodeFigures, facts: NodeFacts) -> float | None:
    if figures.noise is None or facts.processor.vendor not in X86:
        return None
    return QUANTUM_CYCLES / figures.noise.quantum_s
