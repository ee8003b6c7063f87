"""Starts other programs, always from an argv list and never through a shell; and blocks that no signal breaks off."""

import contextlib
import math
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import IO, Any

import msgspec

from seatrial.model.errors import LaunchError
from seatrial.process.exchange import KEPT_BYTES, PipeExchange

NOT_STARTED = 127
"""A shell's exit status for a program that is not there, or may not be started."""
LEFT_OVER_S = 1.0
"""Seconds for reading what a program had written before its end and nobody had read yet."""
WATCH_S = 0.25
GRACE_S = 1.0
"""A daemon that a program leaves behind may hold its outputs open: they are closed this long after its end."""


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
    """Variables by which this process's own step, as under srun --pty, would bind the steps started in it."""
    if "SLURM_STEP_ID" not in os.environ:
        return {}
    return {name: value for name, value in os.environ.items() if BINDING.match(name)}


def own_program() -> tuple[str, ...]:
    """The words that start this program once more, with the same Python.

    `-P` keeps the current folder off Python's path: whoever may write to that folder could otherwise put a module
    there that is executed in place of an installed one. `-I`, where this process has it, also ignores PYTHONPATH.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", "-m", "seatrial")


def python_program(*words: str) -> tuple[str, ...]:
    """The words that start a program of ours (a file, or `-c` and its text) that needs the standard library alone."""
    return (sys.executable, "-I", "-S", *words)


def start(
    argv: Sequence[str],
    stderr: "IO[bytes] | int" = subprocess.PIPE,
    extra_environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own; its input and output are pipes. Raises OSError."""
    return spawn(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(extra_environment),
        cwd=cwd,
        bufsize=0,
    )


def limit_own_memory(most_bytes: int) -> None:
    """Let this process have no more memory, so that it fails and not the machine; programs that it starts may."""
    _own_limit[:] = [most_bytes]
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, USUAL[1]))


def spawn(argv: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - of Popen
    """Start a program in a session of its own, with the limits that this process was started with. Raises OSError."""
    if _own_limit:
        resource.setrlimit(resource.RLIMIT_DATA, USUAL)
    try:
        return subprocess.Popen(list(argv), start_new_session=True, **options)
    finally:
        for most_bytes in _own_limit:
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, USUAL[1]))


USUAL = resource.getrlimit(resource.RLIMIT_DATA)
_own_limit: list[int] = []
"""The limit of this process's memory, once it is limited."""


def not_started(argv: Sequence[str], error: OSError) -> LaunchError:
    """The error for a program that cannot be started."""
    return LaunchError(f"{argv[0]} cannot be started: {error.strerror}.")


def pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output of a program that `start` has started."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - `start` asks for them
    return process.stdin, process.stdout


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
    """Run `argv` to its end and return its output; text is UTF-8 with foreign bytes replaced, line ends made alike.

    The program gets its own process group, and past `timeout_s` the whole group is ended: terminated first, so that
    srun can take its tasks along, killed two seconds later. A program that is not there gives NOT_STARTED. What it
    writes before its last `kept_bytes` is lost, and a daemon that it leaves behind is not waited for. `give_up` is
    asked every `WATCH_S` at least, with whether it has written to standard output; a yes ends it like one past its
    time.
    """
    try:
        process = start(argv, extra_environment=extra_environment, cwd=cwd)
    except OSError as error:
        return Completed(argv=tuple(argv), returncode=NOT_STARTED, stdout="", stderr=f"{argv[0]}: {error.strerror}")
    assert process.stderr is not None  # noqa: S101 - it was asked for
    input_, output = pipes(process)
    exchange = PipeExchange([output, process.stderr], kept_bytes)
    exchange.feed(input_, stdin.encode("utf-8", errors="replace"))
    try:
        timed_out = not _ended(process, exchange, time.monotonic() + timeout_s, give_up)
        if timed_out:
            end_group(process)
            _ended(process, exchange, time.monotonic() + LEFT_OVER_S)
    except BaseException:
        end_group(process)
        raise
    finally:
        exchange.close()
    stdout, stderr = (_text(received[-kept_bytes:]) for received in exchange.received.values())
    return Completed(argv=tuple(argv), returncode=process.returncode, stdout=stdout, stderr=stderr, timed_out=timed_out)


def _ended(
    process: "subprocess.Popen[bytes]",
    exchange: PipeExchange,
    deadline: float,
    give_up: Callable[[bool], bool] = lambda _: False,
) -> bool:
    """Let it go on until it has ended; False at the deadline (time.monotonic), and where `give_up` says so."""
    _, output = pipes(process)
    grace_over = math.inf

    def answer() -> bool | None:
        nonlocal grace_over
        if exchange.over:
            return True
        if grace_over == math.inf and process.poll() is not None:
            grace_over = time.monotonic() + GRACE_S
        if time.monotonic() > grace_over:
            return True
        return False if grace_over == math.inf and give_up(bool(exchange.received[output])) else None

    if exchange.until(answer, deadline, WATCH_S) is False:
        return False
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(deadline - time.monotonic(), 0.0))
    return process.poll() is not None


def _text(output: bytearray) -> str:
    return output.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def end_group(process: "subprocess.Popen[Any]", grace_s: float = 2.0) -> None:
    """End a program started in its own session, its children too: terminated first, killed after `grace_s`."""
    for step in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
            if step is signal.SIGKILL:
                return


INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM)
"""Signals whose handlers raise something: those that end a command, that of `qualify`, and that of a time limit."""


@contextlib.contextmanager
def unbroken(*, wanted: bool = True) -> Iterator[None]:
    """A block that an interrupt does not break off: it is raised when the block has ended, a second one at once."""
    handlers = {number: handler for number in INTERRUPTS if callable(handler := signal.getsignal(number))}
    if not wanted or threading.current_thread() is not threading.main_thread():
        handlers = {}
    came: list[BaseException] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        try:
            handlers[signal.Signals(number)](number, frame)
        except BaseException as interrupt:
            if came:
                raise
            came.append(interrupt)

    for number in handlers:
        signal.signal(number, put_off)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise came[0]
