"""governor: processors that do not run as fast as they may."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import ProcessorFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

BEST = "performance"
HARDWARE_CHOOSES = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp", "")
"""Drivers in active mode, where the processor itself chooses its frequency and is only told what to prefer; there
"powersave" does not mean the lowest frequency (kernel: admin-guide/pm/intel_pstate, amd-pstate). In passive mode the
drivers have other names: intel_cpufreq, amd-pstate. An unknown driver gets the benefit of the doubt."""

REMEDY = (
    "Set it to performance on all processors and keep it there over a restart (cpupower frequency-set -g "
    "performance; tuned-adm profile hpc-compute or latency-performance); where Slurm sets it, look at CpuFreqDef."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Every governor but performance, unless the hardware chooses and prefers performance."""
    for node, known in readings.facts.items():
        facts = known.processor
        slow = {name: count for name, count in facts.governors.items() if name and name != BEST and count}
        if slow and not hardware_prefers_performance(facts):
            total = sum(facts.governors.values())
            says = " and ".join(f"governor {name} on {count} of {total} processors" for name, count in slow.items())
            if facts.energy_preferences:
                says += f", energy preference {', '.join(facts.energy_preferences)}"
            yield Violation(node=node, says=says, key=" ".join(sorted(slow)), remedy=REMEDY)


def hardware_prefers_performance(facts: ProcessorFacts) -> bool:
    """powersave in active mode with the energy preference performance: as fast as with the governor performance."""
    return (
        facts.frequency_driver in HARDWARE_CHOOSES
        and set(facts.governors) <= {"powersave", BEST}
        and set(facts.energy_preferences) == {BEST}
    )


def knows(facts: NodeFacts) -> bool:
    """Whether it tells its governors; virtual machines have none."""
    return bool(facts.processor.governors)


RULE = Rule(kind=FindingKind.GOVERNOR, title="governor not performance", look=look, knows=knows)
