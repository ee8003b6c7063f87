"""seatrial metrics: asks Slurm once, and hands the numbers to a monitor; one shot, for a timer.

At most one sinfo, squeue and sdiag in a call; sshare, and the question whether slurmctld exports its metrics itself, at
most once an hour: what they said is kept in the caller's cache.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.bridge.graphite import GraphiteBridge
from prometheus_client.core import GaugeMetricFamily

from seatrial.commands.metrics.figures import Figure, SlurmState
from seatrial.files.inputs import MIB, BadInput, decoded, read_input
from seatrial.files.named import named_file
from seatrial.files.owners import cache_folder, make_trusted
from seatrial.files.writing import own_folder
from seatrial.model.errors import ErrorKind, LaunchError, SeatrialError
from seatrial.model.monitoring import Ask, Target
from seatrial.process.process import Completed, run
from seatrial.render.escape import clean
from seatrial.render.json import json_text
from seatrial.slurm import argv, census
from seatrial.slurm.text import config_value

CONNECT_S = 10.0
NO_PATH = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that prometheus-client replaces in what becomes part of a path of Graphite."""


def exposition(figures: Iterable[Figure]) -> bytes:
    """The text that Prometheus reads; prometheus-client escapes labels."""
    return generate_latest(_registry(figures, clean))


def deliver(figures: Iterable[Figure], target: Target) -> None:
    """Hand the numbers over. Raises SeatrialError where that fails; a file appears when it is whole."""
    if target.textfile is not None:
        try:
            with named_file(target.textfile) as file:
                file.write(exposition(figures))
        except OSError as error:
            what = f"{target.textfile} cannot be written: {error.strerror or error}."
            raise Undelivered(what, "Name a file in a folder of yours, on a disk with free space.") from error
    elif target.graphite is not None:
        host, port = target.graphite
        try:
            registry = _registry(figures, lambda label: NO_PATH.sub("_", clean(label)))
            GraphiteBridge(target.graphite, registry=registry, timeout_seconds=CONNECT_S).push()
        except OSError as error:
            what = f"Graphite at {host}:{port} takes nothing: {error.strerror or error}."
            raise Undelivered(what, "Name the port of its plaintext protocol, usually 2003.") from error


class Undelivered(SeatrialError):
    """Numbers could not be handed over."""

    kind = ErrorKind.UNWRITTEN


class _Figures:
    """A collector, as prometheus-client calls what it asks for families. `spelled`: a label as the store takes it."""

    def __init__(self, figures: Iterable[Figure], spelled: Callable[[str], str]) -> None:
        self._figures, self._spelled = [*figures], spelled

    def collect(self) -> Iterable[Metric]:
        """The families in their order; labels that are spelled alike are one series, and their numbers are added."""
        for figure in self._figures:
            family = GaugeMetricFamily(figure.name, figure.help, labels=figure.labels)
            values: dict[tuple[str, ...], float] = {}
            for labels, value in figure.rows:
                spelled = tuple(map(self._spelled, labels))
                values[spelled] = values.get(spelled, 0.0) + value  # one series twice makes Prometheus refuse them all
            for spelled, value in values.items():
                family.add_metric(spelled, value)
            yield family


def _registry(figures: Iterable[Figure], spelled: Callable[[str], str]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(figures, spelled))
    return registry


COMMAND_S = 10.0
"""A controller that takes longer is not asked more than that: its numbers are unknown in this call."""
HOURLY_S = 3600.0
NATIVE = "metrics/"
"""MetricsType of a slurmctld that exports its own metrics."""
FOLDER, FILE = Path("seatrial", "metrics"), "state.json"
MOST_BYTES = 16 * MIB
MOST_OUTPUT_BYTES = 256 * MIB
"""A million jobs of squeue have a tenth of a kilobyte each."""

