"""Sets the rate of a link, one end or both; shared by the faults that slow links down."""

from seatrial.lab.commands import batch
from seatrial.lab.plan import FABRIC, LabPlan
from seatrial.lab.shaping import shape_line
from seatrial.model.subject import Direction


def set_node_rate(plan: LabPlan, node: str, rate_bit_per_s: float, direction: Direction = Direction.BOTH) -> None:
    """Hold a node's link to a rate: what it sends (out), what it is sent (in), or both."""
    if direction is not Direction.IN:
        batch("tc", plan.space(node), [shape_line("eth0", rate_bit_per_s, plan.mtu)])
    if direction is not Direction.OUT:
        batch("tc", plan.space(FABRIC), [shape_line(f"p-{node}", rate_bit_per_s, plan.mtu)])


def set_uplink_rate(plan: LabPlan, leaf: str, rate_bit_per_s: float) -> None:
    """Hold the trunk between a leaf and the spine to a rate, both ways."""
    lines = [shape_line(f"{end}-{leaf}", rate_bit_per_s, plan.mtu) for end in ("up", "dn")]
    batch("tc", plan.space(FABRIC), lines)
