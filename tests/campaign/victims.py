"""What is killed: the processes of a check and of the Slurm under it, by kind."""

import enum
from pathlib import Path

from seatrial.lab.cluster.processes import program
from tests.campaign.lane import Lane


class Kind(enum.StrEnum):
    """What is killed."""

    DRIVER = "driver"
    CLOSING = "driver while it closes its run"
    TERMINATED = "driver (SIGTERM)"
    KEEPER = "keeper"
    SALLOC = "salloc"
    SRUN = "srun"
    STEPD = "slurmstepd"
    SLURMD = "slurmd"
    RANK = "rank of the probe"
    JOB_DRIVER = "driver of a detached job"
    JOB_STEPD = "slurmstepd of a detached job"
    RECOVER = "runs recover"
    COLLECT = "runs collect"


KEEPER = "seatrial-keeper"
PROGRAMS = {Kind.SALLOC: "salloc", Kind.SRUN: "srun", Kind.RANK: "seatrial-probe"}
ON_NODES = {Kind.STEPD: "slurmstepd", Kind.JOB_STEPD: "slurmstepd", Kind.SLURMD: "slurmd"}
"""Slurm's own programs, which the user's environment does not reach."""


def victims(kind: Kind, lane: Lane) -> list[int]:
    """The processes of that kind that belong to a lane."""
    if kind in ON_NODES:
        return lane.on_nodes(ON_NODES[kind])
    return [pid for pid, argv in lane.processes().items() if _fits(kind, pid, argv)]


def _fits(kind: Kind, pid: int, argv: list[str]) -> bool:
    match kind:
        case Kind.DRIVER | Kind.CLOSING | Kind.TERMINATED | Kind.JOB_DRIVER:
            return _is_driver(argv) and _in_job(pid) == (kind is Kind.JOB_DRIVER)
        case Kind.KEEPER:
            return KEEPER in argv
        case Kind.RECOVER | Kind.COLLECT:
            return kind.value.split()[1] in argv
    return program(pid) == PROGRAMS.get(kind, "")


def _is_driver(argv: list[str]) -> bool:
    return "seatrial" in argv and "check" in argv and "--detach" not in argv


def _in_job(pid: int) -> bool:
    try:
        return b"SLURM_JOB_ID=" in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
