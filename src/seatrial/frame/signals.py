"""Ctrl-C, SIGTERM and SIGHUP while a command runs: the first ends its work in order, later ones do not break that."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from seatrial.frame.entry import ENDINGS, leave_at_once

PATIENCE = b"""
seatrial: The run is being closed. Ctrl-C once more leaves at once; `seatrial runs recover` then closes the run.
"""
PROBE = signal.SIGURG
"""A signal that nobody sends otherwise, and that does nothing where it is not handled."""
LOOK_S, LOOKS = 1.0, 20
"""Pause between probes, and how many in turn may stay without an answer: some queries DuckDB never cancels."""
AGAIN_S = 0.1
"""Until a lost interrupt is sent again, and again where it comes before the hook that noticed the loss has ended."""


class Interruptions:
    """The signals that came since the command began."""

    def __init__(self) -> None:
        self.count = 0
        """All of them."""
        self._pressed = 0
        self._lost = False
        self._watched = self._answered = False

    def listen(self) -> None:
        """Turn the first signal into KeyboardInterrupt; signals that are ignored stay so."""
        for number in ENDINGS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._heard)
        signal.signal(PROBE, self._answer)
        sys.unraisablehook = self._swallowed

    def _heard(self, number: int, frame: FrameType | None) -> None:
        """Closing a terminal, timeout(1) and systemd send several: only Ctrl-C, three times, breaks off closing."""
        if self._lost and _runs_in(frame, self._swallowed):
            return  # raised there, it would be lost as well: `_send` goes on
        self._lost = False
        self.count += 1
        if self.count == 1:
            self._watch()
            raise KeyboardInterrupt
        if number != signal.SIGINT:
            return
        self._pressed += 1
        if self._pressed > 1:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):  # nobody reads it
            os.write(2, PATIENCE)

    def _answer(self, _number: int, _frame: FrameType | None) -> None:
        self._answered = True

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            with contextlib.suppress(RuntimeError):  # ulimit -u
                threading.Thread(target=self._end_if_stuck, daemon=True).start()

    def _end_if_stuck(self) -> None:
        """End the process where a library keeps the main thread to itself, so that nothing is ended in order."""
        left = LOOKS
        while left:
            left = LOOKS if self._answered else left - 1
            self._answered = False
            signal.pthread_kill(threading.main_thread().ident or 0, PROBE)
            time.sleep(LOOK_S)
        leave_at_once()

    def _swallowed(self, what: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs, which cannot be imported
        """An interrupt within a destructor or a callback is lost, with a traceback: send it again."""
        if not (what.exc_type and issubclass(what.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(what)
            return
        self._lost = True
        self.count = 0
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        while self._lost:
            time.sleep(AGAIN_S)
            os.kill(os.getpid(), signal.SIGINT)


def _runs_in(frame: FrameType | None, function: Callable[..., Any]) -> bool:
    """Whether the function is among those that are being called."""
    code = function.__code__
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
