"""Busy loops on the lab's machine, as another user's job would be: they take processor time from the check."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from seatrial.lab.cluster import state
from seatrial.process.process import run

MOST_HOGS = 16
LOOP = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""
"""Ends by itself within a tenth of a second when its parent, given by number, is gone, even where that was killed."""
LONGEST_S = 3600.0


@contextmanager
def hogs(lab: str, count: int) -> Iterator[None]:
    """Keep that many busy loops running. They carry the lab's mark, so that `lab down` ends them as well."""
    over = threading.Event()
    variable, _, value = state.raised(lab).partition("=")

    def busy() -> None:
        argv = [sys.executable, "-S", "-c", LOOP, str(os.getpid())]
        run(argv, timeout_s=LONGEST_S, extra_environment={variable: value}, give_up=lambda _: over.is_set())

    threads = [threading.Thread(target=busy, name=f"hog {number}", daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
