"""Faults of whole nodes: slurmd killed or hung, no power, MPI settings of their own, slow shared storage."""

import signal
from collections.abc import Callable

from seatrial.lab.cluster import state
from seatrial.lab.cluster.daemons import alive, revive, start_slurmd, wait_until_settled
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.network import port
from seatrial.lab.cluster.node_groups import dissolve, form
from seatrial.lab.cluster.plan import FABRIC, PARAMETERS_FILE, LabPlan, MpiSettings, parameters
from seatrial.lab.cluster.processes import batch, call, kill_all, named, pids_in, send, stop_all
from seatrial.lab.cluster.shared_storage import device_of
from seatrial.lab.cluster.ssh import restart_sshd
from seatrial.lab.faults.base import LOAD, LabFault, Parameters
from seatrial.model.errors import SeatrialError, UsageError

SMALL_BUFFERS = ("btl_tcp_sndbuf = 4096", "btl_tcp_rcvbuf = 4096")
"""A window of 4 KiB: the sender waits for the receiver after every three packets."""
OTHER_PML = ("pml = cm",)
"""The setting for OFI; the peers have ob1 over TCP."""
SLOW_BIT_PER_S = 160_000_000
"""20 MB/s: the usual rate of a client that fell back to one connection with small requests."""


def signal_slurmd(plan: LabPlan, node: str, number: signal.Signals) -> None:
    """Signal slurmd and nothing else."""
    send(named(pids_in([plan.space(node)]), "slurmd"), number)


def restart_slurmd(plan: LabPlan, node: str) -> None:
    """Start slurmd if it is gone, and wait until Slurm trusts the node."""
    if not alive(plan, node):
        start_slurmd(plan, node)
    wait_until_settled(plan, [node])


def thaw(plan: LabPlan, node: str, daemon: str = "") -> None:
    """Let every process continue, or one daemon alone, and wait until Slurm trusts the node."""
    pids = pids_in([plan.space(node)])
    send(named(pids, daemon) if daemon else pids, signal.SIGCONT)
    revive(plan)
    wait_until_settled(plan, [node])


def power_off(plan: LabPlan, node: str, _parameters: Parameters) -> None:
    """Take the links down first, so that no process can close its connections, then kill every process."""
    batch("ip", plan.space(FABRIC), [f"link set {port(node, rail)} down" for rail in range(plan.rails)])
    kill_all([plan.space(node)])


def power_on(plan: LabPlan, node: str) -> None:
    """Bring the links up, start the daemons, and wait until Slurm trusts the node."""
    batch("ip", plan.space(FABRIC), [f"link set {port(node, rail)} up" for rail in range(plan.rails)])
    restart_sshd(plan, node)
    restart_slurmd(plan, node)


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


NODES = (
    LabFault(
        kind="slurmd-killed",
        description="The node's slurmd is killed with signal 9, as by the out-of-memory killer; what it had started "
        "continues. Slurm regards the node as usable until SlurmdTimeout has passed.",
        marks="life",
        stops_node=True,
        plant=lambda plan, node, _: signal_slurmd(plan, node, signal.SIGKILL),
        clear=restart_slurmd,
    ),
    LabFault(
        kind="slurmd-stopped",
        description="The node's slurmd hangs (signal STOP), as on a dead file system: it still accepts connections but "
        "never answers, so launches wait for it until a time-out.",
        marks="life",
        stops_node=True,
        plant=lambda plan, node, _: signal_slurmd(plan, node, signal.SIGSTOP),
        clear=lambda plan, node: thaw(plan, node, "slurmd"),
    ),
    LabFault(
        kind="node-down",
        description="The node loses power: its link goes down and every process on it ends without sending anything.",
        marks="life",
        stops_node=True,
        plant=power_off,
        clear=power_on,
    ),
    LabFault(
        kind="node-hung",
        description="Every process of the node is stopped (signal STOP), ranks in the middle of a round too, while the "
        "kernel still accepts packets: a node that swaps heavily or waits for storage.",
        marks="life",
        stops_node=True,
        plant=lambda plan, node, _: stop_all(plan.space(node)),
        clear=thaw,
    ),
    LabFault(
        kind="mpi-transport",
        description="The node has an openmpi-mca-params.conf of its own that limits the buffers of Open MPI's TCP to "
        "4 KiB (btl_tcp_sndbuf, btl_tcp_rcvbuf). For real: messages to it are slow.",
        marks="mpi",
        plant=mount_settings(SMALL_BUFFERS),
        clear=unmount_settings,
    ),
    LabFault(
        kind="mpi-rail",
        description="The node has an openmpi-mca-params.conf of its own that names one rail where that of its peers "
        "names both (btl_tcp_if_include). For real: messages to and from it use this rail alone.",
        marks="mpi",
        plant=use_one_rail,
        clear=unmount_settings,
        needs=(("rail",),),
    ),
    LabFault(
        kind="mpi-pml",
        description="The node has an openmpi-mca-params.conf of its own that chooses pml cm (OFI), where that of its "
        "peers chooses ob1 (TCP). For real: Open MPI does not start on it and a peer together.",
        marks="mpi",
        plant=mount_settings(OTHER_PML),
        clear=unmount_settings,
    ),
    LabFault(
        kind="slow-mount",
        description="All processes of the node together read and write the lab's shared file system, the folder work "
        "of the lab, at 20 MB/s: a mount with wrong options, or a client that lost its fast path. --rate changes it.",
        marks=LOAD,
        plant=slow_down,
        clear=dissolve,
        may=("rate",),
    ),
)
