"""interface-speed-differs: the fabric interface has negotiated less than the peers'."""

from collections.abc import Iterator
from operator import lt

from seatrial.model.facts import NodeFacts
from seatrial.model.units import link_rate
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Look at what both ends offer (ethtool) and whether the fast interface is up at all; then replace the cable "
    "or the transceiver, and set the switch's port to what it should be."
)


def look(readings: Readings) -> Iterator[Violation]:
    """The fastest interface that is up, whatever its name."""
    return unlike(readings, "the speed of its fastest interface", speed, REMEDY, show=link_rate, worse=lt)


def speed(facts: NodeFacts) -> float | None:
    """bit/s; None where no interface that is up tells it."""
    interface = facts.fabric_interface
    return interface.speed_bits_per_s if interface else None


RULE = Rule(kind=FindingKind.INTERFACE_SPEED_DIFFERS, title="interface slower than its peers'", look=look)
