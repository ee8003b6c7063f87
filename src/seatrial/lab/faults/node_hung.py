"""node-hung: every process of a node stands still."""

import signal

from seatrial.lab.cluster.daemons import revive, wait_until_settled
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import pids_in, send, stop_all
from seatrial.lab.faults.base import Fault, Parameters


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Freeze slurmd, its step daemons and the ranks; the kernel still answers."""
    stop_all(plan.space(subject))


def clear(plan: LabPlan, subject: str) -> None:
    """Thaw them all and wait until Slurm trusts the node."""
    send(pids_in([plan.space(subject)]), signal.SIGCONT)
    revive(plan)
    wait_until_settled(plan, [subject])


FAULT = Fault(
    kind="node-hung",
    description="Every process of the node stands still (signal STOP), ranks in the middle of a round too, while the "
    "kernel still takes packets: a node that thrashes or waits for storage.",
    takes="node",
    marks="life",
    plant=plant,
    clear=clear,
)
