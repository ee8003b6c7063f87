"""one-way-rate: a node's link is slow in one direction only."""

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Fault, Parameters, faulty_rate
from seatrial.lab.faults.links import design_node_rates, set_node_rate


def plant(plan: LabPlan, subject: str, parameters: Parameters) -> None:
    """Slow one direction; without one, `check_parameters` has refused already."""
    if parameters.direction is not None:
        rate = faulty_rate(plan.rate_bit_per_s, parameters)
        set_node_rate(plan, subject, rate, parameters.direction, parameters.rail)


def clear(plan: LabPlan, subject: str) -> None:
    """Back to the design rate."""
    design_node_rates(plan, subject)


FAULT = Fault(
    kind="one-way-rate",
    description="The node's link carries less than its design rate in one direction: out is what the node sends, in "
    "what it is sent. Tests that add both directions up miss it easily.",
    takes="node",
    marks="link",
    needs=(("percent", "rate"), ("direction",)),
    may=("rail",),
    plant=plant,
    clear=clear,
)
