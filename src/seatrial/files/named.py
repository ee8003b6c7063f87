"""Writes files that the command line names, which may be links of this user's own, or pipes that are read."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from seatrial.files.owners import MOST_LINKS, user_name
from seatrial.files.writing import DESCRIPTORS, Foreign, descriptor_path, opened_directory, refuse_other_names

WRITTEN = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def named_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that the command line names, open for writing; it is emptied if the block fails: half of it helps nobody.

    Raises what `open_named` does, OSError.
    """
    handle = open_named(path)
    try:
        with os.fdopen(os.dup(handle), "wb") as stream:
            yield stream
    except BaseException:
        with contextlib.suppress(OSError):  # a pipe
            os.ftruncate(handle, 0)
        raise
    finally:
        os.close(handle)


def open_named(path: Path) -> int:
    """The descriptor of a file that the command line names, emptied, for writing; it may be a pipe that is read.

    Raises OSError; Foreign for a link, a pipe or a second name (hard link) that another user than root put there, and
    for a file of another user in a folder with the sticky bit.
    """
    handle = _followed(path)
    try:
        status = os.fstat(handle)
        regular = stat.S_ISREG(status.st_mode)
        shell = str(descriptor_path(handle).readlink()).startswith("pipe:")  # it has no name: `>(less)`, `| less`
        pipe = stat.S_ISFIFO(status.st_mode) and not shell
        if pipe and status.st_uid not in _trusted():
            raise Foreign(1, "it is a pipe of another user")
        if regular:
            os.ftruncate(handle, 0)
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _followed(path: Path) -> int:
    """The descriptor of a file, opened or created, with the links in its place followed that this user or root owns.

    Each link is examined and read by its own descriptor: nobody can put another one in its place meanwhile. Links of
    /proc are the kernel's, which follows them.
    """
    for _ in range(MOST_LINKS):
        with opened_directory(path.parent) as folder:
            try:
                return _opened_in(folder, path.name)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
            if os.fstat(folder).st_dev == DESCRIPTORS.stat().st_dev:
                return os.open(path.name, WRITTEN, dir_fd=folder)
            link = os.open(path.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                status = os.fstat(link)
                if stat.S_ISLNK(status.st_mode):  # else it was replaced just now
                    if status.st_uid not in _trusted():
                        raise Foreign(1, f"it is a link of {user_name(status.st_uid)}")
                    path = path.parent / os.readlink("", dir_fd=link)
            finally:
                os.close(link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _opened_in(folder: int, name: str) -> int:
    """The descriptor of a file, opened or created. Raises OSError, Foreign where the name is one of several.

    The name is looked at once it is open: whoever gave somebody's file a second name has to leave it there.
    """
    handle = os.open(name, WRITTEN | os.O_CREAT | os.O_NOFOLLOW, 0o666, dir_fd=folder)
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
