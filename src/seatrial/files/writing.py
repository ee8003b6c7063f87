"""Writes files so that nothing another user planted in a shared folder is followed, opened or overwritten."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file in one step: readers see the old content or the new one, and a link at `path` is replaced itself.

    The new content is written under a random name beside `path`. Raises OSError, and leaves nothing behind.
    """
    with opened_folder(path.parent) as folder:
        temporary = f".{secrets.token_hex(8)}.new"
        handle = os.open(temporary, NEW, mode, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def create_file(path: Path, mode: int = 0o666) -> IO[bytes]:
    """A file that did not exist, open for unbuffered writing. Raises OSError, also if there is a link at `path`."""
    with opened_folder(path.parent) as folder:
        return os.fdopen(os.open(path.name, NEW, mode, dir_fd=folder), "wb", buffering=0)


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """The descriptor of a folder, which must not be a link. Raises OSError."""
    handle = os.open(path, FOLDER)
    try:
        yield handle
    finally:
        os.close(handle)
