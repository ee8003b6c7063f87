"""The place of files that were derived from a run: the run itself if it is this user's, else the user's own cache.

Nothing is ever written into the run of another user, by root neither. The cache is bounded, and can be deleted.
"""

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path

from seatrial.archive import layout
from seatrial.files.home_folders import cache_folder
from seatrial.files.owners import is_own
from seatrial.files.trust import make_trusted
from seatrial.files.writing import own_folder
from seatrial.model.errors import LaunchError

FOLDER = Path("seatrial", "runs")
MOST_FILES = 20_000
MOST_BYTES = 4 << 30
"""Samples of a large run have about 100 MB."""


def kept_file(folder: Path, name: str) -> Path | None:
    """The file `name` of the run in `folder`: there, or in the cache; None where no cache can be made.

    The name in the cache changes when the run's folder or its run.json is another one.
    """
    if is_own(folder):
        return folder / name
    try:
        home, described = folder.stat(), (folder / layout.RUN_FILE).stat()
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
    for place, (_, size, path) in enumerate(sorted(files, reverse=True)):
        left_bytes -= size
        if place >= MOST_FILES or left_bytes < 0:
            with contextlib.suppress(OSError):
                Path(path).unlink()
