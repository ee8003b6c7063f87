"""What disturbs a trial: busy programs on the same machine, and faults that begin late or come and go."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatrial.lab.cluster import state
from seatrial.lab.faults.base import Planted
from seatrial.model.errors import SeatrialError
from seatrial.process.process import python_program, run

MOST_HOGS = 16
WORK = ("for _ in range(1_000_000): pass", "copied[:] = source", "subprocess.run(['true'])")
"""What hogs do, in turn: the first computes, the second copies memory, the third starts and ends programs."""
LOOP = """
import os, subprocess, sys
source, copied = bytes(1 << 25), bytearray(1 << 25)
while os.getppid() == int(sys.argv[1]):
    {work}
"""
"""Ends by itself within a tenth of a second when its parent, given by number, is gone, even where that was killed."""
LONGEST_S = 3600.0


@contextmanager
def hogs(lab: str, count: int) -> Iterator[None]:
    """Keep that many busy programs running. They carry the lab's mark, so that `lab down` ends them as well."""
    over = threading.Event()
    variable, _, value = state.raised(lab).partition("=")

    def busy(number: int) -> None:
        argv = [*python_program("-c", LOOP.format(work=WORK[number % len(WORK)])), str(os.getpid())]
        run(argv, timeout_s=LONGEST_S, extra_environment={variable: value}, give_up=lambda _: over.is_set())

    threads = [
        threading.Thread(target=busy, args=[number], name=f"hog {number}", daemon=True) for number in range(count)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


LOOK_S = 0.05
"""How often a trial checks whether the measuring has begun."""


def flap(every_s: float, switch: Callable[[bool], bool], ended: Callable[[float], bool]) -> None:
    """Alternately turn a fault off and on, each for `every_s`.

    `ended` waits for that many seconds at most and returns whether to stop; `switch` turns the fault on or off and
    returns whether it is still planted. The intervals are counted from the start, so that they do not drift.
    """
    due, on = time.monotonic() + every_s, True
    while not ended(max(due - time.monotonic(), 0.0)):
        on = not on
        if not switch(on):
            return
        due += every_s


class Strike:
    """A fault of a trial that begins while the check runs: a thread that ends with the check.

    `begun` says whether the measuring has begun, from which `after_s` counts; None: `after_s` counts from the start.
    Use it as a context manager around the check.
    """

    def __init__(
        self,
        name: str,
        plant: Callable[[], Planted],
        switch: Callable[[Planted, bool], bool],
        begun: Callable[[], bool] | None,
        after_s: float,
    ) -> None:
        self.problem = f"the check ended before the fault {name} was planted"
        """What went wrong; empty once it was planted."""
        self.changes_s: list[float] = []
        """When the fault was turned on, off, on and so on, in seconds since the check began."""
        self._name = name
        self._plant = plant
        self._switch = switch
        self._begun = begun
        self._after_s = after_s
        self._over = threading.Event()
        self._began_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"fault {name}", daemon=True)

    def __enter__(self) -> "Strike":
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while self._begun is not None and not self._begun():
            if self._over.wait(LOOK_S):
                return
        if self._over.wait(self._after_s):
            return
        try:
            planted = self._plant()
            self._note()
            self.problem = ""
            if planted.every_s:
                flap(planted.every_s, lambda on: self._turn(planted, on), self._over.wait)
        except (OSError, SeatrialError) as error:
            self.problem = f"the fault {self._name} could not be planted: {error}"

    def _turn(self, planted: Planted, on: bool) -> bool:
        turned = self._switch(planted, on)
        self._note()
        return turned

    def _note(self) -> None:
        self.changes_s.append(time.monotonic() - self._began_s)
