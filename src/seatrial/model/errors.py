"""The exit codes and the errors that carry them."""

import enum
import errno
import re
from typing import TypeVar

import msgspec

from seatrial.model.loss import Loss, LossCause

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers if a disk, a quota, or the size that a file may have (`ulimit -f`) is used up."""


class ExitCode(enum.IntEnum):
    """The exit status of a command. The numbers are stable; see docs/exit-codes.md."""

    PASS = 0
    FINDINGS = 1
    INCOMPLETE = 2
    USAGE = 64
    INTERNAL = 70


class ErrorKind(enum.StrEnum):
    """Why a command could not be carried out, for programs; docs/exit-codes.md describes each."""

    USAGE = "usage"
    NO_RUN = "no-run"
    LAUNCH = "launch"
    FAILED = "failed"
    UNWRITTEN = "unwritten"
    NO_SPACE = "no-space"
    NO_MEMORY = "no-memory"
    INTERRUPTED = "interrupted"
    INTERNAL = "internal"


def sentence(text: str) -> str:
    """The text with an end: words of another program, which often have none, are followed by a sentence of ours."""
    return text if not text or text.rstrip("\"')]").endswith((".", "!", "?", ":", ";")) else f"{text}."


class SeatrialError(Exception):
    """Something outside went wrong: one sentence on what was wrong, one on what to do about it."""

    exit_code = ExitCode.INCOMPLETE
    kind = ErrorKind.FAILED

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{sentence(what)} {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class UsageError(SeatrialError):
    """An argument or an input file cannot be used as given; the message shows its value."""

    exit_code = ExitCode.USAGE
    kind = ErrorKind.USAGE


_Record = TypeVar("_Record")
MOST_NAME_PARTS = 100
LONG_NAME = re.compile(rf"(?<![\w.'\"-])(?:[\w'\"-]++[ \t]*+\.[ \t]*+){{{MOST_NAME_PARTS}}}")
"""A name of more parts, `a.b.c`: reading TOML takes a time that grows with the square of their number."""


def toml_record(text: str | bytes, kind: type[_Record], what: str, remedy: str) -> _Record:
    """The record in a TOML text that somebody wrote. Raises UsageError, whatever is wrong with the text."""
    if LONG_NAME.search(text if isinstance(text, str) else text.decode("utf-8", errors="replace")):
        raise UsageError(f"{what}: a name has more than {MOST_NAME_PARTS} parts.", remedy)
    try:
        return msgspec.toml.decode(text, type=kind)
    except (ValueError, RecursionError) as error:  # also for foreign bytes, and for a number of too many digits
        raise UsageError(f"{what}: {error}.", remedy) from error


class NoRun(UsageError):
    """The archive has no run of that name, or several begin with it."""

    kind = ErrorKind.NO_RUN


class LaunchError(SeatrialError):
    """The probe could not be started as requested.

    `transient`: no lasting cause is known, so another attempt may succeed. `loss`: what the launcher reported about a
    probe that died during its start. `other_mpi_type`: the remedy is another `srun --mpi`. `absent_probe`: nodes
    may not have the probe where it was built.
    """

    kind = ErrorKind.LAUNCH

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        transient: bool = False,
        loss: Loss | None = None,
        other_mpi_type: bool = False,
        absent_probe: bool = False,
    ) -> None:
        super().__init__(what, remedy)
        self.transient = transient
        self.loss = loss
        self.other_mpi_type = other_mpi_type
        self.absent_probe = absent_probe


class JobOver(SeatrialError):
    """The job in which a run measures has ended or is suspended: no other setting, node or start would do better."""

    kind = ErrorKind.LAUNCH


class ProbeLost(SeatrialError):
    """A session ended, or gave no answer during a round.

    `outcome` is `timeout` or `died`; `loss`: what is known of it.
    """

    def __init__(self, what: str, outcome: str, loss: Loss | None = None) -> None:
        super().__init__(what)
        self.outcome = outcome
        self.loss = loss or Loss(cause=LossCause.SILENT if outcome == "timeout" else LossCause.UNKNOWN)


class RoundRefused(SeatrialError):
    """The probe answered a round with an error; the session goes on."""
