"""Long-running programs: one that is talked to line by line, one that holds something until its input ends."""

import contextlib
import enum
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seatrial.files.inputs import read_end
from seatrial.files.writing import open_own
from seatrial.model.errors import ProbeLost
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


LONGEST_LINE_BYTES = 8 << 20
"""Far more than the probe's longest record; a line beyond it is somebody else's, and its beginning is dropped."""
MOST_LINES = 4
END_S = 5.0
"""Seconds for the end of a program that has closed its output."""


class LinePipe:
    """Standard input and output of a child in its own process group; its standard error goes to a file."""

    def __init__(self, argv: Sequence[str], log: Path, extra_environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        self.left_over: list[bytes] = []
        """What it still wrote to standard output after the last line that was received, once it is closed."""
        with os.fdopen(open_own(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as stderr:
            try:
                self._process = start(argv, stderr, extra_environment)
            except OSError as error:
                raise not_started(argv, error) from error
        self._stdin, self._stdout = pipes(self._process)
        self._exchange = PipeExchange([self._stdout])
        self._received = self._exchange.received[self._stdout]

    def send(self, line: bytes) -> None:
        """Write one line. Raises ProbeLost where nobody reads any more."""
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._stdin.fileno(), view) :]
        except OSError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            self._drain()
            raise ProbeLost(f"The probe is gone: {self.last_words()}", "died") from error

    def receive(self, deadline: float) -> bytes:
        """The next whole line. Raises ProbeLost at `deadline` (time.monotonic) and when the program has ended."""
        searched = 0

        def whole_line() -> bool | None:
            nonlocal searched
            if self._received.find(b"\n", searched) >= 0:
                return True
            searched = len(self._received)
            if searched > LONGEST_LINE_BYTES:
                self._received.clear()
                searched = 0
            return False if self._exchange.ended(self._stdout) else None

        match self._exchange.until(whole_line, deadline):
            case None:
                raise ProbeLost("The probe did not answer in time.", "timeout")
            case False:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_S)
                raise ProbeLost(f"The probe ended in mid-work: {self.last_words()}", "died")
        end = self._received.index(b"\n")
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _drain(self) -> None:
        """Take what it wrote to standard output before it ended; Hydra says there which rank died."""
        self._exchange.drain()
        self.left_over += bytes(self._received).split(b"\n")
        self._received.clear()

    def said(self) -> str:
        """All that it wrote to standard error, the end of it where that is much."""
        return read_end(self.log)

    def last_words(self) -> str:
        """The last telling lines of it, in one line."""
        lines = [line.strip() for line in self.said().splitlines() if line.strip(" -*")]
        return " / ".join(lines[-MOST_LINES:]) or "it said nothing"

    def close(self, *, kill: bool, patience_s: float = 5.0) -> int | None:
        """Close its input, wait this long for its end, then end it. Its exit status where it ended by itself."""
        try:
            self._stdin.close()
            if not kill:
                self._process.wait(patience_s)
        except (OSError, subprocess.TimeoutExpired):
            kill = True
        status = self._process.poll()
        if kill or status is None:
            end_group(self._process)
        if status is not None:
            self._drain()
        self._exchange.close()
        return status
