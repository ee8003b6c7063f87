"""slurmd-stopped: a node's slurmd hangs."""

import signal

from seatrial.lab.cluster.daemons import revive, wait_until_settled
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in, send
from seatrial.lab.faults.base import Fault, Parameters


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """Freeze slurmd and nothing else."""
    send(named(pids_in([plan.space(subject)]), "slurmd"), signal.SIGSTOP)


def clear(plan: LabPlan, subject: str) -> None:
    """Thaw it and wait until Slurm trusts the node."""
    send(named(pids_in([plan.space(subject)]), "slurmd"), signal.SIGCONT)
    revive(plan)
    wait_until_settled(plan, [subject])


FAULT = Fault(
    kind="slurmd-stopped",
    description="The node's slurmd hangs (signal STOP), as on a dead file system: it still accepts connections but "
    "never answers, so launches wait for it until a time-out.",
    takes="node",
    marks="life",
    plant=plant,
    clear=clear,
)
