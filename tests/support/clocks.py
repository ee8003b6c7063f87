"""A clock that a test moves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatrial.driver import clock


class Clock:
    """Seconds since some moment; only `advance` and `sleep` move it."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Move it forward."""
        self.now_s += seconds

    sleep = advance


def use_clock(read: Callable[[], float]) -> None:
    """Runs count their time on this clock to the end of the test."""
    clock.clock.set(read)


@contextmanager
def clock_restored() -> Iterator[None]:
    """After the block the clock is the one before it."""
    token = clock.clock.set(clock.clock.get())
    try:
        yield
    finally:
        clock.clock.reset(token)
