"""What a run lost: sessions of the probe that ended early, and pairs left out because of a known fault."""

import enum
from collections.abc import Iterable

import msgspec

from seatrial.model.measurement import Kernel, Measurement, Phase


class LossCause(enum.StrEnum):
    """Why a session was lost, as far as the launcher, Slurm and the nodes report it."""

    SIGNAL = "signal"
    """A signal ended a rank."""
    EXIT = "exit"
    """A rank ended on its own, with an exit code."""
    OUT_OF_MEMORY = "out-of-memory"
    NODE_FAILURE = "node-failure"
    TIME_LIMIT = "time-limit"
    CANCELLED = "cancelled"
    """A user, an administrator or Slurm ended the step or the job."""
    SILENT = "silent"
    """No process is known to have died, and no answer came in time."""
    UNKNOWN = "unknown"


class RankDeath(msgspec.Struct, frozen=True, kw_only=True):
    """One rank that ended. What the launcher does not report is None or empty."""

    node: str = ""
    rank: int | None = None
    signal: int | None = None
    exit_code: int | None = None
    out_of_memory: bool = False
    first: bool = True
    """False: the launcher was already ending the other ranks, so this death may be a consequence."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the end of a session."""

    cause: LossCause = LossCause.UNKNOWN
    suspects: tuple[str, ...] = ()
    """Nodes: one, where the text shows which; several, where it was one of them; none, where it is unknown."""
    deaths: tuple[RankDeath, ...] = ()
    """The deaths in the order in which the launcher reported them."""
    pair: tuple[str, str] | None = None
    """The nodes on which the start of a program gave no figure; None for a session of the probe."""


class Moment(enum.StrEnum):
    """What the session was doing when it was lost."""

    START = "start"
    ROUND = "round"
    END = "end"
    """After its last round."""


class SessionLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was lost in the course of a run."""

    session: int
    moment: Moment
    at_s: float
    """Seconds since the run began."""
    round: int = 0
    """Number of the round; 0 outside of one."""
    phase: Phase | None = None
    variant: str = ""
    kernel: Kernel | None = None
    """What was running."""
    began_s: float | None = None
    """When that round began: seconds since the run began."""
    altered: bool = False
    """Whether it ran with settings that seatrial changed, under which an MPI may fail."""
    detail: str = ""
    """The launcher's last words."""
    loss: Loss

    @property
    def starting(self) -> bool:
        """Whether something had just been started: a session, or a program, all of which is one start."""
        return self.moment is Moment.START or self.loss.pair is not None


class CapCause(enum.StrEnum):
    """Why pairs across a part cost too much to measure all of them."""

    LOSS = "loss"
    """Small round trips waited for a retransmission."""
    HANG = "hang"
    """Pairs did not answer."""
    SLOW = "slow"
    """Windows took several times as long as usual."""


class CappedPair(msgspec.Struct, frozen=True, kw_only=True):
    """An ordered pair of the survey that was left out, and the part for which it was."""

    source: str
    target: str
    part: str
    """The text of a `Subject`: node:n3, uplink:leaf1."""
    cause: CapCause

    @property
    def pair(self) -> tuple[str, str]:
        """(source, target)."""
        return self.source, self.target


def unmeasured(capped: Iterable[CappedPair], measurements: Iterable[Measurement]) -> tuple[CappedPair, ...]:
    """The pairs whose bandwidth was not measured in any phase that counts for a verdict."""
    measured = {
        one.pair
        for one in measurements
        if one.shape.kernel is Kernel.ONEWAY and one.times_s and one.phase not in (Phase.PILOT, Phase.VARIANT)
    }
    return tuple(one for one in dict.fromkeys(capped) if one.pair not in measured)
