"""turbo-off: turbo is switched off here, and on on the peers."""

from collections.abc import Iterator
from operator import lt

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Set it as on the other nodes: in the BIOS, or by /sys/devices/system/cpu/intel_pstate/no_turbo or "
    "cpufreq/boost. All nodes off is a choice that a site may make; one node off makes every job wait for it."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Only by peers: off everywhere is a policy, and no fault."""
    return unlike(
        readings,
        "turbo",
        lambda facts: facts.processor.turbo,
        REMEDY,
        show=lambda turbo: "on" if turbo else "off",
        worse=lt,
    )


RULE = Rule(kind=FindingKind.TURBO_OFF, title="turbo off", look=look)
