"""The folder in which storage is tried: what it may be, on what it lies, and how much may be written there."""

import os
import re
from contextlib import suppress
from pathlib import Path

from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.model.errors import UsageError

MOST_PATH_BYTES = 400
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def make_storage_folder(parent: Path) -> WorkingFolder:
    """A new folder in `parent`, in which storage is tried. Raises UsageError that says what is wrong."""
    check_name(parent)
    try:
        return WorkingFolder(parent, Use.STORAGE)
    except OSError as error:
        raise UsageError(
            f"Storage cannot be tried in {parent}: {error.strerror}.", "Give another folder: --storage DIR."
        ) from None


def check_name(folder: Path) -> None:
    """Refuse a path that the probe's protocol cannot carry. Raises UsageError that shows it."""
    text = str(folder)
    plain = text.isascii() and text.isprintable() and not set(text) & {'"', "\\"}
    if not plain or len(text) > MOST_PATH_BYTES:
        raise UsageError(
            f"Storage cannot be tried in {text!r}: the path must have at most {MOST_PATH_BYTES} ASCII characters, "
            "without quotes and backslashes.",
            "Give another folder: --storage DIR.",
        )


def free_bytes(folder: Path) -> int:
    """What this user may still write there. Raises UsageError where the file system does not say it."""
    try:
        status = os.statvfs(folder)
    except OSError as error:
        raise UsageError(
            f"Storage cannot be tried in {folder}: {error.strerror}.", "Give another folder: --storage DIR."
        ) from None
    return status.f_bavail * status.f_frsize


def kind_of(folder: Path, mounts: str) -> str:
    """The kind of file system of a folder, from the text of /proc/self/mounts; empty where that does not say it."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), words[1]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), words[2]
    return kind


def in_memory(folder: Path) -> bool:
    """Whether what is written there stays in the memory of this machine."""
    with suppress(OSError):
        return kind_of(folder.resolve(), Path("/proc/self/mounts").read_text(errors="replace")) in IN_MEMORY
    return False
