"""Runs programs whose output goes straight into files, so that what they printed survives whatever ends us."""

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from seatrial.files.writing import open_own
from seatrial.model.benchmark import Ended
from seatrial.process.keeper import MARK, EndProcesses, Keeper
from seatrial.process.process import NOT_STARTED, end_group, environment, spawn

GRACE_S = 10.0
"""Seconds for a launcher that ends its ranks, which may write files at their end."""
LOOK_S = 0.02
"""Seconds between two checks for the end of one of several programs."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A program to be run, and the files that get its standard output and error."""

    argv: tuple[str, ...]
    output: Path
    errors: Path
    environment: Mapping[str, str] = {}
    """Laid over this process's own."""


def run_into(command: Command, *, timeout_s: float, folder: Path) -> Ended:
    """Run one program; see `run_beside`."""
    ((_, ended),) = run_beside([command], timeout_s=timeout_s, folder=folder)
    return ended


def run_beside(
    commands: Sequence[Command], *, timeout_s: float, folder: Path
) -> Generator[tuple[int, Ended], None, None]:
    """Run programs at the same time in `folder`, each to its end; yields the place of each in `commands` as it ends.

    Past `timeout_s`, and at Ctrl-C, the process groups of those that are left are ended; the second is part of their
    results, and the caller decides what follows. If this process is killed, a keeper that outlives it ends the
    programs. A program that is not there gives NOT_STARTED. Raises OSError where a file cannot be written. Closing the
    generator ends what is left.
    """
    began = time.monotonic()
    running: dict[int, subprocess.Popen[bytes]] = {}
    with _mark() as mark:
        try:
            for place, command in enumerate(commands):
                process = _begun(command, mark, folder)
                if process is None:
                    yield place, Ended(returncode=NOT_STARTED, seconds=0.0)
                else:
                    running[place] = process
            timed_out = interrupted = False
            while running and not (timed_out or interrupted):
                try:
                    over = _next_end(running, began + timeout_s)
                except KeyboardInterrupt:
                    interrupted = True
                else:
                    timed_out = not over
                    for place in over:
                        yield place, _ended(running.pop(place), began)
            left = dict(running)
            _end(running)
            for place, process in left.items():
                ended = _ended(process, began)
                yield place, msgspec.structs.replace(ended, timed_out=timed_out, interrupted=interrupted)
        finally:
            _end(running)


def _begun(command: Command, mark: Mapping[str, str], folder: Path) -> "subprocess.Popen[bytes] | None":
    """The program, started; None where it is not there, which its file of errors says."""
    with _emptied(command.output) as out, _emptied(command.errors) as err:
        try:
            return spawn(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment({**command.environment, **mark, "PWD": str(folder)}),
                cwd=folder,
            )
        except OSError as error:
            err.write(f"{command.argv[0]}: {error.strerror}\n".encode())
            return None


def _next_end(running: Mapping[int, "subprocess.Popen[bytes]"], deadline: float) -> list[int]:
    """Wait until one of the programs has ended, or several; none at the deadline (time.monotonic)."""
    while True:
        over = [place for place, process in running.items() if process.poll() is not None]
        left_s = deadline - time.monotonic()
        if over or left_s <= 0:
            return over
        with contextlib.suppress(subprocess.TimeoutExpired):
            next(iter(running.values())).wait(left_s if len(running) == 1 else min(left_s, LOOK_S))


def _end(running: "dict[int, subprocess.Popen[bytes]]") -> None:
    """End the programs that still run, all at the same time as far as they end by themselves."""
    with contextlib.suppress(KeyboardInterrupt):  # once more, while the ranks are being ended
        for process in running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in running.values():
            end_group(process, GRACE_S)
    for process in running.values():
        end_group(process, 0.0)
    running.clear()


def _ended(process: "subprocess.Popen[bytes]", began: float) -> Ended:
    """How a program ended that is over now; `began`: when it was started, of time.monotonic."""
    code = process.returncode if process.returncode is not None else -9
    return Ended(returncode=code, seconds=time.monotonic() - began)


def _emptied(path: Path) -> IO[bytes]:
    return os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")


@contextmanager
def _mark() -> Iterator[Mapping[str, str]]:
    """A variable for the environment of a program, whose bearers are ended where this process does not come so far."""
    word = secrets.token_hex(8)
    keeper = Keeper([EndProcesses(words=(f"{MARK}={word}",), grace_s=GRACE_S)])
    try:
        yield {MARK: word}
    finally:
        keeper.dismiss()
