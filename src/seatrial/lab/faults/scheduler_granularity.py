"""scheduler-granularity: a node's kernel lets processes run longer before it switches than its peers' kernels do."""

from seatrial.lab.cluster.hardware import BASE_SLICE_FILE
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.sysroot import clear_facts, plant_facts
from seatrial.lab.faults.base import Fault, Parameters

PLANTED = {BASE_SLICE_FILE: "24000000\n"}


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Let the node tell of slices of 24 ms."""
    plant_facts(plan, subject, PLANTED)


def clear(plan: LabPlan, subject: str) -> None:
    """Back to its peers' slices."""
    clear_facts(plan, subject, PLANTED)


FAULT = Fault(
    kind="scheduler-granularity",
    description="The kernel's scheduler gives slices of 24 ms where the peers' gives 2.8 ms: a tuning profile meant "
    "for another kernel. By overlay, since the nodes share one kernel.",
    takes="node",
    marks="scheduler",
    plant=plant,
    clear=clear,
)
