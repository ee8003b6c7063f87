"""link-rate: a node's link runs slower than designed."""

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Fault, Parameters, faulty_rate
from seatrial.lab.faults.links import design_node_rates, set_node_rate


def plant(plan: LabPlan, subject: str, parameters: Parameters) -> None:
    """Slow both directions."""
    set_node_rate(plan, subject, faulty_rate(plan.rate_bit_per_s, parameters), rail=parameters.rail)


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the design rate."""
    design_node_rates(plan, subject)


FAULT = Fault(
    kind="link-rate",
    description="The node's link carries less than its design rate, both ways: a bad cable, a port that trained down. "
    "The rate that the node reports stays the design's.",
    takes="node",
    marks="link",
    needs=(("percent", "rate"),),
    may=("rail",),
    plant=plant,
    clear=clear,
)
