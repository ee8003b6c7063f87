"""Draws progress with the time left on a terminal; on anything else says each stage once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from seatrial.driver.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Drawn:
    """On a terminal: a bar, the share done and the time left."""

    def __init__(self, bar: "Bar") -> None:
        self._bar = bar
        self._task = bar.add_task("Starting", total=None)
        self._total = 0

    def stage(self, text: str) -> None:
        """See experiment.progress."""
        self._bar.update(self._task, description=text)

    def rounds(self, more: int) -> None:
        """See experiment.progress."""
        self._total += more
        self._bar.update(self._task, total=self._total)

    def advance(self, rounds: int = 1) -> None:
        """See experiment.progress."""
        self._bar.advance(self._task, rounds)


class Written:
    """Not on a terminal: a line for each stage."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def stage(self, text: str) -> None:
        """See experiment.progress."""
        print(f"seatrial: {text}", file=self._stream, flush=True)

    def rounds(self, more: int) -> None:
        """Nothing."""

    def advance(self, rounds: int = 1) -> None:
        """Nothing."""


@contextmanager
def progress_on(stream: IO[str]) -> Iterator[Progress]:
    """Progress that fits the stream."""
    if not stream.isatty():
        yield Written(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(file=stream), transient=True) as bar:
        yield Drawn(bar)
