"""Processes that a test looks at or ends: whatever is said of one, it may have ended in the meantime."""

import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

STEPS = {"open", "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
"""Audit events of what a process does with files and folders."""


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


def killed_at_each_step(work: Callable[[], object]) -> Iterator[int]:
    """Do the work in a child that is killed (signal 9) right before its first step with files, its second, and so on.

    The number of the step, once the child has ended; the last child does all of the work.
    """
    for last in itertools.count():
        pid = os.fork()
        if pid == 0:
            _kill_before(last)
            try:
                work()
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return
        yield last


def _kill_before(last: int) -> None:
    """Kill this process before a step: audit hooks cannot be removed, so that it is one of its own."""
    steps = itertools.count()

    def hook(event: str, _: tuple[object, ...]) -> None:
        if event in STEPS and next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
