"""port-rate-differs: an active port slower than the same port of the peers."""

from collections.abc import Iterator
from operator import lt

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.units import link_rate
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

REMEDY = (
    "Replace the cable first, then look at the switch's port and at what both ends allow (iblinkinfo, mlxlink, "
    "ethtool): a lane that failed halves the width, a bad or too long cable lowers the speed."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Port by port, by device and number."""
    return unlike_items(readings, rates, REMEDY, show=link_rate, worse=lt)


def rates(facts: NodeFacts) -> dict[str, float | None]:
    """The rate of a port -> bit/s after encoding, of active ports only."""
    return {
        f"the data rate of port {hca.name}/{port.number}": port.data_bits_per_s
        for hca in facts.hcas
        for port in hca.ports
        if port.state is PortState.ACTIVE
    }


RULE = Rule(kind=FindingKind.PORT_RATE_DIFFERS, title="port slower than its peers'", look=look)
