"""uplink-rate: a leaf's trunk to the spine runs slower than designed."""

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Fault, Parameters, faulty_rate
from seatrial.lab.faults.links import set_uplink_rate


def plant(plan: LabPlan, subject: str, parameters: Parameters) -> None:
    """Slow both directions of the trunk."""
    set_uplink_rate(plan, subject, faulty_rate(plan.uplink_rate_bit_per_s, parameters))


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the design rate."""
    set_uplink_rate(plan, subject, plan.uplink_rate_bit_per_s)


FAULT = Fault(
    kind="uplink-rate",
    description="The trunk between a leaf switch and the spine carries less than its design rate, both ways: a trunk "
    "that lost a cable. Only traffic between leaves suffers.",
    takes="leaf",
    marks="link",
    needs=(("percent", "rate"),),
    plant=plant,
    clear=clear,
)
