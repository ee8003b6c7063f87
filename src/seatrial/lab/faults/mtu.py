"""mtu: a node's interface has another MTU than its peers."""

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import batch
from seatrial.lab.faults.base import Fault, Parameters


def plant(plan: LabPlan, subject: str, parameters: Parameters) -> None:
    """Set the MTU of the node's interface; the switch's port keeps the design's."""
    batch("ip", plan.space(subject), [f"link set {parameters.rail or plan.rail_names[0]} mtu {parameters.mtu}"])


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the design's MTU."""
    batch("ip", plan.space(subject), [f"link set {rail} mtu {plan.mtu}" for rail in plan.rail_names])


FAULT = Fault(
    kind="mtu",
    description="The node's interface has another MTU than the rest of the fabric: a setting lost at a reinstallation. "
    "TCP agrees on the smaller one, so little speed is lost and nobody notices.",
    takes="node",
    marks="mtu",
    needs=(("mtu",),),
    may=("rail",),
    plant=plant,
    clear=clear,
)
