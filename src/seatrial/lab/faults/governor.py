"""governor: a node's processors run at their lowest frequency."""

from seatrial.lab.cluster.hardware import governor_files
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.sysroot import clear_facts, plant_facts, processors
from seatrial.lab.faults.base import Fault, Parameters

PLANTED = "powersave"


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Let every processor of the node tell of another governor."""
    plant_facts(plan, subject, governor_files(processors(), PLANTED))


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the governor of its peers."""
    clear_facts(plan, subject, governor_files(processors(), PLANTED))


FAULT = Fault(
    kind="governor",
    description="The frequency governor of every processor of the node is powersave instead of performance, as after "
    "an update of the operating system. By overlay: nothing becomes slower.",
    takes="node",
    marks="governor",
    plant=plant,
    clear=clear,
)
