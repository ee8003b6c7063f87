"""seatrial metrics: asks Slurm once, and hands the numbers to a monitor; one shot, for a timer.

At most one sinfo, squeue and sdiag in a call; sshare, and the question whether slurmctld exports its metrics itself, at
most once an hour: what they said is kept in the caller's cache.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from seatrial.commands.metrics.figures import SlurmState
from seatrial.files.home_folders import cache_folder
from seatrial.files.inputs import MIB, BadInput, decoded, read_input
from seatrial.files.trust import make_trusted
from seatrial.files.writing import own_folder
from seatrial.model.errors import LaunchError
from seatrial.model.monitoring import Ask
from seatrial.process.process import Completed, run
from seatrial.render.json import json_text
from seatrial.slurm import argv, census
from seatrial.slurm.text import config_value

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
