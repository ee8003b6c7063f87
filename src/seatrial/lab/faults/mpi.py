"""Faults of MPI: a node with a settings file of its own."""

from collections.abc import Callable

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.plan import PARAMETERS_FILE, LabPlan, parameters
from seatrial.lab.cluster.processes import call
from seatrial.lab.faults.base import Fault, Parameters

SMALL_BUFFERS = ("btl_tcp_sndbuf = 4096", "btl_tcp_rcvbuf = 4096")
"""A window of 4 KiB: the sender waits for the receiver after every three packets."""
OTHER_PML = ("pml = cm",)
"""Over OFI; the peers have ob1 over TCP."""


def mount_settings(lines: tuple[str, ...]) -> Callable[[LabPlan, str, Parameters], None]:
    """Mount a file with the lab's settings and those lines over the one that all nodes have."""

    def plant(plan: LabPlan, node: str, _parameters: Parameters) -> None:
        private = state.folder(plan.name) / "overlay" / f"openmpi-{node}"
        private.write_text(parameters(plan.mpi_settings) + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        call(inside(plan, node, ["mount", "--bind", str(private), PARAMETERS_FILE]))

    return plant


def unmount_settings(plan: LabPlan, node: str) -> None:
    """Remove the node's own file, if it has one."""
    private = state.folder(plan.name) / "overlay" / f"openmpi-{node}"
    if private.exists():
        call(inside(plan, node, ["umount", PARAMETERS_FILE]))
        private.unlink()


MPI = (
    Fault(
        kind="mpi-transport",
        description="The node has an openmpi-mca-params.conf of its own that limits the buffers of Open MPI's TCP to "
        "4 KiB (btl_tcp_sndbuf, btl_tcp_rcvbuf). For real: messages to it are slow.",
        takes="node",
        marks="mpi",
        plant=mount_settings(SMALL_BUFFERS),
        clear=unmount_settings,
    ),
    Fault(
        kind="mpi-pml",
        description="The node has an openmpi-mca-params.conf of its own that chooses pml cm (OFI), where that of its "
        "peers chooses ob1 (TCP). For real: Open MPI does not start on it and a peer together.",
        takes="node",
        marks="mpi",
        plant=mount_settings(OTHER_PML),
        clear=unmount_settings,
    ),
)
