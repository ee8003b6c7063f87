"""half-duplex: an interface that cannot send and receive at once."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "One end negotiates and the other does not: let both do it (ethtool -s DEVICE autoneg on), or set both alike. "
    "Half duplex on a switched link is a mismatch, and collisions are what it costs."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Interfaces that are up and carry Ethernet."""
    for node, known in readings.facts.items():
        for interface in known.interfaces:
            if interface.duplex == "half" and interface.carries_ethernet:
                says = f"{interface.name} runs in half duplex"
                yield Violation(node=node, says=says, key=interface.name, remedy=REMEDY)


def knows(facts: NodeFacts) -> bool:
    """Whether an interface tells its duplex."""
    return any(interface.duplex for interface in facts.interfaces)


RULE = Rule(kind=FindingKind.HALF_DUPLEX, title="half duplex", look=look, knows=knows)
