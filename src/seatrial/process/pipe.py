"""A long-running program that is talked to line by line."""

import contextlib
import os
import select
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatrial.model.errors import LaunchError, ProbeLost
from seatrial.process.process import end_group, environment

TAIL_BYTES = 100_000
LONGEST_LINE_BYTES = 8 << 20
"""Far more than the probe's longest record; a line beyond it is somebody else's, and its beginning is dropped."""
MOST_LINES = 4
MOST_LATE_BYTES = 1 << 20
"""Read past a deadline: what was there in time is taken, and who never stops talking is late."""
END_S = 5.0
"""For the end of a program that has closed its output."""


class LinePipe:
    """Standard input and output of a child in its own process group; its standard error goes to a file."""

    def __init__(self, argv: Sequence[str], log: Path, extra_environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._late_bytes = 0
        self.left_over: list[bytes] = []
        """What it still wrote to standard output after the last line that was received, once it is closed."""
        with log.open("ab") as stderr:
            try:
                self._process = subprocess.Popen(
                    list(argv),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=environment(extra_environment),
                    bufsize=0,
                    start_new_session=True,
                )
            except OSError as error:
                raise LaunchError(f"{argv[0]} cannot be started: {error.strerror}.") from error

    def send(self, line: bytes) -> None:
        """Write one line. Raises ProbeLost where nobody reads any more."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        try:
            view = memoryview(line)
            while view:
                view = view[self._process.stdin.write(view) :]
        except OSError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            self._drain()
            raise ProbeLost(f"The probe is gone: {self.last_words()}", "died") from error

    def _drain(self) -> None:
        """Take what it wrote to standard output before it ended; Hydra says there which rank died."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        rest = [*self._lines, self._rest]
        self._lines.clear()
        self._rest = b""
        size = 0
        while size < MOST_LATE_BYTES and select.select([self._process.stdout], [], [], 0)[0]:
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                break
            rest[-1] += piece
            size += len(piece)
        self.left_over += b"\n".join(rest).split(b"\n")

    def receive(self, deadline: float) -> bytes:
        """The next whole line. Raises ProbeLost at `deadline` (time.monotonic) and when the program has ended."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while not self._lines:
            left = deadline - time.monotonic()
            self._late_bytes = 0 if left > 0 else self._late_bytes
            readable, _, _ = select.select([self._process.stdout], [], [], max(left, 0))
            if not readable or self._late_bytes > MOST_LATE_BYTES:
                raise ProbeLost("The probe did not answer in time.", "timeout")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_S)
                raise ProbeLost(f"The probe ended in mid-work: {self.last_words()}", "died")
            self._late_bytes += len(piece)
            *whole, rest = (self._rest + piece).split(b"\n")
            self._lines.extend(whole)
            self._rest = rest if len(rest) <= LONGEST_LINE_BYTES else b""
        return self._lines.popleft()

    def said(self) -> str:
        """All that it wrote to standard error, the end of it where that is much."""
        with self.log.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL_BYTES, 0))
            return file.read(TAIL_BYTES).decode("utf-8", errors="replace")

    def last_words(self) -> str:
        """The last telling lines of it, in one line."""
        lines = [line.strip() for line in self.said().splitlines() if line.strip(" -*")]
        return " / ".join(lines[-MOST_LINES:]) or "it said nothing"

    def close(self, *, kill: bool, patience_s: float = 5.0) -> int | None:
        """Close its input, wait this long for its end, then end it. Its exit status where it ended by itself."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        try:
            self._process.stdin.close()
            if not kill:
                self._process.wait(patience_s)
        except (OSError, subprocess.TimeoutExpired):
            kill = True
        status = self._process.poll()
        if kill or status is None:
            end_group(self._process)
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        if status is not None:
            self._drain()
        self._process.stdout.close()
        return status
