"""microcode-differs: the processors run another microcode than the peers'."""

from collections.abc import Iterator

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Bring all nodes to one microcode: the same BIOS, the same microcode package in the image, then restart. "
    "Revisions have changed frequency tables and the price of mitigations."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Among processors of one stepping: another one has a microcode of its own."""
    finer: dict[object, list[str]] = {}
    for place, group in enumerate(readings.peers):
        for name in group:
            finer.setdefault((place, stepping(readings.facts[name])), []).append(name)
    alike = msgspec.structs.replace(readings, groups=tuple(map(tuple, finer.values())))
    return unlike(alike, "the microcode", lambda facts: facts.processor.microcode, REMEDY)


def stepping(facts: NodeFacts) -> tuple[int | None, int | None, int | None]:
    """Family, model and stepping."""
    return facts.processor.family, facts.processor.model_number, facts.processor.stepping


RULE = Rule(kind=FindingKind.MICROCODE_DIFFERS, title="microcode differs", look=look)
