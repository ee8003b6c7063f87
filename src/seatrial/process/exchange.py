"""The one loop that reads what a program writes, and feeds it, without waiting for it past a deadline."""

import contextlib
import math
import os
import select
import selectors
import time
from collections.abc import Callable, Sequence
from typing import IO, TypeVar

KEPT_BYTES = 256 << 20
"""Bytes kept of each output. The facts of thousands of nodes are less."""
PIECE_BYTES = 1 << 16
MOST_LATE_BYTES = 1 << 20
"""Read past a deadline: what was written in time is taken, and a program that never stops writing is late."""

Result = TypeVar("Result")


class PipeExchange:
    """Outputs of a program that are pipes of ours, and perhaps a text for its input.

    `received` holds what each output delivered and nobody has taken yet: its last `kept_bytes` at least.
    """

    def __init__(self, outputs: Sequence[IO[bytes]], kept_bytes: int = KEPT_BYTES) -> None:
        self.received = {output: bytearray() for output in outputs}
        self._kept_bytes = kept_bytes
        self._late_bytes = 0
        self._unsent = memoryview(b"")
        self._selector = selectors.PollSelector()
        for output in outputs:
            self._selector.register(output, selectors.EVENT_READ)

    def feed(self, stdin: IO[bytes], text: bytes) -> None:
        """Write the text as the program reads it, then close its input."""
        self._unsent = memoryview(text)
        self._selector.register(stdin, selectors.EVENT_WRITE)

    def ended(self, pipe: IO[bytes]) -> bool:
        """Whether the program has closed this output, or we have."""
        return self.over or pipe not in self._selector.get_map()

    @property
    def over(self) -> bool:
        """Whether all pipes are closed."""
        return not self._selector.get_map()

    def until(self, answer: Callable[[], Result | None], deadline: float, every_s: float = math.inf) -> Result | None:
        """Exchange until there is an answer, and return it; None at `deadline` (time.monotonic).

        `answer` is called after each piece, and every `every_s` at least.
        """
        while (result := answer()) is None:
            left_s = deadline - time.monotonic()
            self._late_bytes = 0 if left_s > 0 else self._late_bytes
            ready = self._selector.select(max(min(every_s, left_s), 0.0))
            if left_s <= 0 and (not ready or self._late_bytes > MOST_LATE_BYTES):
                return None
            for key, _ in ready:
                self._step(key.fileobj)  # type: ignore[arg-type]
        return result

    def drain(self) -> None:
        """Take what was written up to now."""
        self.until(lambda: self.over or None, -math.inf)

    def close(self) -> None:
        """Close all pipes; closing again does nothing."""
        for key in list((self._selector.get_map() or {}).values()):
            self._done(key.fileobj)  # type: ignore[arg-type]
        self._selector.close()

    def _step(self, pipe: IO[bytes]) -> None:
        if pipe not in self.received:
            self._feed(pipe)
            return
        piece = os.read(pipe.fileno(), PIECE_BYTES)
        if not piece:
            self._done(pipe)
            return
        self._late_bytes += len(piece)
        received = self.received[pipe]
        received += piece
        if len(received) > self._kept_bytes + max(self._kept_bytes // 8, min(self._kept_bytes, PIECE_BYTES)):
            del received[: -self._kept_bytes]

    def _feed(self, pipe: IO[bytes]) -> None:
        try:
            written = os.write(pipe.fileno(), self._unsent[: select.PIPE_BUF]) if self._unsent else 0
        except OSError:
            written = len(self._unsent)
        self._unsent = self._unsent[written:]
        if not self._unsent:
            self._done(pipe)

    def _done(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()
