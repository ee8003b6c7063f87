"""Runs a program whose output goes straight into files, so that what it printed survives whatever ends us."""

import contextlib
import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from seatrial.files.writing import open_own
from seatrial.process.keeper import MARK, EndProcesses, Keeper
from seatrial.process.process import NOT_STARTED, end_group, environment, spawn

GRACE_S = 10.0
"""Seconds for a launcher that ends its ranks, which may write files at their end."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. `returncode` is negative for a signal."""

    returncode: int
    seconds: float
    timed_out: bool = False
    interrupted: bool = False


def run_into(
    argv: Sequence[str],
    *,
    output: Path,
    errors: Path,
    timeout_s: float,
    folder: Path,
    extra_environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run `argv` in `folder` to its end; standard output and error go to the two files.

    Past `timeout_s`, and at Ctrl-C, its whole process group is ended; the second is part of the result, and the caller
    decides what follows. If this process is killed, a keeper that outlives it ends the program. A program that is not
    there gives NOT_STARTED. Raises OSError where a file cannot be written.
    """
    began = time.monotonic()
    with _emptied(output) as out, _emptied(errors) as err, _mark() as mark:
        try:
            process = spawn(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment({**(extra_environment or {}), **mark, "PWD": str(folder)}),
                cwd=folder,
            )
        except OSError as error:
            err.write(f"{argv[0]}: {error.strerror}\n".encode())
            return Ended(returncode=NOT_STARTED, seconds=0.0)
        timed_out = interrupted = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if process.poll() is None:
                with contextlib.suppress(KeyboardInterrupt):  # once more, while the ranks are being ended
                    end_group(process, GRACE_S)
                end_group(process, 0.0)
    return Ended(
        returncode=process.returncode if process.returncode is not None else -9,
        seconds=time.monotonic() - began,
        timed_out=timed_out,
        interrupted=interrupted,
    )


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
