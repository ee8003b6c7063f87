"""sysctl-differs: a setting of the kernel unlike the peers'."""

from collections.abc import Iterator

from seatrial.drift.expected_differences import excused_between_nodes, tolerated_share
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.huge_pages_differ import HUGE_PAGES
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Set it as on the other nodes (sysctl -w NAME=VALUE, and a file in /etc/sysctl.d), and look why this node has "
    "missed it: sysctl --system shows which file sets what."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Name by name."""
    return unlike_items(readings, settings, REMEDY)


def settings(facts: NodeFacts) -> dict[str, str | None]:
    """Name -> content with single blanks, without those that must differ and those that other rules look at."""
    return {
        name: " ".join(content.split())
        for name, content in facts.settings.sysctls.items()
        if name not in HUGE_PAGES
        and name.removeprefix("kernel.sched_") not in facts.settings.scheduler
        and _telling(name)
    }


def _telling(name: str) -> bool:
    """Not what must differ between nodes, nor what the kernel works out from its memory at boot."""
    fact = f"settings.sysctls.{name}"
    return not excused_between_nodes(fact) and tolerated_share(fact) == 0


RULE = Rule(kind=FindingKind.SYSCTL_DIFFERS, title="sysctl differs", look=look)
