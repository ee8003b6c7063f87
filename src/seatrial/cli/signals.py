"""Ctrl-C, SIGTERM and SIGHUP while a command runs: the first ends its work in order, later ones do not break that."""

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from seatrial.cli.entry import ENDINGS

PATIENCE = b"""
seatrial: The run is being closed. Ctrl-C once more leaves at once; `seatrial runs recover` then closes the run.
"""
AGAIN_S = 0.1
"""Until a lost interrupt is sent again; long enough that the hook which noticed the loss has ended."""


class Interruptions:
    """The signals that came since the command began."""

    def __init__(self) -> None:
        self.count = 0
        """All of them."""
        self._pressed = 0

    def listen(self) -> None:
        """Turn the first signal into KeyboardInterrupt; signals that are ignored stay so."""
        for number in ENDINGS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._heard)
        sys.unraisablehook = self._swallowed

    def _heard(self, number: int, frame: FrameType | None) -> None:
        """Closing a terminal, timeout(1) and systemd send several: only Ctrl-C, three times, breaks off closing."""
        self.count += 1
        if self.count == 1:
            raise KeyboardInterrupt
        if number != signal.SIGINT:
            return
        self._pressed += 1
        if self._pressed > 1:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):  # nobody reads it
            os.write(2, PATIENCE)

    def _swallowed(self, what: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs, which cannot be imported
        """An interrupt within a destructor or a callback is lost, with a traceback: send it again."""
        if not (what.exc_type and issubclass(what.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(what)
            return

        self.count = 0
        again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
