"""Starts other programs, always from an argv list and never through a shell."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from seatrial.process.exchange import KEPT_BYTES, Talk

NOT_STARTED = 127
"""As a shell says it of a program that is not there, or may not be started."""
LEFT_OVER_S = 1.0
"""For what an ended program had said and nobody had read yet."""


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """A program that ran to its end, or to its time-out (`returncode` is then negative)."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with success."""
        return self.returncode == 0 and not self.timed_out


RANK_OF = re.compile(r"PMIX_(?!MCA_)|PMI_(?:RANK|FD|SIZE|PORT|ID|JOBID|SPAWNED|KVS)")
"""Variables that show a process which rank of which step it is."""
STEERING = re.compile(
    r"S(?:INFO|QUEUE|CANCEL|CONTROL)_|SLURM_(?:LABELIO|MULTI_PROG|STD(?:IN|OUT|ERR)MODE)$|SBATCH_(?:WAIT|ARRAY_INX)$"
)
"""A user's habits for Slurm's commands: they would show us other jobs, cancel others or none, or write elsewhere."""
BINDING = re.compile(r"SLURM_(?:CPU|MEM)_BIND")
"""Set by srun for the tasks of a step, and read by the srun that one of them starts (srun(1))."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with `extra` laid over it.

    What makes it a rank is left out: inside a step of Slurm's an MPI started from here would take itself for the
    step's rank, and the step would be killed when it ends. So is what lets Slurm's commands do otherwise than asked,
    and how the step around us is bound (see `step_binding`), since ours need other cores than a shell.
    """
    left_out = {name for name in os.environ if RANK_OF.match(name) or STEERING.match(name)} | step_binding().keys()
    return {**{name: value for name, value in os.environ.items() if name not in left_out}, **(extra or {})}


def step_binding() -> dict[str, str]:
    """By which variables the step that this process is in, as under srun --pty, would bind the steps started in it."""
    if "SLURM_STEP_ID" not in os.environ:
        return {}
    return {name: value for name, value in os.environ.items() if BINDING.match(name)}


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str = "",
    extra_environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
    kept_bytes: int = KEPT_BYTES,
    give_up: Callable[[bool], bool] = lambda _: False,
) -> Completed:
    """Run `argv` to its end and return what it said; text is UTF-8 with foreign bytes replaced.

    The program gets its own process group, and past `timeout_s` the whole group is ended: terminated first, so that
    srun can take its tasks along, killed two seconds later. A program that is not there gives NOT_STARTED. What it
    says before its last `kept_bytes` is lost, and a daemon that it leaves behind is not waited for. `give_up` is asked
    now and then, with whether it has said anything on standard output; a yes ends it like one past its time.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(extra_environment),
            cwd=cwd,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        return Completed(argv=tuple(argv), returncode=NOT_STARTED, stdout="", stderr=f"{argv[0]}: {error.strerror}")
    talk = Talk(process, stdin.encode("utf-8", errors="replace"), kept_bytes)
    try:
        timed_out = not talk.until(time.monotonic() + timeout_s, give_up)
        if timed_out:
            end_group(process)
            talk.until(time.monotonic() + LEFT_OVER_S)
    except BaseException:
        end_group(process)
        talk.close()
        raise
    stdout, stderr = talk.close()
    return Completed(argv=tuple(argv), returncode=process.returncode, stdout=stdout, stderr=stderr, timed_out=timed_out)


def end_group(process: "subprocess.Popen[Any]", grace_s: float = 2.0) -> None:
    """End a program started in its own session, its children too: terminated first, killed after `grace_s`."""
    for step in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
            if step is signal.SIGKILL:
                return
