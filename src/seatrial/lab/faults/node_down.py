"""node-down: a node loses power."""

from seatrial.lab.commands import batch
from seatrial.lab.daemons import alive, start_slurmd, wait_until_settled
from seatrial.lab.faults.base import Fault, Parameters
from seatrial.lab.network import port
from seatrial.lab.plan import FABRIC, LabPlan
from seatrial.lab.processes import kill_all


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
