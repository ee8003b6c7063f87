"""Processes that a test looks at or ends: whatever is said of one, it may have ended in the meantime."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path


def kill_all(pids: Iterable[int]) -> None:
    """Kill these processes; the death of one may end another before its turn, as that of a rank does."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def read_of(pid: int, name: str) -> bytes:
    """What the kernel says in a file of /proc/PID; nothing if the process has ended, perhaps while it is read."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    state = read_of(pid, "stat").rpartition(b")")[2].split()[:1]
    return bool(state) and state[0] not in (b"Z", b"X")
