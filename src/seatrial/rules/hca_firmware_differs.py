"""hca-firmware-differs: adapters of one board with another firmware than the peers'."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = "Bring all adapters of this board to one firmware (mlxfwmanager, mstflint, or the maker's own), then restart."


def look(readings: Readings) -> Iterator[Violation]:
    """Only adapters of the same board identity are compared: another board has another firmware."""
    return unlike_items(readings, firmwares, REMEDY)


def firmwares(facts: NodeFacts) -> dict[str, str | None]:
    """Adapter and board -> firmware."""
    return {
        f"the firmware of {hca.name}{f' ({hca.board_id})' if hca.board_id else ''}": hca.firmware for hca in facts.hcas
    }


RULE = Rule(kind=FindingKind.HCA_FIRMWARE_DIFFERS, title="adapter firmware differs", look=look)
