"""Processes that a test ends."""

import os
import signal
from collections.abc import Iterable


def kill_all(pids: Iterable[int]) -> None:
    """Kill these processes; the death of one may end another before its turn, as that of a rank does."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
