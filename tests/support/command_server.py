"""Runs commands in processes of their own, which are forked from one that has loaded the program.

A process that starts Python and loads the program takes half a second of processor time; most commands of tests take a
hundredth of that. A forked process has its own memory limit, folder, environment and output, and can be killed.
"""

import functools
import importlib
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from tests.support.paths import ROOT

TIMEOUT_S = 120.0
PRELOADED = (
    "seatrial.frame.command_line", "seatrial.archive.reader", "seatrial.archive.listing", "seatrial.archive.recovery",
    "seatrial.fabric.map_check", "seatrial.commands.judge.pairs.view", "seatrial.render.text", "seatrial.render.html",
)  # fmt: skip
"""With what they import. Modules that are missing here are loaded by the commands that need them."""


class Server:
    """The process that is forked. `variables`: what it needs at its start, such as those of the locale."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **variables},
        )  # ended by the end of its input, when this process ends

    def run(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        memory_bytes: int = resource.RLIM_INFINITY,
    ) -> subprocess.CompletedProcess[str]:
        """Carry out `seatrial WORDS` in the folder. Raises TimeoutExpired where it blocks; then all are killed."""
        assert self._process.stdin
        assert self._process.stdout
        with _any_text() as output, _any_text() as errors:
            streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (output, errors)]
            request = {"words": list(words), "folder": str(folder), "environment": dict(environment),
                       "streams": streams, "memory_bytes": memory_bytes}  # fmt: skip
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], TIMEOUT_S)[0]:
                self._process.kill()
                server.cache_clear()
                raise subprocess.TimeoutExpired(list(words), TIMEOUT_S)
            code = int(self._process.stdout.readline())
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(list(words), code, output.read(), errors.read())


def _any_text() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape")


@functools.cache
def server(**variables: str) -> Server:
    """The only one of this process that was started with these variables."""
    return Server(variables)


def serve() -> None:
    """Fork a process for each line of the input, and print the exit code with which it ends."""
    for name in PRELOADED:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            carry_out(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


def carry_out(request: dict[str, Any]) -> NoReturn:
    """Become the command."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, path in enumerate(request["streams"], 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"],) * 2)
    sys.argv = ["seatrial", *request["words"]]
    from seatrial.frame.entry import main

    main()


if __name__ == "__main__":
    serve()
