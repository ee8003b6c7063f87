"""A program that gets hold of something, and gives it back by itself once its standard input ends."""

import contextlib
import enum
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO

from seatrial.model.errors import LaunchError
from seatrial.process.process import end_group, environment

LOOK_S = 1.0
"""Between two looks at what it has written to standard error so far; costs nobody else anything."""
MOST_OUTPUT_BYTES = 1 << 16


class Start(enum.Enum):
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
        self.output = b""
        """What it has written to standard output until it was ready."""
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=environment(),
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise LaunchError(f"{argv[0]} cannot be started: {error.strerror}.") from error

    @property
    def killed_by(self) -> int:
        """The signal that ended it; 0 where none did, and while it runs."""
        return max(-(self._process.poll() or 0), 0)

    def said(self) -> str:
        """All that it has written to standard error so far."""
        file = self._stderr.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", errors="replace")

    def until(self, mark: bytes, timeout_s: float, give_up: Callable[[str], bool], look_s: float = LOOK_S) -> Start:
        """Wait until a line of its standard output begins with `mark`.

        `give_up` is asked every `look_s` with what it has said; a yes ends the waiting.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            readable, _, _ = select.select([self._process.stdout], [], [], max(min(look_s, left), 0.0))
            if readable:
                piece = os.read(self._process.stdout.fileno(), 4096)
                self.output = (self.output + piece)[-MOST_OUTPUT_BYTES:]
                if any(line.startswith(mark) for line in self.output.split(b"\n")[:-1]):
                    return Start.READY
                if not piece:
                    self._process.wait()
                    return Start.ENDED
            elif left <= look_s or give_up(self.said()):
                return Start.GIVEN_UP

    def release(self, patience_s: float) -> bool:
        """End its input and wait for its end, for that long; whether it ended by itself."""
        _close(self._process.stdin)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(patience_s) >= 0
        return False

    def kill(self) -> None:
        """End it: terminated first, killed after some seconds; nothing of what it said is lost."""
        if self._process.poll() is None:
            end_group(self._process)
        _close(self._process.stdin)
        _close(self._process.stdout)


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()
