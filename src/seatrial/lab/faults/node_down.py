"""node-down: a node loses power."""

from seatrial.lab.cluster.daemons import alive, start_slurmd, wait_until_settled
from seatrial.lab.cluster.network import port
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.processes import batch, kill_all
from seatrial.lab.faults.base import Fault, Parameters


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """First the links go, so that no process can say goodbye, then every process."""
    batch("ip", plan.space(FABRIC), [f"link set {port(subject, rail)} down" for rail in range(plan.rails)])
    kill_all([plan.space(subject)])


def clear(plan: LabPlan, subject: str) -> None:
    """Power on: link, slurmd, and wait until Slurm trusts the node."""
    batch("ip", plan.space(FABRIC), [f"link set {port(subject, rail)} up" for rail in range(plan.rails)])
    if not alive(plan, subject):
        start_slurmd(plan, subject)
    wait_until_settled(plan, [subject])


FAULT = Fault(
    kind="node-down",
    description="The node loses power: its link goes down and every process on it is gone, without a word to anybody.",
    takes="node",
    marks="life",
    plant=plant,
    clear=clear,
)
