"""memory-errors: modules that fail, or are about to."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Find the module (ras-mc-ctl --error-count, the BMC's log), seat it anew, then replace it. Correcting costs "
    "time under load, and a module that is corrected often is one that will fail."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Uncorrected ones count since the start of the kernel; corrected ones while the node was watched."""
    for node, known in readings.facts.items():
        after = readings.after.get(node, known)
        if after.boot_id != known.boot_id:
            after = known
        lost = max(known.memory.uncorrected_errors or 0, after.memory.uncorrected_errors or 0)
        if lost > 0:
            says = f"{lost} uncorrected memory errors since the kernel was started"
            yield Violation(node=node, says=says, key="uncorrected", remedy=REMEDY)
    for node, before, after in readings.read_twice():
        earlier, later = before.memory.corrected_errors, after.memory.corrected_errors
        if earlier is not None and later is not None and later > earlier:
            says = f"{later - earlier} memory errors were corrected during the run"
            yield Violation(node=node, says=says, key="corrected", remedy=REMEDY)


def knows(facts: NodeFacts) -> bool:
    """Whether EDAC counts."""
    return facts.memory.uncorrected_errors is not None or facts.memory.corrected_errors is not None


RULE = Rule(kind=FindingKind.MEMORY_ERRORS, title="memory errors", look=look, knows=knows)
