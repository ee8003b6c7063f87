"""mpi-transport: a node's own file of Open MPI's settings makes its TCP slow."""

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.plan import PARAMETERS_FILE, LabPlan, parameters
from seatrial.lab.cluster.processes import call
from seatrial.lab.faults.base import Fault, Parameters

SLOW = ("btl_tcp_sndbuf = 4096", "btl_tcp_rcvbuf = 4096")
"""A window of 4 KiB: the sender waits for the receiver after every three packets."""


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Lay a file with buffers of 4 KiB over the one that all nodes have."""
    lay_private(plan, subject, SLOW)


def lay_private(plan: LabPlan, node: str, lines: tuple[str, ...]) -> None:
    """The lab's settings and those lines, seen on this node alone."""
    private = state.folder(plan.name) / "overlay" / f"openmpi-{node}"
    private.write_text(parameters(plan.mpi_settings) + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    call(inside(plan, node, ["mount", "--bind", str(private), PARAMETERS_FILE]))


def clear(plan: LabPlan, subject: str) -> None:
    """Take the node's own file away; once cleared there is nothing to take."""
    private = state.folder(plan.name) / "overlay" / f"openmpi-{subject}"
    if private.exists():
        call(inside(plan, subject, ["umount", PARAMETERS_FILE]))
        private.unlink()


FAULT = Fault(
    kind="mpi-transport",
    description="The node has an openmpi-mca-params.conf of its own, in which somebody made the buffers of Open MPI's "
    "TCP 4 KiB (btl_tcp_sndbuf, btl_tcp_rcvbuf). For real: what goes to it is slow.",
    takes="node",
    marks="mpi",
    plant=plant,
    clear=clear,
)
