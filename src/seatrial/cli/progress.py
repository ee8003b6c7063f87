"""Draws progress with the time left on a terminal; on anything else writes a line for each stage and now and then."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from seatrial.driver import clock
from seatrial.driver.progress import Progress

LOG_S = 20.0
"""A stage that lasts longer than this gets another line in a log."""

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Drawn(Progress):
    """Progress on a terminal: a bar, the share done and the time left."""

    def __init__(self, bar: "Bar") -> None:
        self._bar = bar
        self._task = bar.add_task("Starting", total=None)
        self._total = 0

    def stage(self, text: str) -> None:
        """See driver.progress."""
        self._bar.update(self._task, description=text)

    def rounds(self, more: int) -> None:
        """See driver.progress."""
        self._total += more
        self._bar.update(self._task, total=self._total)

    def advance(self, rounds: int = 1) -> None:
        """See driver.progress."""
        self._bar.advance(self._task, rounds)

    def until(self, deadline_s: float) -> None:
        """See driver.progress."""
        self._bar.update(self._task, deadline_s=deadline_s)


class Written(Progress):
    """Not on a terminal: a line for each stage, and one now and then while a stage lasts."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text = ""
        self._done = self._total = 0
        self._said_s = clock.monotonic_s()

    def stage(self, text: str) -> None:
        """See driver.progress."""
        self._text = text
        self._say(text)

    def rounds(self, more: int) -> None:
        """See driver.progress."""
        self._total += more

    def advance(self, rounds: int = 1) -> None:
        """See driver.progress."""
        self._done += rounds
        if clock.monotonic_s() - self._said_s >= LOG_S:
            self._say(f"{self._text}: {self._done} of {max(self._done, self._total)} rounds")

    def _say(self, text: str) -> None:
        self._said_s = clock.monotonic_s()
        print(f"seatrial: {text}", file=self._stream, flush=True)

    def until(self, deadline_s: float) -> None:
        """Nothing."""


def time_left_s(estimated_s: float | None, deadline_s: float, now_s: float) -> float | None:
    """What the rounds will take at the pace so far, at most until the deadline; None where neither is known."""
    most = max(deadline_s - now_s, 0.0)
    known = [time for time in (estimated_s, most) if time is not None and math.isfinite(time)]
    return min(known, default=None)


@contextmanager
def progress_on(stream: IO[str] | None = None) -> Iterator[Progress]:
    """Progress that fits the stream; None: standard error."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Written(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    class TimeLeft(TimeRemainingColumn):
        """Never more than the budget still permits."""

        def render(self, task: Any) -> Any:
            """The time left of a task."""
            left = time_left_s(task.time_remaining, task.fields.get("deadline_s", math.inf), task.get_time())
            return super().render(SimpleNamespace(finished=False, total=task.total, time_remaining=left))  # type: ignore[arg-type]

    console = Console(file=stream)
    columns = (
        SpinnerColumn("dots" if console.encoding.startswith("utf") else "line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeLeft(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        yield Drawn(bar)
