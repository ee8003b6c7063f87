"""pcie-width: half the lanes of a node's network card do not work."""

from seatrial.lab.cluster.hardware import LINK_WIDTH, bus_links, width_files
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.sysroot import clear_facts, plant_facts
from seatrial.lab.faults.base import Fault, Parameters

PLANTED = LINK_WIDTH // 2


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Both ends of the link have trained to half of what both support."""
    plant_facts(plan, subject, width_files(PLANTED, plan.rails), bus_links(plan.rails))


def clear(plan: LabPlan, subject: str) -> None:
    """Back to all lanes."""
    clear_facts(plan, subject, [*width_files(PLANTED, plan.rails), *bus_links(plan.rails)])


FAULT = Fault(
    kind="pcie-width",
    description="The PCIe link of the node's network card has trained to 4 lanes where card and slot have 8: a card "
    "not seated well, dirt in the slot. By overlay: what is left is still far above the network's rate.",
    takes="node",
    marks="pcie",
    plant=plant,
    clear=clear,
)
