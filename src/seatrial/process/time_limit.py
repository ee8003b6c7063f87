"""A time limit for reading what others wrote: regular expressions of a site can take for ever."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from seatrial.model.errors import UsageError

PARSE_S = 60.0
"""Seconds for reading one file. An output of 256 MiB takes about 30 s; what takes longer is most likely a pattern of a
site with nested repetitions.
"""


LEAST_S = 0.001
"""A timer of 0 would be none."""


_raised: list[BaseException] = []
"""What the handler of the timer raised in a block that has not ended."""


def due() -> BaseException | None:
    """What ends the present block since its time is up, for whoever caught it as something else; None: nothing."""
    return _raised[-1] if _raised else None


class TimeUp(BaseException):
    """A block took longer than it may. No handler of errors within the block takes it for one."""


class SharedTime:
    """Seconds that several blocks may take together, in which patterns of a user are applied."""

    def __init__(self, what: str, seconds: float) -> None:
        """`what` takes the time, for the message."""
        self._what, self._seconds = what, seconds
        self._left_s = seconds

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Raises UsageError in the main thread where the blocks so far took longer, see `timed`."""
        mine, began = TimeUp(), time.monotonic()
        try:
            with timed(max(self._left_s, LEAST_S), mine):
                yield
        except TimeUp as error:
            if error is not mine:  # but that of a block around this one
                raise
            raise UsageError(
                f"{self._what} took more than {self._seconds:g} s.",
                "Simplify the regular expressions (avoid nested repetitions such as (a+)+), or give a smaller file.",
            ) from error
        self._left_s -= time.monotonic() - began


def limited(seconds: float, what: str) -> contextlib.AbstractContextManager[None]:
    """Raises UsageError in the main thread where the block takes longer, see `timed`."""
    return SharedTime(what, seconds).taken()


@contextlib.contextmanager
def timed(seconds: float, time_up: BaseException | None = None) -> Iterator[None]:
    """Raises TimeUp, or what is given, in the main thread where the block takes longer.

    A block around it that has less time left ends it, too.

    Python's matcher looks for signals while it runs, so that even a single expression is interrupted. In another
    thread there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    running = True

    def expired(_: int, __: "FrameType | None") -> None:
        if running:  # or the timer expires while it is put back: the block has ended in time
            _raised.append(time_up or TimeUp())
            raise _raised[-1]

    began = time.monotonic()
    around_s = signal.getitimer(signal.ITIMER_REAL)[0]
    if around_s and around_s <= seconds:
        yield
        return
    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        try:
            yield
        finally:
            running = False
            _raised.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if around_s:
            signal.setitimer(signal.ITIMER_REAL, max(around_s - (time.monotonic() - began), LEAST_S))
