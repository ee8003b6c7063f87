"""A small process that outlives this one, and then does what this one cannot do any more.

It cancels jobs, ends programs, restores settings: a list of duties in their order, which may be replaced at any time.
"""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.model.errors import LaunchError
from seatrial.process import after_driver
from seatrial.process.process import environment, python_program, spawn

NAME = "seatrial-keeper"
"""A name among the keeper's arguments, for whoever looks at a list of processes."""
MARK = "SEATRIAL_STARTED_BY"
"""A variable in the environment of programs that the keeper is to end; a keeper itself never has it."""
DISMISSED_S = 2.0


class KeeperCommand(msgspec.Struct, frozen=True, kw_only=True, tag="command"):
    """A program that is run until it succeeds, `tries` times at most."""

    argv: tuple[str, ...]
    tries: int = 1
    pause_s: float = 5.0
    """Between two tries."""
    after_s: float = 0.0
    """Time that passes before the first one."""
    timeout_s: float = 300.0
    """Time for one of them."""
    needed: bool = False
    """If it fails, the duties behind it are left undone."""


class EndProcesses(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """End this user's processes on this machine that have one of the words among their arguments or variables."""

    words: tuple[str, ...]
    """Whole arguments, or variables with their values: `NAME=value`."""
    patience_s: float = 0.0
    """Time to end by themselves, before SIGTERM."""
    grace_s: float = 2.0
    """Time between SIGTERM and SIGKILL."""
    needed: bool = False


Duty = KeeperCommand | EndProcesses


class Keeper:
    """Carries out the last list of duties that it was given, once this process has ended in whatever way.

    It has a session of its own and is deaf to SIGINT, SIGTERM and SIGHUP. The end of a pipe whose other end only this
    process has is its sign that this process is no more.
    """

    def __init__(self, duties: Sequence[Duty] = ()) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._released = False
        with contextlib.suppress(LaunchError):  # without it things are as they are with any other program
            self.take(duties)

    def take(self, duties: Sequence[Duty]) -> None:
        """Replace the list; a keeper that was killed is started again. Raises LaunchError where there can be none.

        The list is in force when this returns: what is in the pipe is read even if this process ends at once.
        """
        line = msgspec.json.encode(duties) + b"\n"
        for _ in range(2):
            if self._process is None or self._process.poll() is not None:
                self._start()
            if self._write(line):
                return
        raise LaunchError("The process that restores settings and cancels jobs ends at once.", "Run the command again.")

    def release(self) -> None:
        """Let it carry out its duties now, and outlive us if need be."""
        self._released = True
        self._close()

    def dismiss(self) -> None:
        """Nothing is left to do; one that was released goes on."""
        if self._process is None or self._released:
            return
        self._write(b"[]\n")
        self._close()
        try:
            self._process.wait(DISMISSED_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _start(self) -> None:
        self._close()
        program = str(Path(after_driver.__file__).absolute())
        try:
            self._process = spawn(
                python_program(program, NAME),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in environment().items() if name != MARK},
                cwd="/",
                bufsize=0,
            )
        except OSError as error:
            raise LaunchError(f"{python_program()[0]} cannot be started: {error.strerror}.") from error

    def _write(self, line: bytes) -> bool:
        """Whether all of it is in the pipe, and somebody is there to read it."""
        assert self._process is not None and self._process.stdin is not None  # noqa: S101 - just started
        handle = self._process.stdin.fileno()
        try:
            while line:
                line = line[os.write(handle, line) :]
        except OSError:
            return False
        return self._process.poll() is None

    def _close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
