"""clock-unsynchronised: nobody keeps the node's clock right."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Start chronyd (or ntpd) and look whether it reaches a server (chronyc sources, chronyc tracking). Munge and "
    "Kerberos refuse clocks that are minutes apart, and shared file systems become older than their sources."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Among nodes of at least two kernels: one clock alone, or one that all nodes share, cannot be out of step."""
    told = {node: known for node, known in readings.facts.items() if knows(known)}
    if len({known.boot_id or node for node, known in told.items()}) < 2:
        return
    for node, known in told.items():
        clock = known.system.clock
        if clock.synchronised is False:
            by = f" (says {clock.source})" if clock.source else ""
            offset = "" if clock.offset_s is None else f", by its own word {clock.offset_s:+.3g} s off"
            says = f"its clock is not synchronised{by}{offset}"
            yield Violation(node=node, says=says, key="unsynchronised", remedy=REMEDY)


def knows(facts: NodeFacts) -> bool:
    """Whether it tells."""
    return facts.system.clock.synchronised is not None


RULE = Rule(kind=FindingKind.CLOCK_UNSYNCHRONISED, title="clock not synchronised", look=look, knows=knows)
