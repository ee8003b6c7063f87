"""A time limit for reading what others wrote: regular expressions of a site can take for ever."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from seatrial.model.errors import UsageError

PARSE_S = 60.0
"""Seconds for reading one file. An output of 256 MiB takes about 30 s; what takes longer is most likely a pattern of a
site with nested repetitions.
"""


class TimeUp(BaseException):
    """A block took longer than it may. No handler of errors within the block takes it for one."""


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """Raises UsageError in the main thread where the block takes longer, see `timed`."""
    try:
        with timed(seconds):
            yield
    except TimeUp as error:
        raise UsageError(
            f"{what} took more than {seconds:g} s.",
            "Simplify the regular expressions (avoid nested repetitions such as (a+)+), or give a smaller file.",
        ) from error


@contextlib.contextmanager
def timed(seconds: float) -> Iterator[None]:
    """Raises TimeUp in the main thread where the block takes longer.

    Python's matcher looks for signals while it runs, so that even a single expression is interrupted. In another
    thread there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_: int, __: "FrameType | None") -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
