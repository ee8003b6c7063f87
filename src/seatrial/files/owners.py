"""Whose a file or folder is, and who else may write to it."""

import grp
import os
import pwd
import re
import stat
from pathlib import Path

ACL = "system.posix_acl_access"
"""An access list: with it the group's bits of a mode are those that any entry may have at most (acl(5))."""
USER_MAP = Path("/proc/self/uid_map")
MOUNTS = Path("/proc/self/mountinfo")
BY_USER = re.compile(r" - fuse\S* \S+ (?:\S+,)?user_id=(\d{1,20})| - fuse(?!ctl)")
"""FUSE, and who mounted it (mount.fuse(8))."""
OCTAL = re.compile(r"\\([0-7]{3})")

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
    return bool(status.st_mode & stat.S_IWGRP) and not (_is_private(status) and not _has_access_list(path))


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
    return [(fields[2], OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])) for fields in others]


def _is_private(status: os.stat_result) -> bool:
    """Whether the group of a file is its owner's alone: it has the owner's name, and no other user is in it."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    if (owner.pw_gid, owner.pw_name) != (group.gr_gid, group.gr_name) or set(group.gr_mem) - {owner.pw_name}:
        return False
    return all(user.pw_name == owner.pw_name for user in pwd.getpwall() if user.pw_gid == group.gr_gid)


def _has_access_list(path: Path | str) -> bool:
    try:
        return bool(os.getxattr(path, ACL))
    except OSError:
        return False
