"""Sets the rate of a link, one end or both; shared by the faults that slow links down."""

from seatrial.lab.cluster.network import port, shape_line, trunk
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.processes import batch
from seatrial.model.subject import Direction


def set_node_rate(
    plan: LabPlan, node: str, rate_bit_per_s: float, direction: Direction = Direction.BOTH, rail: str | None = None
) -> None:
    """Hold a node's link on one rail (the first) to a rate: what it sends (out), what it is sent (in), or both."""
    interface = rail or plan.rail_names[0]
    design = plan.rate_bit_per_s
    if direction is not Direction.IN:
        batch("tc", plan.space(node), [shape_line(interface, rate_bit_per_s, plan.mtu, design)])
    if direction is not Direction.OUT:
        end = port(node, plan.rail_names.index(interface))
        batch("tc", plan.space(FABRIC), [shape_line(end, rate_bit_per_s, plan.mtu, design)])


def design_node_rates(plan: LabPlan, node: str) -> None:
    """Every link of a node back to the design rate."""
    for rail in plan.rail_names:
        set_node_rate(plan, node, plan.rate_bit_per_s, rail=rail)


def set_uplink_rate(plan: LabPlan, leaf: str, rate_bit_per_s: float) -> None:
    """Hold the trunk between a leaf and the spine to a rate, both ways."""
    ends = (trunk(end, leaf) for end in ("up", "dn"))
    lines = [shape_line(end, rate_bit_per_s, plan.mtu, plan.rate_bit_per_s) for end in ends]
    batch("tc", plan.space(FABRIC), lines)
