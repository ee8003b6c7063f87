"""Opens files of a folder so that no link leads out of it, whatever others exchange there meanwhile."""

import contextlib
import errno
import os
from pathlib import Path, PurePath

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a pipe without a writer waits for ever."""
MOST_LINKS = 40
"""As many as Linux follows for one path (path_resolution(7))."""


class LeadsOut(OSError):
    """A link leads out of the folder, or links form a loop."""


def open_below(folder: Path, name: PurePath) -> int:
    """The descriptor of a file, or of whatever has that name below a folder, whose own path is followed as it is given.

    Each step is relative to the descriptor of the one before, and never follows a link: links are read, and followed
    here as far as they stay below the folder. Raises LeadsOut, OSError.
    """
    held = [os.open(folder, FOLDER)]
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
