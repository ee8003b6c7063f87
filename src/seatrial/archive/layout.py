"""Names inside an archive, and its files: read so that no link leads out of a run's folder, derived ones beside it.

`<archive>/<run>/`, `<archive>/<run>.partial/` while the run grows.
"""

import contextlib
import enum
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import quote, unquote

from seatrial.files.inputs import BadInput, decoded, open_regular, read_up_to
from seatrial.files.owners import cache_folder, is_ours, is_own, make_trusted, user_name
from seatrial.files.writing import own_folder
from seatrial.model.errors import LaunchError, SeatrialError, UsageError
from seatrial.model.units import size

SMALL_BYTES = 256 << 10
"""A file of this size is always read; the description of a run of 4,096 nodes has about that."""
OWNER_BYTES = 512 << 20
"""Read of larger descriptions and journals of one other user; by hard links any number of bytes takes no space."""
_read_bytes: Counter[int] = Counter()
"""User number -> bytes read from files of this user."""
_Record = TypeVar("_Record")
ANOTHER_NAME = "Choose another name with --run, of an import with --name."


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


def refuse_later(path: Path, written: int, known: int) -> None:
    """Raise DamagedRun for a file whose format is later than the one that this version knows."""
    if written > known:
        what = f"{path} has format {written}; this version of seatrial reads formats up to {known}."
        raise DamagedRun(what, "Use a newer version of seatrial.")


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


PARTIAL = ".partial"
CLOSING = ".closing"
"""`<run>.<boot>-<process>-<start>-<random>.closing`: `runs recover` closes it, or was killed while it did."""
CLAIM = re.compile(
    r"(?P<run>.+)\.(?P<home>[0-9a-f]{8})-(?P<pid>\d{1,9})-(?P<ticks>\d{1,19})-[0-9a-f]{8}\.closing", re.DOTALL
)
RUN_FILE = "run.json"
JOURNAL_FILE = "journal.jsonl"
SAMPLES_FILE = "samples.parquet"
FACTS_FOLDER = "facts"
LOGS_FOLDER = "logs"
FABRIC_FILE = "fabric.json"
LEASE_FILE = "lease.json"
FILES_FILE = "files.sha256"
RUN_NAME = re.compile(r"\w[\w-]*", re.ASCII)
BASELINES_FOLDER = "baselines"
SWAPS_FOLDER = "swaps"
BEFORE = "before"
AFTER = "after"


def is_run_name(text: str) -> bool:
    """Whether a run may have this name: other folders of an archive have theirs, and options begin with a dash."""
    return bool(RUN_NAME.fullmatch(text)) and text not in (BASELINES_FOLDER, SWAPS_FOLDER)


def file_name(node: str) -> str:
    """A safe file name for any node name; `unquote` reverses it."""
    return quote(node, safe="").replace(".", "%2E")


def facts_file(folder: Path, node: str, reading: str) -> Path:
    """The file of a node's raw facts of one reading."""
    return folder / FACTS_FOLDER / f"{file_name(node)}.{reading}.txt"


def node_of(path: Path) -> tuple[str, str]:
    """(node, reading) of a facts file."""
    name, reading, _ = path.name.rsplit(".", 2)
    return unquote(name), reading


def is_open(folder: Path) -> bool:
    """Whether the run in that folder was never closed, by its name."""
    return folder.name.endswith((PARTIAL, CLOSING))


def refuse_taken(archive: Path, run: str, remedy: str = ANOTHER_NAME) -> None:
    """Raise UsageError where an archive has a run of that name, closed or open."""
    for taken in (archive / run, archive / f"{run}{PARTIAL}"):
        if os.path.lexists(taken):
            raise UsageError(f"There is a run {run!r} already: {taken}.", remedy)


def run_of(folder: Path) -> str:
    """The name of the run in a folder, whether it is open or closed."""
    claimed = CLAIM.fullmatch(folder.name)
    return claimed["run"] if claimed else folder.name.removesuffix(PARTIAL)


class ExportFormat(enum.StrEnum):
    """What other programs read."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


FOLDER = Path("seatrial", "runs")
MOST_FILES = 20_000
MOST_BYTES = 4 << 30
"""Samples of a large run have about 100 MB."""


def refuse_kept_file(archive: Path, path: Path, option: str) -> None:
    """Raises UsageError for a file to be written that is inside a run, or that an archive has already."""
    real = path.resolve()
    inside = [folder for folder in real.parents if (folder / RUN_FILE).exists() or (folder / JOURNAL_FILE).exists()]
    if inside or (archive.resolve() in real.parents and real.exists()):
        what = f"is inside the run {run_of(inside[0])}" if inside else f"is a file of the archive {archive}"
        raise UsageError(f"{option} {path} {what}.", "Name a file outside the archive.")


def kept_file(folder: Path, name: str) -> Path | None:
    """The file `name` of the run in `folder`: there, or in the cache; None where no cache can be made.

    The name in the cache changes when the run's folder or its run.json is another one.
    """
    if is_own(folder):
        return folder / name
    try:
        home, described = folder.stat(), (folder / RUN_FILE).stat()
    except OSError:
        return None
    identity = (home.st_dev, home.st_ino, described.st_ino, described.st_mtime_ns, described.st_size)
    kept = _cache()
    return kept and kept / f"{hashlib.sha256(repr(identity).encode()).hexdigest()[:32]}.{name}"


def _cache() -> Path | None:
    """The folder of the cache, made if need be; None where it cannot be made, or others can have exchanged it."""
    try:
        return _made(cache_folder() / FOLDER)
    except LaunchError:
        return None


@cache
def _made(folder: Path) -> Path | None:
    """The folder, brought back within its bounds. Once in a process: a list asks for thousands of runs."""
    try:
        make_trusted(folder)
        with own_folder(folder):
            pass
    except OSError:
        return None
    _sweep(folder)
    return folder


def _sweep(folder: Path) -> None:
    """Remove the files that were written longest ago, beyond the bounds."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                files.append((status.st_mtime_ns, status.st_size, entry.path))
    left_bytes = MOST_BYTES
    for place, (_, size_bytes, path) in enumerate(sorted(files, reverse=True)):
        left_bytes -= size_bytes
        if place >= MOST_FILES or left_bytes < 0:
            with contextlib.suppress(OSError):
                Path(path).unlink()
