"""Little memory: preparations before anything large is loaded, and the message for what did not fit."""

import errno
import resource
from pathlib import Path

from seatrial.model.errors import SeatrialError
from seatrial.process.process import limit_own_memory

LEAST_BYTES = 256 << 20
"""Address space with which every command starts; with 150 MiB the interpreter's own libraries end the process."""
MOST_SHARE = 0.75
"""Share of the memory that is free when a command begins."""
ALWAYS_BYTES = 4 << 30
"""A matrix of 25 million pairs takes that."""
MEMORY = Path("/proc/meminfo")
REMEDY = (
    "Allow more (ulimit -v unlimited, or --mem of the job), then run it again; `seatrial runs recover` closes a run."
)


def make_do() -> None:
    """Take no more than a share of the memory that is free: whatever others wrote, the machine has memory left.

    Raises SeatrialError where `ulimit -v` leaves too little for anything.
    """
    before, _ = resource.getrlimit(resource.RLIMIT_DATA)
    free_bytes = _free_bytes()
    most_bytes = max(int(free_bytes * MOST_SHARE), ALWAYS_BYTES)
    if free_bytes and (before == resource.RLIM_INFINITY or before > most_bytes):
        limit_own_memory(most_bytes)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_BYTES:
        allowed = f"This shell allows {limit >> 20} MiB of memory (ulimit -v)"
        raise SeatrialError(f"{allowed}, and seatrial takes {LEAST_BYTES >> 20}.", REMEDY)


def _free_bytes() -> int:
    """Memory that the kernel would give without swapping; 0 where it does not say that."""
    try:
        fields = (line.split() for line in MEMORY.read_bytes().splitlines())
        return next((int(field[1]) << 10 for field in fields if field[0] == b"MemAvailable:"), 0)
    except (OSError, ValueError, IndexError):
        return 0


def starved(error: BaseException) -> str:
    """What was wrong, for an error caused by too little memory; empty for any other. REMEDY says what to do."""
    out_of_it = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    unmapped = isinstance(error, ImportError) and "failed to map segment" in str(error)
    unstarted = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    if not (out_of_it or unmapped or unstarted):
        return ""
    return f"There is too little memory here, or the process limit is reached (ulimit -u): {_said(error)}."


def _said(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
