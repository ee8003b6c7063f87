"""mitigations-differ: the kernel defends itself otherwise than on the peers."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import same_kernel, unlike_items

REMEDY = (
    "Start all nodes with the same mitigations= and the same microcode. They make system calls and interrupts "
    "dearer, which latency over TCP shows most."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Vulnerability by vulnerability, among nodes of one kernel: another kernel knows others and has other words."""
    return unlike_items(readings, mitigations, REMEDY, groups=same_kernel(readings))


def mitigations(facts: NodeFacts) -> dict[str, str | None]:
    """What is done about each, without the part that only follows from SMT being on or off."""
    return {
        f"the mitigation of {name}": "; ".join(
            part for each in words.split(";") if not (part := each.strip()).upper().startswith("SMT")
        )
        for name, words in facts.processor.mitigations.items()
    }


RULE = Rule(kind=FindingKind.MITIGATIONS_DIFFER, title="mitigations differ", look=look)
