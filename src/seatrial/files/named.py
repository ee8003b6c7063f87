"""Writes files that the command line names, which may be links of this user's own, or pipes that are read."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from seatrial.files.owners import MOST_LINKS, has_access_list, is_ours, user_name
from seatrial.files.writing import (
    DESCRIPTORS,
    Foreign,
    descriptor_path,
    opened_directory,
    refuse_other_names,
    whole_file,
)

WRITTEN = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def named_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that the command line names, open for writing. It gets its name when the block ends without an error.

    Until then a file of this user's that has the name stays as it was. What no new file can take the place of, such as
    a pipe, a device or a file of another user, is written as it is, and emptied if the block fails: half of it helps
    nobody.

    Raises OSError; Foreign for a link, a pipe or a second name (hard link) that another user than root put there, and
    for a file of another user in a folder with the sticky bit.
    """
    with _followed(path) as (folder, name, handle):
        if handle is None or _may_be_replaced(folder, handle):
            writing = _beside(folder, name, handle)
        else:
            writing = _as_it_is(handle)
        with writing as stream:
            yield stream


def _may_be_replaced(folder: int, handle: int) -> bool:
    """Whether a new file can take the place of the open one.

    Not in a folder that may not be written to, of what is mounted in its place, and of a file with an access list.
    """
    file, above = os.fstat(handle), os.fstat(folder)
    plain = stat.S_ISREG(file.st_mode) and is_ours(file) and file.st_dev == above.st_dev
    writable = os.access(".", os.W_OK | os.X_OK, dir_fd=folder, effective_ids=True)
    return plain and writable and not has_access_list(handle)


@contextmanager
def _beside(folder: int, name: str, handle: int | None) -> Iterator[IO[bytes]]:
    """A new file, which takes the place of the open one with its group and mode: nobody else may read it."""
    before = None if handle is None else os.fstat(handle)
    mode = 0o666 if before is None else stat.S_IMODE(before.st_mode) & 0o777
    with whole_file(folder, name, mode, through=True) as stream:
        if before is not None:
            with contextlib.suppress(OSError):
                os.fchown(stream.fileno(), -1, before.st_gid)
            same = os.fstat(stream.fileno()).st_gid == before.st_gid
            os.fchmod(stream.fileno(), mode if same else mode & ~stat.S_IRWXG)
        yield stream


@contextmanager
def _as_it_is(handle: int) -> Iterator[IO[bytes]]:
    """The open file itself, or a pipe that is read. Raises Foreign for a pipe of another user."""
    status = os.fstat(handle)
    shell = str(descriptor_path(handle).readlink()).startswith("pipe:")  # it has no name: `>(less)`, `| less`
    if stat.S_ISFIFO(status.st_mode) and not shell and status.st_uid not in _trusted():
        raise Foreign(1, "it is a pipe of another user")
    if stat.S_ISREG(status.st_mode):
        os.ftruncate(handle, 0)
    os.set_blocking(handle, True)
    try:
        with os.fdopen(os.dup(handle), "wb") as stream:
            yield stream
    except BaseException:
        with contextlib.suppress(OSError):  # a pipe
            os.ftruncate(handle, 0)
        raise


@contextmanager
def _followed(path: Path) -> Iterator[tuple[int, str, int | None]]:
    """The folder and the name of a file, and the file open for writing; None: there is nothing yet.

    Links in its place are followed that this user or root owns. Each is examined and read by its own descriptor: nobody
    can put another one in its place meanwhile. Links of /proc are the kernel's, which follows them.
    """
    for _ in range(MOST_LINKS):
        with opened_directory(path.parent) as folder, contextlib.ExitStack() as held:
            try:
                handle = _opened_in(folder, path.name or ".")
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                if os.fstat(folder).st_dev != DESCRIPTORS.stat().st_dev:
                    path = path.parent / _target(folder, path.name)
                    continue
                handle = os.open(path.name, WRITTEN, dir_fd=folder)
            if handle is not None:
                held.callback(os.close, handle)
            yield folder, path.name, handle
            return
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _target(folder: int, name: str) -> str:
    """The target of a link, which this user or root owns. Raises Foreign, OSError."""
    link = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(link)
        if not stat.S_ISLNK(status.st_mode):  # it was replaced just now
            return name
        if status.st_uid not in _trusted():
            raise Foreign(1, f"it is a link of {user_name(status.st_uid)}")
        return os.readlink("", dir_fd=link)
    finally:
        os.close(link)


def _opened_in(folder: int, name: str) -> int | None:
    """The descriptor of a file; None without one. Raises OSError, Foreign where the name is one of several.

    The name is looked at once it is open: whoever gave somebody's file a second name has to leave it there.
    """
    try:
        handle = os.open(name, WRITTEN | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        refuse_other_names(handle, name, folder)
        _refuse_planted(os.fstat(handle), os.fstat(folder))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _refuse_planted(file: os.stat_result, folder: os.stat_result) -> None:
    """Raise Foreign for a file that somebody may have put into a folder for all to read what is written there.

    The rule is that of Linux (fs.protected_regular, which not every system has switched on).
    """
    for_all = folder.st_mode & stat.S_ISVTX and folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if stat.S_ISREG(file.st_mode) and for_all and file.st_uid not in (*_trusted(), folder.st_uid):
        raise Foreign(1, f"it is a file of {user_name(file.st_uid)} in a folder for all")


def _trusted() -> tuple[int, ...]:
    return 0, os.geteuid()
