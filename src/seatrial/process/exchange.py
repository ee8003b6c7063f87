"""Feeds a program, and hears it to its end; keeps the last of what it says, and no more than asked for."""

import contextlib
import os
import select
import selectors
import subprocess
import time
from collections.abc import Callable
from typing import IO

KEPT_BYTES = 256 << 20
"""Of each of its two outputs. The facts of thousands of nodes are less."""
PIECE_BYTES = 1 << 16
WATCH_S = 0.25
GRACE_S = 1.0


class Talk:
    """With a program whose three standard streams are pipes of ours."""

    def __init__(self, process: "subprocess.Popen[bytes]", stdin: bytes, kept_bytes: int = KEPT_BYTES) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101 - they were asked for
        self._process = process
        self._kept_bytes = kept_bytes
        self._left = memoryview(stdin)
        self._said: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._selector = selectors.PollSelector()
        for output in self._said:
            self._selector.register(output, selectors.EVENT_READ)
        self._selector.register(process.stdin, selectors.EVENT_WRITE)

    def until(self, deadline: float, give_up: Callable[[bool], bool] = lambda _: False) -> bool:
        """Go on until the program has ended, or until `deadline` (time.monotonic); whether it has ended.

        `give_up` is asked every `WATCH_S` at least, with whether the program has written anything yet: yes is an end,
        too. A daemon that it leaves behind may hold its outputs open: they are closed `GRACE_S` after its end.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        told = self._said[self._process.stdout]
        ended = None
        while self._selector.get_map():
            now = time.monotonic()
            if ended is None and self._process.poll() is not None:
                ended = now
            if now > deadline or (ended is not None and now > ended + GRACE_S):
                break
            if ended is None and give_up(bool(told)):
                return False
            for key, _ in self._selector.select(max(min(WATCH_S, deadline - now), 0.0)):
                self._step(key.fileobj)  # type: ignore[arg-type]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - time.monotonic(), 0.0))
        return self._process.poll() is not None

    def close(self) -> tuple[str, str]:
        """Standard output and standard error as text: UTF-8, foreign bytes replaced, line ends made alike."""
        for key in list(self._selector.get_map().values()):
            self._done(key.fileobj)  # type: ignore[arg-type]
        self._selector.close()
        out, err = (bytes(said[-self._kept_bytes :]).decode("utf-8", errors="replace") for said in self._said.values())
        return out.replace("\r\n", "\n").replace("\r", "\n"), err.replace("\r\n", "\n").replace("\r", "\n")

    def _step(self, pipe: IO[bytes]) -> None:
        if pipe not in self._said:
            self._feed(pipe)
            return
        piece = os.read(pipe.fileno(), PIECE_BYTES)
        if not piece:
            self._done(pipe)
            return
        said = self._said[pipe]
        said += piece
        if len(said) > 2 * self._kept_bytes:
            del said[: -self._kept_bytes]

    def _feed(self, pipe: IO[bytes]) -> None:
        try:
            written = os.write(pipe.fileno(), self._left[: select.PIPE_BUF]) if self._left else 0
        except OSError:
            written = len(self._left)
        self._left = self._left[written:]
        if not self._left:
            self._done(pipe)

    def _done(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()
