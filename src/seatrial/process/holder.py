"""A program that gets hold of something, and gives it back by itself once its standard input ends."""

import contextlib
import enum
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

from seatrial.process.exchange import PipeExchange
from seatrial.process.process import end_group, not_started, pipes, start

LOOK_S = 1.0
"""Between two looks at what it has written to standard error so far; costs nobody else anything."""
MOST_OUTPUT_BYTES = 1 << 16


class HolderStart(enum.Enum):
    """How a start went."""

    READY = "ready"
    ENDED = "ended"
    """It ended by itself."""
    GIVEN_UP = "given up"
    """The time is up, or there is no sense in waiting any longer; it still runs."""


class Holding:
    """The program, in a session of its own, so that no Ctrl-C reaches it.

    Its input is a pipe whose other end only this process has: the input ends when we close it, and also when we are
    killed. Standard error goes to a temporary file.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        """Start it. Raises LaunchError where it cannot be started."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the program
        try:
            self._process = start(argv, self._stderr)
        except OSError as error:
            self._stderr.close()
            raise not_started(argv, error) from error
        self._stdin, self._stdout = pipes(self._process)
        self._exchange = PipeExchange([self._stdout], MOST_OUTPUT_BYTES)

    @property
    def output(self) -> bytes:
        """What it has written to standard output until it was ready."""
        return bytes(self._exchange.received[self._stdout])

    @property
    def killed_by(self) -> int:
        """The signal that ended it; 0 where none did, and while it runs."""
        return max(-(self._process.poll() or 0), 0)

    def said(self) -> str:
        """All that it has written to standard error so far."""
        file = self._stderr.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", errors="replace")

    def until(
        self, mark: bytes, timeout_s: float, give_up: Callable[[str], bool], look_s: float = LOOK_S
    ) -> HolderStart:
        """Wait until a line of its standard output begins with `mark`.

        `give_up` is asked every `look_s` with what it has said; a yes ends the waiting.
        """
        looked_s = time.monotonic()

        def answer() -> HolderStart | None:
            nonlocal looked_s
            if any(line.startswith(mark) for line in self.output.split(b"\n")[:-1]):
                return HolderStart.READY
            if self._exchange.ended(self._stdout):
                return HolderStart.ENDED
            if time.monotonic() < looked_s + look_s:
                return None
            looked_s = time.monotonic()
            return HolderStart.GIVEN_UP if give_up(self.said()) else None

        outcome = self._exchange.until(answer, looked_s + timeout_s, look_s)
        if outcome is HolderStart.ENDED:
            self._process.wait()
        return outcome or HolderStart.GIVEN_UP

    def release(self, patience_s: float) -> bool:
        """End its input by a line and wait for its end, for that long; whether it ended by itself."""
        with contextlib.suppress(OSError, ValueError):
            os.write(self._stdin.fileno(), b"\n")
        self._end_input()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(patience_s) >= 0
        return False

    def kill(self) -> None:
        """End it: terminated first, killed after some seconds; nothing of what it said is lost."""
        if self._process.poll() is None:
            end_group(self._process)
        self._end_input()
        self._exchange.close()

    def _end_input(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()
