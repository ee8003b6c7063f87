"""frequency-capped: the policy allows less than the processor can."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import ProcessorFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

ALLOWED_SHARE = 0.95
"""Steps of 100 MHz and rounding in firmware tables stay within a twentieth."""

REMEDY = (
    "Lift the cap (cpupower frequency-set -u MAX) and look for what sets it: a tuned profile, Slurm's CpuFreqDef, "
    "thermald, the BMC's power capping."
)


def look(readings: Readings) -> Iterator[Violation]:
    """scaling_max_freq against cpuinfo_max_freq, processor by processor."""
    for node, known in readings.facts.items():
        capped = capped_processors(known.processor)
        if capped:
            allowed, able = min(capped)
            total = len(known.processor.maximum_hz)
            says = f"{len(capped)} of {total} processors may run at {ghz(allowed)} at most and can at {ghz(able)}"
            yield Violation(node=node, says=says, key=f"{allowed} {able}", remedy=REMEDY)


def capped_processors(facts: ProcessorFacts) -> list[tuple[float, float]]:
    """What is allowed and what is able, in Hz, of each one that is capped.

    With turbo off the base frequency is all that is to be had, whichever way the kernel tells of it.
    """
    if len(facts.maximum_hz) != len(facts.hardware_maximum_hz):
        return []
    return [
        (allowed, able)
        for allowed, able in zip(facts.maximum_hz, facts.hardware_maximum_hz, strict=True)
        if 0 < allowed < ALLOWED_SHARE * able
        and not (facts.turbo is False and facts.base_hz and allowed >= ALLOWED_SHARE * facts.base_hz)
    ]


def ghz(frequency_hz: float) -> str:
    """3.4 GHz."""
    return f"{frequency_hz / 1e9:.3g} GHz"


def knows(facts: NodeFacts) -> bool:
    """Whether both frequencies are told."""
    return bool(facts.processor.maximum_hz and facts.processor.hardware_maximum_hz)


RULE = Rule(kind=FindingKind.FREQUENCY_CAPPED, title="frequency capped", look=look, knows=knows)
