"""throttled: processors that became too hot while they were watched."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Look at inlet temperature, fans and dust, then at the paste under the heat sink, and at the BMC's log; "
    "compare the temperatures of the node's neighbours in the rack."
)


def look(readings: Readings) -> Iterator[Violation]:
    """The growth between two readings: what was before may be of a summer's day."""
    for node, before, after in readings.read_twice():
        earlier, later = before.processor.throttle_events, after.processor.throttle_events
        if earlier is not None and later is not None and later > earlier:
            says = f"its processors were throttled {later - earlier} times for heat during the run"
            yield Violation(node=node, says=says, key="throttled", remedy=REMEDY)


RULE = Rule(kind=FindingKind.THROTTLED, title="throttled", look=look)
