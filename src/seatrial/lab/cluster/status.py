"""What stands: each lab with its nodes, rates and planted faults."""

import msgspec

from seatrial.lab.cluster import state
from seatrial.lab.cluster.daemons import node_states
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Planted


class LabStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One lab as it is now. `node_states` are Slurm's words, empty where slurmctld does not answer."""

    name: str
    standing: bool
    plan: LabPlan | None = None
    node_states: dict[str, str] = {}
    planted: tuple[Planted, ...] = ()


def status_of(name: str) -> LabStatus:
    """One lab; one without readable state, or still being raised, is not standing."""
    found = state.read(name)
    if found is None or found.raiser is not None:
        return LabStatus(name=name, standing=False, plan=found.plan if found else None)
    return LabStatus(
        name=name, standing=True, plan=found.plan, node_states=node_states(found.plan), planted=found.planted
    )


def all_labs() -> list[LabStatus]:
    """Every lab on this machine, by name."""
    return [status_of(name) for name in state.lab_names()]
