"""Commands of several users: carried out by a process of that user, which is forked from one that has loaded all."""

import functools
import hashlib
import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.second_user import folder_for_all

FIRST, SECOND = 65534, 1
"""Two users that are not root; nothing needs them in the password database."""
COMMANDS = """
import codecs, contextlib, importlib, io, json, os, pkgutil, sys, time
sys.path.insert(0, sys.argv[1])
import duckdb, numpy, numpy.ma, seatrial, tests.support.builders
for module in pkgutil.walk_packages(seatrial.__path__, "seatrial."):  # another user may not read this installation
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from seatrial.frame.command_line import run
with duckdb.connect() as connection:  # it ends its threads: a fork has none of them
    connection.sql("SELECT 1").fetchnumpy()
for encoding in ("ascii", "latin-1", "utf-16", "idna"):
    codecs.lookup(encoding)
with contextlib.redirect_stdout(io.StringIO()):
    run(["runs", "list", "--archive", os.devnull])
def carry_out(request):
    os.environ.clear()
    os.environ.update(request["environment"])
    os.umask(request["umask"])
    os.setgroups(request["groups"])
    os.setgid(request["user"])
    os.setuid(request["user"])
    done = []
    for line in request["lines"]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            began = time.monotonic()
            code = run(line)
        done.append([code, time.monotonic() - began, out.getvalue()])
    print(json.dumps(done), flush=True)
while request := sys.stdin.readline():
    child = os.fork()
    if not child:
        code = 1
        try:
            carry_out(json.loads(request))
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        print("[]", flush=True)
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that all users may enter, and a umask that lets them. Skips the test without root.

    The folders of pytest are private, and each start of pytest makes the one above them so again.
    """
    if os.geteuid():
        pytest.skip("only root can become another user")
    before = os.umask(0o022)
    with folder_for_all() as folder:
        yield folder
    os.umask(before)


def carried_out(
    user: int,
    lines: Sequence[Sequence[str]],
    home: Path,
    *,
    groups: Sequence[int] = (),
    umask: int = 0o022,
    cache: Path | None = None,
    timeout_s: float = 120.0,
) -> list[tuple[int, float, str]]:
    """Exit code, seconds and output of each command line. A command that hangs ends the test."""
    home.mkdir(exist_ok=True)
    os.chown(home, user, user)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"XDG_CACHE_HOME": str(cache)} if cache else {}
    request = {"environment": environment, "user": user, "umask": umask, "groups": list(groups),
               "lines": [list(line) for line in lines]}  # fmt: skip
    process = forking()
    assert process.stdin and process.stdout
    process.stdin.write(f"{json.dumps(request)}\n")
    process.stdin.flush()
    if not select.select([process.stdout], [], [], timeout_s)[0]:
        os.killpg(process.pid, signal.SIGKILL)
        forking.cache_clear()
        raise TimeoutError(f"no answer within {timeout_s:.0f} s")
    done = json.loads(process.stdout.readline())
    assert len(done) == len(lines), "the process of the other user ended before its commands did"
    return [(code, seconds, text) for code, seconds, text in done]


@functools.cache
def forking() -> "subprocess.Popen[str]":
    """The process that is forked; it ends with its input, when this process ends."""
    argv = [sys.executable, "-c", COMMANDS, str(ROOT)]
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", start_new_session=True
    )


def give(tree: Path, user: int, group: int | None = None) -> None:
    """Make a user the owner of a folder and all that is in it; of links themselves."""
    for path in (tree, *tree.rglob("*")):
        os.chown(path, user, user if group is None else group, follow_symlinks=False)


def snapshot(tree: Path) -> dict[str, tuple[object, ...]]:
    """What a folder holds: kind, owner, time of change and content of everything in it, by path."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted((tree, *tree.rglob("*"))):
        status = path.lstat()
        content = ""
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        found[str(path.relative_to(tree))] = (
            status.st_mode, status.st_uid, status.st_gid, status.st_ino, status.st_mtime_ns, status.st_size, content,
        )  # fmt: skip
    return found
