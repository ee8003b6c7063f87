"""One run of the question about an environment, by srun, by mpirun or right here."""

from collections.abc import Mapping, Sequence

from seatrial.process.process import Completed, run

HEARD = "seatrial-heard"
"""The line that the first task gets on standard input, as the probe gets its commands there."""


def ask(argv: Sequence[str], tasks: int, *, timeout_s: float, variables: Mapping[str, str] | None = None) -> Completed:
    """Run it; more than so many answers are long is not kept, whatever an environment says besides."""
    kept_bytes = (1 << 20) + (tasks << 16)
    return run(argv, timeout_s=timeout_s, stdin=f"{HEARD}\n", extra_environment=variables, kept_bytes=kept_bytes)
