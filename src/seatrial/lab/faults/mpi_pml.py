"""mpi-pml: a node's own file of Open MPI's settings chooses another transport than its peers'."""

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Fault, Parameters
from seatrial.lab.faults.mpi_transport import clear, lay_private

OTHER = ("pml = cm",)


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """The node alone chooses the pml cm, over OFI; its peers have ob1 over TCP."""
    lay_private(plan, subject, OTHER)


FAULT = Fault(
    kind="mpi-pml",
    description="The node has an openmpi-mca-params.conf of its own that chooses pml cm (OFI), where that of its peers "
    "chooses ob1 (TCP). For real: Open MPI does not start on it and a peer together.",
    takes="node",
    marks="mpi",
    plant=plant,
    clear=clear,
)
