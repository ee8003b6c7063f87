"""Obstacles to a launch: remarks of the doctor, each of a known kind, with its remedy."""

import enum

import msgspec

from seatrial.model.errors import ExitCode

MOST_LINES = 60
"""Of what programs printed, in a remark."""


class Obstacle(enum.StrEnum):
    """Obstacles to a launch. The words are stable; see docs/doctor.md."""

    NO_SLURM = "no-slurm"
    CONTROLLER_SILENT = "controller-silent"
    SLURM_VERSIONS = "slurm-versions"
    JOB_VARIABLES = "job-variables"
    SRUN_VARIABLES = "srun-variables"
    NODE_DOWN = "node-down"
    NODE_DRAINED = "node-drained"
    NODE_SUSPENDED = "node-suspended"
    NODE_RESERVED = "node-reserved"
    NODE_OTHERWISE = "node-otherwise"
    NO_ROOM = "no-room"
    PARTITION_REFUSES = "partition-refuses"
    NO_ALLOCATION = "no-allocation"
    NO_MPI = "no-mpi"
    NODE_SILENT = "node-silent"
    HOSTNAME_DIFFERS = "hostname-differs"
    CLOCK_DIFFERS = "clock-differs"
    PROGRAM_MISSING = "program-missing"
    LIBRARY_MISSING = "library-missing"
    MPI_DIFFERS = "mpi-differs"
    ENVIRONMENT = "environment"
    MPI_TYPE = "mpi-type"
    MPIRUN = "mpirun"
    NO_START = "no-start"
    NO_TRAFFIC = "no-traffic"


class Weight(enum.StrEnum):
    """The severity of a remark."""

    OK = "ok"
    NOTE = "note"
    """Launches work nevertheless, or the node is not one of those wanted."""
    BLOCKED = "blocked"
    NOT_TRIED = "not tried"


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried, and what came of it, in a sentence."""

    step: str
    weight: Weight
    says: str
    obstacle: Obstacle | None = None
    """None where there is no obstacle."""
    remedy: str = ""
    said: str = ""
    """What the programs themselves printed, its last lines; empty where nothing was kept."""


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """All remarks in the order in which things were tried, cheapest first."""

    remarks: tuple[Remark, ...]

    @property
    def blocked(self) -> tuple[Remark, ...]:
        """The obstacle."""
        return tuple(one for one in self.remarks if one.weight is Weight.BLOCKED)

    @property
    def untried(self) -> tuple[Remark, ...]:
        """What could not be tried."""
        return tuple(one for one in self.remarks if one.weight is Weight.NOT_TRIED)

    @property
    def exit_code(self) -> ExitCode:
        """FINDINGS where there is an obstacle, INCOMPLETE where not everything could be tried."""
        if self.blocked:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.untried else ExitCode.PASS


def last_lines(text: str) -> str:
    """The end of what a program printed, to be quoted: at most `MOST_LINES` lines."""
    return "\n".join(text.strip("\n").splitlines()[-MOST_LINES:])


def fine(step: str, says: str) -> Remark:
    """All is well."""
    return Remark(step=step, weight=Weight.OK, says=says)


def noted(step: str, obstacle: Obstacle, says: str, remedy: str = "", said: str = "") -> Remark:
    """Worth knowing, but not an obstacle."""
    return Remark(step=step, weight=Weight.NOTE, says=says, obstacle=obstacle, remedy=remedy, said=said)


def blocked(step: str, obstacle: Obstacle, says: str, remedy: str = "", said: str = "") -> Remark:
    """An obstacle."""
    return Remark(step=step, weight=Weight.BLOCKED, says=says, obstacle=obstacle, remedy=remedy, said=said)


def untried(step: str, obstacle: Obstacle, says: str, remedy: str = "") -> Remark:
    """Could not be tried."""
    return Remark(step=step, weight=Weight.NOT_TRIED, says=says, obstacle=obstacle, remedy=remedy)
