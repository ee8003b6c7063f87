"""The user's folders for what can be made again and for what cannot, as the XDG base directory specification has them.

Source: https://specifications.freedesktop.org/basedir-spec/latest/: a variable that is empty counts as not set, and a
path that is not absolute is to be ignored.
"""

import errno
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seatrial.files.trust import distrust
from seatrial.model.errors import LaunchError, UsageError


def cache_folder() -> Path:
    """$XDG_CACHE_HOME, else ~/.cache of $HOME, else of the passwd entry, else a private temporary folder.

    Raises LaunchError where that last one is not this user's alone.
    """
    return _folder("XDG_CACHE_HOME", ".cache") or private_folder(Path(tempfile.gettempdir()))


def state_folder() -> Path:
    """$XDG_STATE_HOME, else ~/.local/state of $HOME, else of the passwd entry. Raises UsageError without a home."""
    folder = _folder("XDG_STATE_HOME", ".local/state")
    if folder is None:
        raise UsageError("There is no home folder to keep runs in.", "Set HOME, or name a folder with --archive.")
    return folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this user's alone below $TMPDIR, else /tmp, which is removed at the end.

    Raises OSError, also where others could exchange it: programs are executed in it, and links of others followed.
    """
    above = tempfile.gettempdir()
    if why := distrust(Path(above), shared=True):
        raise PermissionError(errno.EPERM, f"temporary files are not safe there, since {why}; set TMPDIR", above)
    with tempfile.TemporaryDirectory(prefix="seatrial-", dir=above, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _folder(variable: str, below_home: str) -> Path | None:
    """What the variable names, else the folder below the user's home; None without a home."""
    named = os.environ.get(variable, "")
    if Path(named).is_absolute():
        return Path(named)
    home = os.environ.get("HOME", "")
    if not Path(home).is_absolute():
        home = _passwd_home()
    return Path(home) / below_home if home else None


def private_folder(above: Path) -> Path:
    """A folder of this user's in `above` that nobody else may put programs into, made if need be."""
    folder = above / f"seatrial-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise LaunchError(f"There is no home, and {folder} cannot be made: {error.strerror}.", REMEDY) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise LaunchError(f"There is no home, and {folder} is not this user's alone.", REMEDY)
    return folder


REMEDY = "Set HOME, or name a folder that all nodes see with --probe-dir."


def _passwd_home() -> str:
    """Empty where the user has no entry, or one whose home is not there (/nonexistent)."""
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""
    return home if Path(home).is_absolute() and Path(home).is_dir() else ""
