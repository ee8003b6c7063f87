"""A folder takes the place of another one in one step, with files that both have and that are written once."""

import ctypes
import errno
import os
import stat
from pathlib import Path

from seatrial.files.owners import is_ours
from seatrial.files.writing import OwnFolder

EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2): both names exist at every moment."""
AT_FDCWD = -100


def second_name(present: OwnFolder, following: OwnFolder, name: str) -> None:
    """Give a file of one folder a second name (hard link) in another one. Raises OSError unless it is this user's."""
    status = os.stat(name, dir_fd=present.handle, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or not is_ours(status):
        raise OSError(errno.EPERM, "not a file of this user", name)
    os.link(name, name, src_dir_fd=present.handle, dst_dir_fd=following.handle, follow_symlinks=False)


def take_place(new: Path, folder: Path, old: Path | None) -> None:
    """Put the folder `new` in the place of `folder`, of which `old` is the name for as long as it is kept.

    `old`: None where there is nothing to keep. Readers find the one or the other; for a moment neither, where the file
    system cannot exchange two names. Raises OSError, and `folder` is then as it was.
    """
    if old is not None:
        if _exchanged(new, folder):
            return
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old is not None:
            old.rename(folder)
        raise


def _exchanged(first: Path, second: Path) -> bool:
    """Whether two folders exchanged their names in one step, see renameat2(2); false where that is not possible."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    names = (AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), EXCHANGE)
    return renameat2 is not None and renameat2(*names) == 0
