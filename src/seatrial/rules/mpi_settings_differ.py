"""mpi-settings-differ: files or variables on one node tell an MPI something else than the peers' do."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.node.mpi import NOTHING_SET
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_tables

FACT = "software.mpi_settings"
NOT_SET = "none"
REMEDY = (
    "Give this node the same settings as the others have: openmpi-mca-params.conf and openmpi-mca-params-override.conf "
    "in /etc/openmpi or in the etc folder of the MPI, ucx.conf, for one user ~/.openmpi/mca-params.conf; and what sets "
    "variables of jobs there, such as Slurm's TaskProlog."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Parameter by parameter; one that nothing on a node sets is a difference, too."""
    for group in readings.peers:
        known = {name: readings.facts[name].software.mpi_settings for name in group if knows(readings.facts[name])}
        names = sorted({parameter for table in known.values() for parameter in table})
        tables = {
            name: {f"its MPI setting {parameter}": table.get(parameter, NOT_SET) for parameter in names}
            for name, table in known.items()
        }
        yield from unlike_tables(tables, REMEDY)


def knows(facts: NodeFacts) -> bool:
    """Whether the node's files were looked for."""
    return bool(facts.software.mpi_settings) or facts.absent.get(FACT) == NOTHING_SET


RULE = Rule(kind=FindingKind.MPI_SETTINGS_DIFFER, title="MPI settings differ", look=look, knows=knows)
