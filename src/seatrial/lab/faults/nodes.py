"""Faults of whole nodes and of their slurmd: killed, hung, without power."""

import signal

from seatrial.lab.cluster.daemons import alive, revive, start_slurmd, wait_until_settled
from seatrial.lab.cluster.network import port
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.processes import batch, kill_all, named, pids_in, send, stop_all
from seatrial.lab.cluster.ssh import restart_sshd
from seatrial.lab.faults.base import Fault, Parameters


def kill_slurmd(plan: LabPlan, node: str, _parameters: Parameters) -> None:
    """Kill slurmd and nothing else."""
    send(named(pids_in([plan.space(node)]), "slurmd"), signal.SIGKILL)


def restart_slurmd(plan: LabPlan, node: str) -> None:
    """Start slurmd if it is gone, and wait until Slurm trusts the node."""
    if not alive(plan, node):
        start_slurmd(plan, node)
    wait_until_settled(plan, [node])


def stop_slurmd(plan: LabPlan, node: str, _parameters: Parameters) -> None:
    """Freeze slurmd and nothing else."""
    send(named(pids_in([plan.space(node)]), "slurmd"), signal.SIGSTOP)


def continue_slurmd(plan: LabPlan, node: str) -> None:
    """Let slurmd continue and wait until Slurm trusts the node."""
    send(named(pids_in([plan.space(node)]), "slurmd"), signal.SIGCONT)
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


def freeze(plan: LabPlan, node: str, _parameters: Parameters) -> None:
    """Freeze slurmd, its step daemons and the ranks; the kernel still answers."""
    stop_all(plan.space(node))


def thaw(plan: LabPlan, node: str) -> None:
    """Let every process continue and wait until Slurm trusts the node."""
    send(pids_in([plan.space(node)]), signal.SIGCONT)
    revive(plan)
    wait_until_settled(plan, [node])


NODES = (
    Fault(
        kind="slurmd-killed",
        description="The node's slurmd is killed with signal 9, as by the out-of-memory killer; what it had started "
        "continues. Slurm regards the node as usable until SlurmdTimeout has passed.",
        takes="node",
        marks="life",
        stops_node=True,
        plant=kill_slurmd,
        clear=restart_slurmd,
    ),
    Fault(
        kind="slurmd-stopped",
        description="The node's slurmd hangs (signal STOP), as on a dead file system: it still accepts connections but "
        "never answers, so launches wait for it until a time-out.",
        takes="node",
        marks="life",
        stops_node=True,
        plant=stop_slurmd,
        clear=continue_slurmd,
    ),
    Fault(
        kind="node-down",
        description="The node loses power: its link goes down and every process on it ends without sending anything.",
        takes="node",
        marks="life",
        stops_node=True,
        plant=power_off,
        clear=power_on,
    ),
    Fault(
        kind="node-hung",
        description="Every process of the node is stopped (signal STOP), ranks in the middle of a round too, while the "
        "kernel still accepts packets: a node that swaps heavily or waits for storage.",
        takes="node",
        marks="life",
        stops_node=True,
        plant=freeze,
        clear=thaw,
    ),
)
