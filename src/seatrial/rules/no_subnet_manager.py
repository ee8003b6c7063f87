"""no-subnet-manager: a port whose link is up, and which nobody has made active."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hca import Port, PortFamily, PortState
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

MANAGED = (PortFamily.INFINIBAND, PortFamily.OMNI_PATH, PortFamily.TRUE_SCALE)
REMEDY = (
    "Start the subnet manager of this fabric (opensm, opafm, or the switch's own) and look at its log; where "
    "other ports of the fabric are active, find out why it does not reach this one (sminfo, saquery)."
)


def look(readings: Readings) -> Iterator[Violation]:
    """InfiniBand specification 14.2.5.6: the physical link alone leads to INIT; the manager takes it from there."""
    for node, known in readings.facts.items():
        for hca in known.hcas:
            for port in hca.ports:
                if waits_for_manager(port):
                    says = (
                        f"port {hca.name}/{port.number} has its link up and stays in state INIT: no subnet manager came"
                    )
                    yield Violation(node=node, says=says, key="waits", remedy=REMEDY)
                elif port.family in MANAGED and port.state is PortState.ACTIVE and port.subnet_manager_lid == 0:
                    says = f"port {hca.name}/{port.number} is active and knows no subnet manager (sm_lid 0)"
                    yield Violation(node=node, says=says, key="lost", remedy=REMEDY)


def waits_for_manager(port: Port) -> bool:
    """Whether the link is up and nobody has configured it."""
    return port.family in MANAGED and port.state is PortState.INIT and port.physical_state == "LinkUp"


def knows(facts: NodeFacts) -> bool:
    """Whether it has a port that a manager looks after."""
    return any(port.family in MANAGED for hca in facts.hcas for port in hca.ports)


RULE = Rule(kind=FindingKind.NO_SUBNET_MANAGER, title="no subnet manager", look=look, knows=knows)
