"""Cancels the jobs of this program if it is killed and cannot do so itself."""

import contextlib
import secrets
import subprocess
from collections.abc import Callable, Sequence

from seatrial.process.process import end_group, environment

WAITING = """
trap "" INT HUP
waits_for=$1
shift
cat >/dev/null
left=60
until "$@" || [ "$left" = 0 ]; do
    left=$((left - 1))
    sleep 5
done
sleep 3
"$@"
left=5
while pgrep -f -- "$waits_for" >/dev/null 2>&1; do
    [ "$left" = 0 ] && exec pkill -KILL -f -- "$waits_for"
    left=$((left - 1))
    sleep 1
done
"""
"""The end of standard input is the end of whoever holds its other end, however that came about.

A controller that is just restarting is asked until it hears; and once more, since a job that was asked for at
the last moment comes into the queue after that. The program that asked for the job ends by itself once it is gone;
one that hangs at its end is killed.
"""


class Keeper:
    """A small process that outlives this one by as long as it takes to cancel its jobs.

    It knows them by a name that no other job has, since a job may be granted when nobody is left to read its number.
    `cancel` makes the command that cancels all jobs of a name. `asking` makes the regular expression that matches the
    arguments of a program that asked for a job of that name, and does not match itself, since the keeper has it among
    its own.
    """

    def __init__(self, cancel: Callable[[str], Sequence[str]], asking: Callable[[str], str]) -> None:
        self.name = f"seatrial-{secrets.token_hex(4)}"
        argv = ["sh", "-c", WAITING, "seatrial-keeper", asking(self.name), *cancel(self.name)]
        self._process: subprocess.Popen[bytes] | None = None
        self._released = False
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

    def release(self) -> None:
        """Let it cancel now what there may be, and outlive us if need be."""
        self._released = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def dismiss(self) -> None:
        """There is nothing left to cancel; one that was released goes on."""
        if self._process is not None and not self._released:
            end_group(self._process)
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None
