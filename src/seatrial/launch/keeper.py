"""Gives an allocation back where the program that holds it is killed, and cannot do so itself."""

import contextlib
import secrets
import subprocess

from seatrial.launch import slurm_argv
from seatrial.launch.process import end_group, environment
from seatrial.launch.queue import this_user

WAITING = 'trap "" INT HUP; cat >/dev/null; exec "$@"'
"""The end of standard input is the end of whoever holds its other end, however that came about."""


class Keeper:
    """A small process that outlives this one by as long as it takes to cancel its jobs.

    It knows them by a name that no other job has, since a job may be granted when nobody is left to read its number.
    """

    def __init__(self) -> None:
        self.name = f"seatrial-{secrets.token_hex(4)}"
        argv = ["sh", "-c", WAITING, "seatrial-keeper", *slurm_argv.cancel_named(self.name, this_user())]
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without it things are as they are with any other program
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """There is nothing left to cancel."""
        if self._process is not None:
            end_group(self._process)
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None
