"""port-down: a port that is active on the peers and not here."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.no_subnet_manager import waits_for_manager
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Look at the cable and the switch's port, then at the port itself (ibstat, ibportstate, mlxlink): Polling "
    "means that nothing answers at the other end, Disabled that somebody switched it off."
)
ACTIVE = PortState.ACTIVE.value


def look(readings: Readings) -> Iterator[Violation]:
    """Port by port, by device and number."""
    return unlike_items(readings, states, REMEDY, worse=lambda here, there: here != ACTIVE and there == ACTIVE)


def states(facts: NodeFacts) -> dict[str, str | None]:
    """Port -> its state, with the physical one; None for words that we do not know and ports that await a manager."""
    found: dict[str, str | None] = {}
    for hca in facts.hcas:
        for port in hca.ports:
            state = port.state.value if isinstance(port.state, PortState) and not waits_for_manager(port) else None
            if state is not None and state != ACTIVE and port.physical_state:
                state = f"{state} ({port.physical_state})"
            found[f"port {hca.name}/{port.number}"] = state
    return found


RULE = Rule(kind=FindingKind.PORT_DOWN, title="port down", look=look)
