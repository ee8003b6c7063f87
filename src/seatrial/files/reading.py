"""Opens files of a folder so that no link leads out of it, whatever others exchange there meanwhile."""

import contextlib
import errno
import os
import stat
from pathlib import Path, PurePath

from seatrial.files.owners import MOST_LINKS, user_name

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags for opening a file to read; O_NONBLOCK, since opening a pipe without a writer waits for ever otherwise."""


class LeadsOut(OSError):
    """A link leads out of the folder, or links form a loop."""


def open_given(path: Path, flags: int = FILE) -> int:
    """The descriptor of a file or folder that the user named; the folders above are followed as they are given.

    A link there that belongs to another user than root must lead to what belongs to that user, who could otherwise have
    this user read what is private, and publish it. The name is looked at once it is open: whoever exchanges it then
    leaves something there that is not what was opened. Raises OSError.
    """
    handle = os.open(path, flags)
    try:
        given, named = os.fstat(handle), os.lstat(path)
        owners = (0, os.geteuid(), given.st_uid) if stat.S_ISLNK(named.st_mode) else ()
        if named.st_uid not in owners and not os.path.samestat(given, named):
            why = f"it is a link of {user_name(named.st_uid)} to what is not theirs"
            raise PermissionError(errno.EPERM, why, str(path))
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_below(folder: Path, name: PurePath) -> int:
    """The descriptor of a file, or of whatever has that name below a folder, which is opened as `open_given` does.

    Each step is relative to the descriptor of the one before, and never follows a link: links are read, and followed
    here as far as they stay below the folder. Raises LeadsOut, OSError.
    """
    held = [open_given(folder, FOLDER)]
    waiting = [*reversed(name.parts)]
    links = 0
    try:
        while waiting:
            part = waiting.pop()
            if part == ".":
                continue
            if part == "..":
                _leave(held, folder / name)
                continue
            try:
                handle = os.open(part, (FOLDER if waiting else FILE) | os.O_NOFOLLOW, dir_fd=held[-1])
            except OSError as error:
                waiting += _steps(part, held[-1], error)
                links += 1
                if waiting[-1:] == ["/"] or links > MOST_LINKS:
                    raise _leads_out(folder / name) from error
                continue
            if not waiting:
                return handle
            held.append(handle)
        return os.dup(held[-1])
    finally:
        for handle in held:
            os.close(handle)


def _leave(held: list[int], path: Path) -> None:
    """One folder up, which a link may do as long as that is still below the first."""
    if len(held) == 1:
        raise _leads_out(path)
    os.close(held.pop())


def _steps(part: str, folder: int, error: OSError) -> list[str]:
    """The parts of the target of a link, the last one first. Raises the error for what is not a link."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        with contextlib.suppress(OSError):
            return [*reversed(PurePath(os.readlink(part, dir_fd=folder)).parts)]
    raise error


def _leads_out(path: Path) -> LeadsOut:
    return LeadsOut(errno.ELOOP, "it is a link that leads out of its folder, or in a circle", str(path))
