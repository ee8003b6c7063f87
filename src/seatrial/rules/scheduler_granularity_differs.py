"""scheduler-granularity-differs: processes run longer, or shorter, before the kernel switches."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Set it as on the other nodes (/sys/kernel/debug/sched, or kernel.sched_* on kernels up to 5.12) and look for "
    "what sets it: a tuned profile, sap or database tuning, sysctl.d. Daemons then take a core from a rank for "
    "longer."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Name by name, since kernels of three generations keep them under three sets of names."""
    return unlike_items(readings, settings, REMEDY)


def settings(facts: NodeFacts) -> dict[str, str | None]:
    """The scheduler's settings, named."""
    return {f"the scheduler's {name}": value for name, value in facts.settings.scheduler.items()}


RULE = Rule(kind=FindingKind.SCHEDULER_GRANULARITY_DIFFERS, title="scheduler granularity differs", look=look)
