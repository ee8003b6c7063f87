"""mount: a node has lost a file system that its peers have mounted."""

from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.host_setup import SCRATCH, mount_scratch
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call
from seatrial.lab.faults.base import Fault, Parameters

MOUNT_AGAIN = f"mountpoint -q {SCRATCH} || {{ {mount_scratch()}; }}"


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Unmount it, whoever uses it."""
    call(inside(plan, subject, ["umount", "-l", SCRATCH]))


def clear(plan: LabPlan, subject: str) -> None:
    """Mount it again, unless it is there."""
    call(inside(plan, subject, ["sh", "-c", MOUNT_AGAIN]))


FAULT = Fault(
    kind="mount",
    description=f"The node's scratch file system, {SCRATCH}, is not mounted: a line lost from fstab, a server that did "
    "not answer when the node was started. For real: what is written there goes to what lies below.",
    takes="node",
    marks="mount",
    plant=plant,
    clear=clear,
)
