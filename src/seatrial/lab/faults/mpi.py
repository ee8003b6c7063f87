"""Faults of MPI: a node with a settings file of its own."""

from collections.abc import Callable

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.plan import PARAMETERS_FILE, LabPlan, MpiSettings, parameters
from seatrial.lab.cluster.processes import call
from seatrial.lab.faults.base import Fault, Parameters
from seatrial.model.errors import UsageError

SMALL_BUFFERS = ("btl_tcp_sndbuf = 4096", "btl_tcp_rcvbuf = 4096")
"""A window of 4 KiB: the sender waits for the receiver after every three packets."""
OTHER_PML = ("pml = cm",)
"""Over OFI; the peers have ob1 over TCP."""


def mount_settings(lines: tuple[str, ...]) -> Callable[[LabPlan, str, Parameters], None]:
    """Mount a file with the lab's settings and those lines over the one that all nodes have."""

    def plant(plan: LabPlan, node: str, _parameters: Parameters) -> None:
        mount(plan, node, parameters(plan.mpi_settings, plan.rail_names) + "".join(f"{line}\n" for line in lines))

    return plant


def use_one_rail(plan: LabPlan, node: str, given: Parameters) -> None:
    """Open MPI of the node uses the given rail alone. Raises UsageError where the nodes have no other."""
    if plan.rails == 1 or given.rail is None or plan.mpi_settings is not MpiSettings.TCP:
        raise UsageError(
            "The fault mpi-rail needs nodes with two rails and MPI over TCP.", "Start the lab with --rails 2."
        )
    mount(plan, node, parameters(plan.mpi_settings, (given.rail,)))


def mount(plan: LabPlan, node: str, content: str) -> None:
    """Mount a file with that content over the settings that all nodes have."""
    private = state.folder(plan.name) / "overlay" / f"openmpi-{node}"
    private.write_text(content, encoding="utf-8")
    call(inside(plan, node, ["mount", "--bind", str(private), PARAMETERS_FILE]))


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
        kind="mpi-rail",
        description="The node has an openmpi-mca-params.conf of its own that names one rail where that of its peers "
        "names both (btl_tcp_if_include). For real: messages to and from it use this rail alone.",
        takes="node",
        marks="mpi",
        plant=use_one_rail,
        clear=unmount_settings,
        needs=(("rail",),),
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
