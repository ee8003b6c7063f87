"""Faults of storage: a node that reaches the lab's shared file system slowly."""

from seatrial.lab.cluster.node_groups import dissolve, form
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.shared_storage import device_of
from seatrial.lab.faults.base import Fault, Parameters
from seatrial.model.errors import SeatrialError

SLOW_BIT_PER_S = 160_000_000
"""20 MB/s: the usual rate of a client that fell back to one connection with small requests."""


def slow_down(plan: LabPlan, node: str, parameters: Parameters) -> None:
    """Let all processes of the node together read and write the shared file system no faster.

    Raises SeatrialError where this lab or this machine lacks what that takes.
    """
    device = device_of(plan.name)
    if device is None:
        raise SeatrialError(
            f"The lab {plan.name!r} has no shared file system of its own: this machine has no loop device.",
            "Plant another fault.",
        )
    group = form(plan, node)
    try:
        group.limit_device(device, (parameters.rate_bit_per_s or SLOW_BIT_PER_S) // 8)
    except (OSError, SeatrialError):
        dissolve(plan, node)
        raise


def release(plan: LabPlan, node: str) -> None:
    """Return the node's processes to the group that they were in."""
    dissolve(plan, node)


STORAGE = (
    Fault(
        kind="slow-mount",
        description="All processes of the node together read and write the lab's shared file system, the folder work "
        "of the lab, at 20 MB/s: a mount with wrong options, or a client that lost its fast path. --rate changes it.",
        takes="node",
        marks="load",
        plant=slow_down,
        clear=release,
        may=("rate",),
    ),
)
"""With the marks of the faults of load, since a node has one control group."""
