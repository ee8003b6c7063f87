"""For tests on a machine of which nobody knows how busy it is: what comes true in time, and what stays undecided."""

import re
import time
from collections.abc import Callable
from typing import TypeVar

from seatrial.lab.cluster.daemons import node_states
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed
from tests.support.summary import repetition_counter

LONG_S = 60.0
TRIES = 3
VERDICT = re.compile(r'INCONCLUSIVE\b|\{[^{[]*"verdict": *"INCONCLUSIVE"')
"""At the beginning of a report, or among the first fields of its JSON."""
T = TypeVar("T")


def eventually(holds: Callable[[], bool], timeout_s: float = LONG_S, every_s: float = 0.1) -> bool:
    """Whether it comes true in time; asked once more where the time is over, since asking may take long."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True


def wait_until_idle(plan: LabPlan) -> None:
    """Until no node does anything, nor cleans up after a job."""
    assert eventually(lambda: set(node_states(plan).values()) == {"idle"}), node_states(plan)


def inconclusive(done: Completed) -> bool:
    """Whether a command's own verdict, with which its output begins, is that it could not decide."""
    return done.returncode == 2 and VERDICT.match(done.stdout) is not None


def decided(attempt: Callable[[], T], undecided: Callable[[T], bool]) -> T:
    """The result of an attempt, repeated while it reports that it could not decide because the machine was busy.

    `undecided` may use only the program's own verdict, never a wrong name. The end of the test run lists repetitions.
    """
    for _ in range(TRIES - 1):
        result = attempt()
        if not undecided(result):
            return result
        repetition_counter.add()
    return attempt()
