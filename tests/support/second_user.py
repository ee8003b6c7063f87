"""Real user ids for tests of who may do what: an action in a forked child that has become another user."""

import os
import pickle
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import pytest

OTHER, THIRD = 54321, 54322
"""Users without a name, and without anything of theirs on this machine."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
_Answer = TypeVar("_Answer")


def as_user(number: int, action: Callable[[], _Answer]) -> _Answer:
    """The answer of `action` as another user, in a child; its exception, as text, fails the test."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            answer: tuple[bool, object] = (True, action())
        except BaseException:
            answer = (False, traceback.format_exc())
        with os.fdopen(writer, "wb") as stream:
            stream.write(pickle.dumps(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        content = stream.read()
    os.waitpid(child, 0)
    done, given = pickle.loads(content)  # noqa: S301 - our own child's
    assert done, given
    return cast(_Answer, given)


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder in /tmp that every user can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="seatrial-users-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
