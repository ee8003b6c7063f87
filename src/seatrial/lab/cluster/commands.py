"""Runs the programs that build the lab and turns their failures into sentences."""

from collections.abc import Sequence

from seatrial.model.errors import SeatrialError
from seatrial.process.process import Completed, run

TIMEOUT_S = 30.0


def call(argv: Sequence[str], *, stdin: str = "", timeout_s: float = TIMEOUT_S) -> str:
    """Run a program that must succeed and return its standard output. Raises SeatrialError with what it said."""
    done = run(argv, timeout_s=timeout_s, stdin=stdin)
    if not done.ok:
        raise SeatrialError(f"{' '.join(argv[:6])} failed: {reason(done)}.")
    return done.stdout


def attempt(argv: Sequence[str], *, stdin: str = "", timeout_s: float = TIMEOUT_S) -> Completed:
    """Run a program that may fail, where the result is looked at afterwards."""
    return run(argv, timeout_s=timeout_s, stdin=stdin)


def batch(program: str, space: str | None, lines: Sequence[str]) -> None:
    """Give `lines` to one `ip` or `tc`, within a network namespace if one is named."""
    where = ["-n", space] if space else []
    call([program, *where, "-batch", "-"], stdin="\n".join([*lines, ""]))


def reason(done: Completed) -> str:
    """The last line a program said, or how it ended."""
    if done.timed_out:
        return "it did not end in time"
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit status {done.returncode}"
