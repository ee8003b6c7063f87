"""firmware: a node has another BIOS than its peers."""

from seatrial.lab.cluster.hardware import DMI
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.sysroot import clear_facts, plant_facts
from seatrial.lab.faults.base import Fault, Parameters

PLANTED = {f"{DMI}/bios_version": "2.1.8\n", f"{DMI}/bios_date": "06/02/2021\n"}


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Let the node tell of an older version."""
    plant_facts(plan, subject, PLANTED)


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the version of its peers."""
    clear_facts(plan, subject, PLANTED)


FAULT = Fault(
    kind="firmware",
    description="The node's BIOS is of an older version than its peers': a board that was replaced, an update that one "
    "node slept through. By overlay.",
    takes="node",
    marks="firmware",
    plant=plant,
    clear=clear,
)
