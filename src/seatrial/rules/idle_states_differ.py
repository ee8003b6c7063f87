"""idle-states-differ: processors may sleep more deeply, or less, than the peers'."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Set them as on the other nodes: C-states in the BIOS, intel_idle.max_cstate and processor.max_cstate on the "
    "kernel's command line, the tuned profile. Waking from a deep one takes tens of microseconds, which small "
    "messages pay."
)


def look(readings: Readings) -> Iterator[Violation]:
    """The states of processor 0 that are allowed."""
    return unlike(readings, "the set of allowed idle states", allowed, REMEDY)


def allowed(facts: NodeFacts) -> str | None:
    """Their names, from shallow to deep; None where none is told."""
    states = facts.processor.idle_states
    return " ".join(state.name for state in states if not state.disabled) or "empty" if states else None


RULE = Rule(kind=FindingKind.IDLE_STATES_DIFFER, title="idle states differ", look=look)
