"""A slow file system (FUSE): what is written to a journal gets to the folder behind it in two halves, some time apart.

usage: slow_files.py FOLDER MOUNT_POINT SECONDS STOP; Debian's python3-fusepy. Once STOP exists, the second half
never comes. Killed then it leaves half a line, as a file server that goes down does.
"""

import errno
import os
import sys
import time
from pathlib import Path
from typing import Any

import fusepy as fuse  # type: ignore[import-not-found,unused-ignore]


class SlowFiles(fuse.Operations):  # type: ignore[misc,unused-ignore]
    """Everything passes through to a folder; only writes to journals take their time."""

    def __init__(self, folder: str, pause_s: float, stop: str) -> None:
        self.folder = folder
        self.pause_s = pause_s
        self.stop = Path(stop)

    def _there(self, path: str) -> str:
        return self.folder + path

    def __call__(self, op: str, path: str, *args: Any) -> Any:
        try:
            return super().__call__(op, path, *args)
        except OSError as error:
            raise fuse.FuseOSError(error.errno or errno.EIO) from error

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        status = os.lstat(self._there(path))
        names = ("atime", "ctime", "gid", "mode", "mtime", "nlink", "size", "uid")
        return {f"st_{name}": getattr(status, f"st_{name}") for name in names}

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *os.listdir(self._there(path))]  # noqa: PTH208

    def statfs(self, path: str) -> dict[str, int]:
        status = os.statvfs(self._there(path))
        names = ("bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "flag", "frsize", "namemax")
        return {f"f_{name}": getattr(status, f"f_{name}") for name in names}

    def open(self, path: str, flags: int) -> int:
        return os.open(self._there(path), flags & ~os.O_APPEND)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self._there(path), os.O_RDWR | os.O_CREAT, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        half = len(data) // 2 if path.endswith("/journal.jsonl") else 0
        if half:
            os.pwrite(fh, data[:half], offset)
            time.sleep(self.pause_s)
            while self.stop.exists():
                time.sleep(self.pause_s)
        os.pwrite(fh, data[half:], offset + half)
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        os.truncate(self._there(path) if fh is None else fh, length)

    def release(self, path: str, fh: int) -> None:
        os.close(fh)

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        os.fsync(fh)

    def mkdir(self, path: str, mode: int) -> None:
        Path(self._there(path)).mkdir(mode)

    def rmdir(self, path: str) -> None:
        Path(self._there(path)).rmdir()

    def unlink(self, path: str) -> None:
        Path(self._there(path)).unlink()

    def rename(self, old: str, new: str) -> None:
        Path(self._there(old)).rename(self._there(new))

    def link(self, target: str, source: str) -> None:
        os.link(self._there(source), self._there(target))

    def chmod(self, path: str, mode: int) -> None:
        Path(self._there(path)).chmod(mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        os.chown(self._there(path), uid, gid)

    def utimens(self, path: str, times: tuple[float, float] | None = None) -> None:
        os.utime(self._there(path), times)


if __name__ == "__main__":
    fuse.FUSE(
        SlowFiles(sys.argv[1], float(sys.argv[3]), sys.argv[4]),
        sys.argv[2],
        foreground=True,
        direct_io=True,
        allow_other=True,
    )
