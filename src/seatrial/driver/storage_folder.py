"""The folder in which storage is tried: made before, removed afterwards, also what a killed run has left."""

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from seatrial.archive import lease, liveness
from seatrial.archive.layout import LEASE_FILE
from seatrial.archive.liveness import LATELY_S, Life
from seatrial.files.writing import new_folder
from seatrial.model.errors import UsageError

PREFIX = ".seatrial-storage-"
OURS = re.compile(re.escape(PREFIX) + r"[0-9a-f]{16}")
MOST_PATH_BYTES = 400
PATIENCE_S = 5.0
"""For ranks that still hold files: NFS keeps these under another name until they are closed."""
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


class StorageFolder:
    """A new folder in `parent`, with a lease that shows other runs that it is in use."""

    def __init__(self, parent: Path) -> None:
        """Remove what killed runs left there, and make the folder. Raises UsageError that says what is wrong."""
        self.path = parent / f"{PREFIX}{secrets.token_hex(8)}"
        check_name(parent)
        self.removed = remove_leftovers(parent)
        """Folders of killed runs that were removed."""
        self._hold: lease.Hold | None = None
        try:
            with new_folder(self.path, mode=0o700, parents=False):
                pass
            self._hold = lease.Hold(self.path, lease.Holder.DRIVER)
        except OSError as error:
            remove(self.path)
            raise UsageError(
                f"Storage cannot be tried in {parent}: {error.strerror}.", "Give another folder: --storage DIR."
            ) from None

    def remove(self) -> bool:
        """Remove it with all that ranks left in it; False where something of it is still there."""
        if self._hold is not None:
            self._hold.release()
        deadline = time.monotonic() + PATIENCE_S
        while not remove(self.path):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


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


def remove_leftovers(parent: Path) -> int:
    """Remove folders of this user's runs that no process uses any more; how many."""
    removed = 0
    with suppress(OSError):
        for entry in sorted(parent.iterdir()):
            if OURS.fullmatch(entry.name) and _abandoned(entry):
                removed += remove(entry)
    return removed


def remove(folder: Path) -> bool:
    """Remove a folder and the files in it, but nothing below another folder. True where it is gone."""
    with suppress(OSError):
        for entry in [*folder.iterdir()]:
            with suppress(OSError):
                entry.unlink()
    with suppress(OSError):
        folder.rmdir()
    return not os.path.lexists(folder)


def _abandoned(folder: Path) -> bool:
    """Whether it is a folder of this user whose run has ended. One without a lease is being made, or was long ago."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if not (folder / LEASE_FILE).exists():
        return abs(time.time() - status.st_mtime) > LATELY_S
    return liveness.presumed(folder).life is Life.CUT_OFF
