"""Reads files inside a run's folder: regular files of a bounded size that do not lead out of it."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

from seatrial.files.inputs import BadInput, decoded, open_regular, read_up_to
from seatrial.files.owners import is_ours, user_name
from seatrial.model.errors import SeatrialError
from seatrial.model.units import size

SMALL_BYTES = 256 << 10
"""A file of this size is always read; the description of a run of 4,096 nodes has about that."""
OWNER_BYTES = 512 << 20
"""Read of larger descriptions and journals of one other user; by hard links any number of bytes takes no space."""
_read_bytes: Counter[int] = Counter()
"""User number -> bytes read from files of this user."""
_Record = TypeVar("_Record")


class DamagedRun(SeatrialError):
    """A folder in the archive holds no run, one of a later format, or one that is damaged."""


def read_inside(folder: Path, path: Path, most_bytes: int) -> bytes:
    """All of a file below `folder`. Raises DamagedRun where it is not a regular file, too large, or leads out of it."""
    with opened_inside(folder, path, most_bytes) as stream, damage():
        return read_up_to(stream, path, most_bytes)


def read_record(folder: Path, path: Path, kind: type[_Record], most_bytes: int) -> _Record:
    """The record in a JSON file below `folder`. Raises DamagedRun."""
    content = read_inside(folder, path, most_bytes)
    with damage():
        return decoded(content, kind, path)


@contextmanager
def opened_inside(folder: Path, path: Path, most_bytes: int) -> Iterator[IO[bytes]]:
    """A file below `folder`, open for reading. Raises DamagedRun."""
    with damage():
        stream = open_regular(path, most_bytes, folder)
    with stream:
        yield stream


def refuse_many(stream: IO[bytes], path: Path) -> None:
    """Raise DamagedRun for a large file of another user, of whom this process has read as much as it may.

    A single file is read whatever its size.
    """
    status = os.fstat(stream.fileno())
    if status.st_size > SMALL_BYTES and not is_ours(status):
        if _read_bytes[status.st_uid] > OWNER_BYTES:
            whose = user_name(status.st_uid)
            raise DamagedRun(f"{path} is not read: more than {size(OWNER_BYTES)} of such large files of {whose} were.")
        _read_bytes[status.st_uid] += status.st_size


@contextmanager
def damage() -> Iterator[None]:
    """Turn what is wrong with a file into damage of its run."""
    try:
        yield
    except BadInput as error:
        raise DamagedRun(error.what) from error
