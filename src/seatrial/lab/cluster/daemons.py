"""Slurm's daemons in the lab: start them, query them, wait for them, and report the state of each lab."""

import time
from collections.abc import Callable, Sequence

import msgspec

from seatrial.files.inputs import read_end
from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import configured
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import attempt, call, named, pids_in
from seatrial.lab.faults.base import FaultKind, Planted
from seatrial.model.errors import SeatrialError

PATIENCE_S = 60.0
SETTLED = ("idle", "mixed", "allocated")


def start_controller(plan: LabPlan) -> None:
    """Start slurmctld on the login node; it puts itself into the background."""
    slurm(plan, ["slurmctld", "-c"])


def start_slurmd(plan: LabPlan, node: str) -> None:
    """Start slurmd on a node; it puts itself into the background once it has read its configuration."""
    call(configured(plan, node, ["slurmd", "-N", node]))


def slurm(plan: LabPlan, argv: Sequence[str]) -> str:
    """Run a program that must succeed on the login node, and return what it printed."""
    return call(configured(plan, LOGIN, argv))


def revive(plan: LabPlan) -> None:
    """Make slurmctld ask every node for its state now, since it rarely does so by itself."""
    attempt(configured(plan, LOGIN, ["scontrol", "reconfigure"]))


def wait_for_controller(plan: LabPlan) -> None:
    """Until slurmctld answers."""
    ping = configured(plan, LOGIN, ["scontrol", "ping"])
    wait(plan, lambda: "UP" in attempt(ping).stdout, "slurmctld does not answer", hosts=(LOGIN,))


def node_states(plan: LabPlan) -> dict[str, str]:
    """Slurm's word for each node, in small letters: idle, mixed, down*, ... Empty while slurmctld does not answer."""
    argv = configured(plan, LOGIN, ["sinfo", "-h", "-N", "-p", "main", "-o", "%N %T"])
    lines = [line.split() for line in attempt(argv).stdout.splitlines()]
    return {words[0]: words[1] for words in lines if len(words) == 2}


def wait_until_settled(plan: LabPlan, nodes: Sequence[str]) -> None:
    """Until Slurm can start jobs on every one of `nodes`. Raises SeatrialError with the nodes that are not ready."""

    def settled() -> bool:
        states = node_states(plan)
        return all(states.get(node) in SETTLED for node in nodes)

    wait(plan, settled, f"{', '.join(nodes)} did not become idle", hosts=(LOGIN, *nodes))


def wait(
    plan: LabPlan, done: Callable[[], bool], complaint: str, *, hosts: Sequence[str] = (), log: str = "slurmctld.log"
) -> None:
    """Until `done`. Raises SeatrialError where a daemon of `hosts` ends or time is up; `log`: the login node's."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        dead = [host for host in hosts if not alive(plan, host)]
        if dead or time.monotonic() > deadline:
            what = f"the Slurm daemon of {', '.join(dead)} ended" if dead else complaint
            raise SeatrialError(f"In the lab {plan.name!r} {what}.{last_words(plan, dead or hosts or (LOGIN,), log)}")
        time.sleep(0.1)


def alive(plan: LabPlan, host: str) -> bool:
    """Whether the host's Slurm daemon is there."""
    daemon = "slurmctld" if host == LOGIN else "slurmd"
    return bool(named(pids_in([plan.space(host)]), daemon))


def last_words(plan: LabPlan, hosts: Sequence[str], log: str) -> str:
    """The end of each host's log, `log` on the login node; the files are removed with a lab that failed to start."""
    words = []
    for host in hosts:
        path = state.folder(plan.name) / "log" / (log if host == LOGIN else f"{host}.log")
        if path.is_file():
            tail = read_end(path, folder=path.parent).splitlines()[-3:]
            words.append(f"\n{path} ends with:\n  " + "\n  ".join(tail))
    return "".join(words)


class LabStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One lab as it is now. `node_states` are Slurm's words, empty where slurmctld does not answer."""

    name: str
    standing: bool
    plan: LabPlan | None = None
    node_states: dict[str, str] = {}
    planted: tuple[Planted, ...] = ()


class LabStatusFields(msgspec.Struct, frozen=True, kw_only=True):
    """All labs of this machine; docs/lab.md describes each field."""

    labs: tuple[LabStatus, ...]


class FaultListFields(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds of faults, and those planted in each lab; docs/lab.md describes each field."""

    kinds: tuple[FaultKind, ...]
    planted: dict[str, tuple[Planted, ...]]


def status_of(name: str) -> LabStatus:
    """One lab; one without readable state, or still being started, is not running."""
    lab = state.read(name)
    if lab is None or lab.raiser is not None:
        return LabStatus(name=name, standing=False, plan=lab.plan if lab else None)
    return LabStatus(name=name, standing=True, plan=lab.plan, node_states=node_states(lab.plan), planted=lab.planted)


def all_labs() -> list[LabStatus]:
    """Every lab on this machine, by name."""
    return [status_of(name) for name in state.lab_names()]
