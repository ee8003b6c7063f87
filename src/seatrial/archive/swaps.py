"""Searches for a faulty part by exchanging parts: `<archive>/swaps/<name>.json`, replaced as a whole."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from seatrial.archive.baselines import NAME
from seatrial.archive.layout import SWAPS_FOLDER, read_record, refuse_later
from seatrial.files.inputs import DESCRIPTION_BYTES
from seatrial.files.writing import Foreign, open_own, replace_own_file, shared_folder
from seatrial.model import formats
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.part_swap import SwapHistory
from seatrial.process.time_limit import timed

BUSY_S = 10.0
"""Another command computes and writes within a second."""


def _path(archive: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name of a search.", "Use letters, digits, - and _, at most 100.")
    return archive / SWAPS_FOLDER / f"{name}.json"


def read_swap(archive: Path, name: str) -> SwapHistory:
    """The history of a search. Raises UsageError where there is none, DamagedRun."""
    path = _path(archive, name)
    if not path.exists():
        names = sorted(each.stem for each in path.parent.glob("*.json")) if path.parent.is_dir() else []
        remedy = f"There are: {', '.join(names)}." if names else "seatrial swap start NAME begins one."
        raise UsageError(f"There is no search {name!r} in {archive}.", remedy)
    history = read_record(path.parent, path, SwapHistory, DESCRIPTION_BYTES)
    refuse_later(path, history.format, formats.SWAP)
    return history


def write_swap(archive: Path, history: SwapHistory, *, new: bool = False) -> None:
    """Write or replace a history; readers see the old or the new one. Raises SeatrialError.

    `new`: UsageError where there is one of that name; of commands that begin one at the same time one succeeds.
    """
    path = _path(archive, history.name)
    content = msgspec.json.format(msgspec.json.encode(history), indent=1) + b"\n"
    try:
        with _sentences(path), shared_folder(path.parent):
            replace_own_file(path, content, new=new)
    except FileExistsError as error:
        what = f"There is a search {history.name!r} already."
        raise UsageError(what, "Add --replace, or choose another name.") from error


def change_swap(archive: Path, name: str, change: Callable[[SwapHistory], SwapHistory]) -> SwapHistory:
    """Replace a history by what becomes of it; commands that do so at the same time wait for each other.

    Raises what `read_swap` and `change` raise, SeatrialError where another command takes long.
    """
    read_swap(archive, name)
    path = _path(archive, name)
    busy = SeatrialError(f"Another command changes the search {name!r} just now.", "Wait for it, and repeat this one.")
    with contextlib.ExitStack() as held, timed(BUSY_S, busy):
        while True:
            with _sentences(path):
                handle = open_own(path, os.O_RDWR)
            held.callback(os.close, handle)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), path.lstat()):  # else another command has replaced it
                break
        history = change(read_swap(archive, name))
        write_swap(archive, history)
    return history


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except Foreign as error:
        what = f"{path} cannot be written: {error.strerror}."
        raise SeatrialError(what, "Only its owner continues a search; start one of your own.") from error
    except FileExistsError:
        raise
    except OSError as error:
        raise SeatrialError(f"{path} cannot be written: {error.strerror}.", "The earlier history is kept.") from error
