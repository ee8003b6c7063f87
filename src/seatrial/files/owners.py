"""Whose a file or folder is, who may write to it, and opening files so that no link leads out of a folder."""

import contextlib
import errno
import grp
import os
import pwd
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.words import unescaped

MOST_LINKS = 40
"""Symbolic links that Linux follows for one path at most (path_resolution(7))."""
ACL = "system.posix_acl_access"
"""An access list: with it the group's bits of a mode are those that any entry may have at most (acl(5))."""
USER_MAP = Path("/proc/self/uid_map")
MOUNTS = Path("/proc/self/mountinfo")
BY_USER = re.compile(r" - fuse\S* \S+ (?:\S+,)?user_id=(\d{1,20})| - fuse(?!ctl)")
"""FUSE, and who mounted it (mount.fuse(8))."""

_owner_on: dict[int, int] = {}
"""Device -> owner that its file server gives to what this user creates, where it is another one (root_squash)."""


def is_own(path: Path | str) -> bool:
    """Whether a file or folder, and no link, belongs to this user, who may write there."""
    return _own_status(path) is not None


def is_own_alone(path: Path | str) -> bool:
    """Whether it is this user's own, and nobody else may write to it either: then what it says may be executed.

    A file server that gives this user's files to another one (root_squash) does not say whose they are.
    """
    status = _own_status(path)
    alone = status is not None and status.st_uid == os.geteuid() and not others_may_write(path, status)
    return alone and is_known_user()


def is_own_or_roots(path: Path | str) -> bool:
    """Whether only this user or root can have made a file or folder; false for a link."""
    status = _plain_status(path)
    return status is not None and (is_ours(status) or status.st_uid == 0)


def is_ours(status: os.stat_result) -> bool:
    """Whether what has this status belongs to this user, or to whom a file server gives this user's files."""
    return status.st_uid in (os.geteuid(), _owner_on.get(status.st_dev))


def note_owner(folder: os.stat_result, made: os.stat_result) -> None:
    """Remember whose the file server says that a folder of this user's is; `made`: what was just made in it."""
    if made.st_uid == folder.st_uid:
        _owner_on[folder.st_dev] = made.st_uid


def others_may_write(path: Path | str, status: os.stat_result) -> bool:
    """Whether anybody but the owner may write: not through the group that an owner has alone."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not (_is_private(status) and not has_access_list(path))


def is_known_user() -> bool:
    """Whether this user exists in its user namespace; if not, every unknown owner looks like this user."""
    try:
        rows = [[int(word) for word in line.split()] for line in USER_MAP.read_bytes().splitlines()]
    except (OSError, ValueError):
        return True
    return any(first <= os.geteuid() < first + length for first, _, length in rows)


def owner_of(path: Path, *, follow: bool = True) -> str:
    """The name of the owner, or the number where it has none; empty where the file or folder cannot be seen."""
    try:
        return user_name(path.stat(follow_symlinks=follow).st_uid)
    except OSError:
        return ""


def user_name(number: int) -> str:
    """The name of a user, or the number where it has none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _own_status(path: Path | str) -> os.stat_result | None:
    """The status of what is this user's; None for anything else, and where there is nothing."""
    status = _plain_status(path)
    return status if status is not None and is_ours(status) else None


def _plain_status(path: Path | str) -> os.stat_result | None:
    """The status of a file or folder; None for a link, and where another user's program says whose it is."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return status if plain and not is_by_another(status.st_dev) else None


def is_by_another(device: int) -> bool:
    """Whether a device is a file system in user space (FUSE) of another user than root, whose program says who owns
    a file.
    """
    if os.major(device):  # of a disk
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(mounted == number for mounted, _ in _mounted_by_others())


def entries(folder: Path) -> list[Path]:
    """What is in a folder that others share, but what another user mounted something in: its program may never answer.

    Empty where there is no folder. Raises OSError.
    """
    real = os.path.realpath(folder)
    if not os.path.isdir(real):  # noqa: PTH112 - as it was resolved
        return []
    mounts = [os.path.relpath(point, real) for _, point in _mounted_by_others() if point.startswith(f"{real}/")]
    silent = {point.partition("/")[0] for point in mounts}
    return [folder / name for name in os.listdir(folder) if name not in silent]  # noqa: PTH208 - names alone are wanted


def _mounted_by_others() -> list[tuple[str, str]]:
    """Device and place of each file system in user space of another user than root (proc(5), mountinfo)."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    mounts = [(line.split(), match) for line in lines if (match := BY_USER.search(line))]
    others = [fields for fields, match in mounts if int(match[1] or -1) not in (0, os.geteuid())]
    return [(fields[2], unescaped(fields[4])) for fields in others]


def _is_private(status: os.stat_result) -> bool:
    """Whether the group of a file is its owner's alone: it has the owner's name, and no other user is in it."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    if (owner.pw_gid, owner.pw_name) != (group.gr_gid, group.gr_name) or set(group.gr_mem) - {owner.pw_name}:
        return False
    return all(user.pw_name == owner.pw_name for user in pwd.getpwall() if user.pw_gid == group.gr_gid)


def has_access_list(path: Path | str | int) -> bool:
    """Whether a file, open or by its path, has an access list beside its mode."""
    try:
        return bool(os.getxattr(path, ACL))
    except OSError:
        return False


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
