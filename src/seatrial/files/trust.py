"""Decides whose files may be executed: those that only this user and root can have written.

The rule is that of sshd's StrictModes (sshd_config(5)), with the private groups that Debian's ssh permits: the file and
every folder above belong to this user or root, and nobody else may write there. Every link on the way counts too.
"""

import errno
import os
import stat
from pathlib import Path

from seatrial.files.owners import is_by_another, is_known_user, others_may_write, user_name
from seatrial.files.reading import MOST_LINKS


def distrust(path: Path, *, shared: bool = False) -> str:
    """Why the contents of a file must not be executed, or a folder not be used for such files; empty: they may.

    Follows links as the kernel does, and examines each folder, each link and the file itself. A folder that others may
    write to is accepted above if it is sticky, as /tmp is: they cannot replace what is not theirs there. Whoever is
    trusted can change everything at any time, and nobody else can: so the answer still holds when the file is executed.

    `shared`: it is such a sticky folder itself, in which something is to be made.
    """
    waiting = [part for part in reversed(path.absolute().parts[1:]) if part != "."]
    try:
        place, above, links = Path("/"), Path("/").lstat(), 0
        why = _why_not(place, above, above, exposed=False)
        while waiting and not why:
            name = waiting.pop()
            step = place.parent if name == ".." else place / name
            status = step.lstat()
            if name != "..":
                why = _why_not(step, status, above, exposed=others_may_write(place, above))
            if not stat.S_ISLNK(status.st_mode):
                place, above = step, status
                continue
            target, links = step.readlink(), links + 1
            waiting += [part for part in reversed(target.parts) if part not in ("/", ".")]
            if target.is_absolute():
                place, above = Path("/"), Path("/").lstat()
            if links > MOST_LINKS:
                return f"{path} leads through more than {MOST_LINKS} links"
        return why or (_writers(place, above) if others_may_write(place, above) and not shared else "")
    except OSError as error:
        return f"{error.filename or path} cannot be examined: {error.strerror}"
    except ValueError:
        return f"{str(path)!r} is not a name of a file"


def make_trusted(folder: Path) -> None:
    """Make a folder of this user's alone, and those above it that are missing. Raises OSError, also for one that is
    there and that others can have exchanged: nothing is read, written or removed through a link of theirs.
    """
    missing = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    above = missing[-1].parent if missing else folder
    if why := distrust(above, shared=bool(missing)):
        raise PermissionError(errno.EPERM, why)
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
    if why := distrust(folder):
        raise PermissionError(errno.EPERM, why)


def _why_not(path: Path, status: os.stat_result, above: os.stat_result, *, exposed: bool) -> str:
    """Why one file, folder or link on the way is not trusted.

    `above`: of the folder that it is in; `exposed`: others may write there.
    """
    if not _is_trusted_owner(status.st_uid, exposed=exposed):
        return f"{path} belongs to {user_name(status.st_uid)}"
    if exposed and not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1:
        return f"{path} has another name, and others may have given it this one"
    if exposed and status.st_dev != above.st_dev and is_by_another(status.st_dev):
        return f"{path} is a file system that another user mounted there"
    if stat.S_ISLNK(status.st_mode):
        return ""
    if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
        return f"{path} is neither a file nor a folder"
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    return _writers(path, status) if others_may_write(path, status) and not sticky else ""


def _writers(path: Path, status: os.stat_result) -> str:
    return f"others than {user_name(status.st_uid)} may write to {path} (mode {stat.S_IMODE(status.st_mode):04o})"


def _is_trusted_owner(number: int, *, exposed: bool) -> bool:
    """This user, root, or whoever owns the root folder, who may replace every file anyway.

    In a user namespace the latter is how root of the machine appears, and any other user who is not known there:
    `exposed`, in a folder that others may write to, nobody is trusted for that.
    """
    if number == os.geteuid() and not is_known_user():
        return False
    return number in (0, os.geteuid()) or (not exposed and number == Path("/").stat().st_uid)
