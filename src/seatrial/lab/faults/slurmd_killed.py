"""slurmd-killed: a node's slurmd is gone, its jobs run on."""

import signal

from seatrial.lab.cluster.daemons import alive, start_slurmd, wait_until_settled
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in, send
from seatrial.lab.faults.base import Fault, Parameters


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Kill slurmd and nothing else."""
    send(named(pids_in([plan.space(subject)]), "slurmd"), signal.SIGKILL)


def clear(plan: LabPlan, subject: str) -> None:
    """Start slurmd again and wait until Slurm trusts the node."""
    if not alive(plan, subject):
        start_slurmd(plan, subject)
    wait_until_settled(plan, [subject])


FAULT = Fault(
    kind="slurmd-killed",
    description="The node's slurmd is killed with signal 9, as by the out-of-memory killer; what it had started runs "
    "on. Slurm believes in the node until SlurmdTimeout has passed.",
    takes="node",
    marks="life",
    plant=plant,
    clear=clear,
)
