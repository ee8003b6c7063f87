"""Blocks that no signal breaks off: the closing of a run, and the loading of a library that would end the process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM)
"""Signals whose handlers raise something: those that end a command, that of `qualify`, and that of a time limit."""


@contextmanager
def unbroken(*, wanted: bool = True) -> Iterator[None]:
    """A block that an interrupt does not break off: it is raised when the block has ended, a second one at once."""
    handlers = {number: handler for number in INTERRUPTS if callable(handler := signal.getsignal(number))}
    if not wanted or threading.current_thread() is not threading.main_thread():
        handlers = {}
    came: list[BaseException] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        try:
            handlers[signal.Signals(number)](number, frame)
        except BaseException as interrupt:
            if came:
                raise
            came.append(interrupt)

    for number in handlers:
        signal.signal(number, put_off)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise came[0]
