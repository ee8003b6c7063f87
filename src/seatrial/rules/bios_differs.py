"""bios-differs: another BIOS or BMC version than the peers'."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Bring all nodes of this make to one version, and look at the BIOS settings afterwards: a new version, or a "
    "new board, begins with its maker's defaults."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Among nodes of one make."""
    return unlike_items(readings, versions, REMEDY)


def versions(facts: NodeFacts) -> dict[str, str | None]:
    """BIOS with its date, and BMC."""
    firmware = facts.system.firmware
    date = f" of {firmware.bios_date}" if firmware.bios_version and firmware.bios_date else ""
    return {"the BIOS": f"{firmware.bios_version}{date}", "the BMC's firmware": firmware.bmc_version}


RULE = Rule(kind=FindingKind.BIOS_DIFFERS, title="BIOS differs", look=look)