Rows = TypeVar("Rows")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered from call to call; times in seconds since 1970."""

    called_s: float = 0.0
    hourly_s: float = 0.0
    native: bool = False
    shares: str = ""


def state_folder() -> Path | None:
    """The folder of what is remembered; None where none can be made safely, so that nothing is."""
    folder = cache_folder() / FOLDER
    try:
        make_trusted(folder)
    except (OSError, LaunchError):
        return None
    return folder


def read_kept(folder: Path | None) -> Kept:
    """What was remembered; nothing where there is none, or it cannot be read."""
    if folder is None or not (folder / FILE).exists():
        return Kept()
    try:
        return decoded(read_input(folder / FILE, MOST_BYTES), Kept, folder / FILE)
    except BadInput:
        return Kept()


def keep(folder: Path | None, kept: Kept) -> None:
    """Remember it; where that fails the next call asks again."""
    if folder is not None:
        with contextlib.suppress(OSError), own_folder(folder) as own:
            own.replace(FILE, json_text(kept).encode())


def too_soon(kept: Kept, interval_s: float, now_s: float) -> bool:
    """Whether the last call was less than `interval_s` ago; a clock that was set back does not delay it."""
    return 0 <= now_s - kept.called_s < interval_s


class Questions:
    """Commands of Slurm's, each asked once, and how they did; none is asked after one that had no answer in time."""

    def __init__(self, command: Callable[[Sequence[str]], Completed]) -> None:
        self._command = command
        self._late = False
        self.seconds: dict[str, float] = {}
        self.answered: dict[str, bool] = {}
        self.unread: dict[str, int] = {}

    def text(self, words: Sequence[str]) -> str | None:
        """What a command printed; None: it did not answer."""
        if self._late:
            self.answered[words[0]] = False
            return None
        began = time.monotonic()
        done = self._command(words)
        self._late = done.timed_out
        self.seconds[words[0]] = time.monotonic() - began
        self.answered[words[0]] = done.ok
        return done.stdout if done.ok else None

    def rows(self, words: Sequence[str], text: str | None, parse: Callable[[str], tuple[Rows, int]]) -> Rows | None:
        """The rows of what it printed."""
        if text is None:
            return None
        rows, self.unread[words[0]] = parse(text)
        return rows


def ask_slurm(
    kept: Kept, ask: Ask, now_s: float, command: Callable[[Sequence[str]], Completed]
) -> tuple[SlurmState | None, Kept]:
    """What Slurm's commands say, and what is to be remembered; None: it was not asked, or exports its own metrics."""
    if ask is Ask.NEVER:
        return None, msgspec.structs.replace(kept, called_s=now_s)
    questions = Questions(command)
    native, shares, hourly_s = kept.native, kept.shares, kept.hourly_s
    if not 0 <= now_s - hourly_s < HOURLY_S:
        config = questions.text(argv.CONFIG)
        native = config is not None and config_value(config, "MetricsType").startswith(NATIVE)
        if config is not None:
            shares, hourly_s = questions.text(census.SHARES) or "", now_s
    kept = Kept(called_s=now_s, hourly_s=hourly_s, native=native, shares=shares)
    if native and ask is Ask.AUTO:
        return None, kept
    scheduler = questions.text(census.SCHEDULER)
    state = SlurmState(
        nodes=questions.rows(census.NODES, questions.text(census.NODES), census.parse_nodes),
        jobs=questions.rows(census.JOBS, questions.text(census.JOBS), census.parse_jobs),
        scheduler=None if scheduler is None else census.parse_scheduler(scheduler),
        shares=questions.rows(census.SHARES, shares or None, census.parse_shares),
        seconds=questions.seconds,
        answered=questions.answered,
        unread=questions.unread,
    )
    return state, kept


def carried_out(words: Sequence[str]) -> Completed:
    """A command of Slurm's, with times in seconds since 1970."""
    return run(words, timeout_s=COMMAND_S, extra_environment=census.EPOCH, kept_bytes=MOST_OUTPUT_BYTES)
