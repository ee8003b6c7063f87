"""power-limit-differs: processors that may draw another power than the peers'."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Set it as on the other nodes: power profile and cTDP in the BIOS, power capping of the BMC, intel-rapl in "
    "/sys/class/powercap. A lower limit lowers the frequency under load and nothing else shows it."
)


def look(readings: Readings) -> Iterator[Violation]:
    """RAPL domain by domain, to the watt."""
    return unlike_items(readings, limits, REMEDY, show=lambda watts: f"{watts} W")


def limits(facts: NodeFacts) -> dict[str, int | None]:
    """Whole watts: the hardware counts in eighths, and what was set comes back rounded."""
    return {
        f"the power limit {name}": round(watts)
        for name, watts in facts.system.power_limits_w.items()
        if 0 < watts < 1e6
    }


RULE = Rule(kind=FindingKind.POWER_LIMIT_DIFFERS, title="power limit differs", look=look)
