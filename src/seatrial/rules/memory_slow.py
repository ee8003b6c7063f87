"""memory-slow: modules that run below what they can, or below the peers'."""

from collections.abc import Iterator

from seatrial.drift.comparison import unlike
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import Dimm
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

EQUAL = 0.99
"""2933 and 2934 MT/s are one speed in two firmwares' words."""

REMEDY = (
    "Look at the BIOS's memory speed and power profile, and at what the processor supports with so many modules "
    "in a channel; one slow module slows all of its socket. Where the processor allows no more, all nodes show it "
    "alike."
)


def look(readings: Readings) -> Iterator[Violation]:
    """The modules against their own rating, and the slowest of them against the peers'."""
    for node, known in readings.facts.items():
        slow = [dimm for dimm in known.memory.dimms if is_slow(dimm)]
        if slow:
            one = slow[0]
            says = (
                f"{len(slow)} memory modules run at {transfers(one.configured_transfers_per_s)}, rated "
                f"{transfers(one.rated_transfers_per_s)}"
            )
            yield Violation(node=node, says=says, key=says.partition(" ")[2], remedy=REMEDY)
    yield from unlike(
        readings, "the speed of its slowest memory module", slowest, REMEDY, show=transfers, worse=is_below
    )


def is_slow(dimm: Dimm) -> bool:
    """Whether a module that is there runs below its rating."""
    rated, configured = dimm.rated_transfers_per_s, dimm.configured_transfers_per_s
    return bool(dimm.size_bytes != 0 and rated and configured and is_below(configured, rated))


def is_below(here: float, there: float) -> bool:
    """Whether one speed is another and lesser one."""
    return here < EQUAL * there


def slowest(facts: NodeFacts) -> float | None:
    """Transfers per second; None where no module tells."""
    dimms = facts.memory.dimms
    return min(
        (d.configured_transfers_per_s for d in dimms if d.size_bytes != 0 and d.configured_transfers_per_s),
        default=None,
    )


def transfers(per_s: float | None) -> str:
    """3200 MT/s."""
    return "unknown" if per_s is None else f"{per_s / 1e6:.0f} MT/s"


RULE = Rule(
    kind=FindingKind.MEMORY_SLOW, title="slow memory", look=look, knows=lambda facts: slowest(facts) is not None
)
