"""The trial of storage within a run: its folder, how much it may write there, and its rounds."""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from seatrial.archive.reader import group_measurements_of, read_entries
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.driver.run import Run
from seatrial.model.errors import UsageError
from seatrial.model.measurement import GroupRound
from seatrial.model.words import unescaped
from seatrial.pairs.node_places import NodePlaces
from seatrial.pairs.node_rounds import (
    FREE_PART,
    FULL_STORAGE,
    QUICK_STORAGE,
    STORAGE_KERNELS,
    StorageExtent,
    bytes_at_once,
    fitting,
    least_bytes,
    storage_rounds,
)

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
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise UsageError(
            f"Storage cannot be tried in {folder}: {error.strerror}.", "Give another folder: --storage DIR."
        ) from None


def kind_of(folder: Path, mounts: str) -> str:
    """The kind of file system of a folder, from the text of /proc/self/mounts; empty where that does not say it."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = Path(unescaped(words[1]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), words[2]
    return kind


def in_memory(folder: Path) -> bool:
    """Whether what is written there stays in the memory of this machine."""
    with suppress(OSError):
        return kind_of(folder.resolve(), Path("/proc/self/mounts").read_text(errors="replace")) in IN_MEMORY
    return False


MB = 1e6


class StorageTrial:
    """Writes in a folder of its own, which is removed when the run ends, however it ends."""

    def __init__(self, frame: Run, parent: Path | None, *, whole: bool) -> None:
        """`parent`: the folder to try; None: the archive. `whole`: all scopes and sizes, else a quick look."""
        self._frame = frame
        self._parent = (parent or frame.settings.archive).absolute()
        self._wanted = FULL_STORAGE if whole else QUICK_STORAGE
        self._extent: StorageExtent | None = None
        self._folder = ""

    def prepare(self, nodes: Sequence[NodePlaces]) -> str:
        """Make the folder; a sentence on what will be written. Raises UsageError where nothing can be tried."""
        replayed = self._frame.settings.replay
        if replayed is not None:
            recorded = group_measurements_of(read_entries(replayed))
            tried = any(delivered.shape.kernel in STORAGE_KERNELS for delivered in recorded)
            self._extent = self._wanted if tried else None
            return ""
        check_name(self._parent)
        self._extent = self._fitting(nodes)
        if in_memory(self._parent):
            raise UsageError(
                f"{self._parent} is in the memory of this machine, not on storage.",
                "Give a folder of the shared file system: --storage DIR.",
            )
        folder = make_storage_folder(self._parent)
        self._frame.afterwards.append(lambda: _remove(self._frame, folder))
        self._folder = str(folder.path)
        at_once = bytes_at_once(nodes, self._extent) / MB
        left = " Files that a killed run had left there were removed." if folder.removed else ""
        return f"Storage is tried in {self._parent}, with at most {at_once:.0f} MB at one time.{left}"

    def rounds(self, nodes: Sequence[NodePlaces], repetitions: Iterable[int], *, total: bool) -> tuple[GroupRound, ...]:
        """The rounds of the trial; none if it was not prepared."""
        if self._extent is None:
            return ()
        return tuple(storage_rounds(nodes, repetitions, self._extent, self._folder, total=total))

    def _fitting(self, nodes: Sequence[NodePlaces]) -> StorageExtent:
        free = free_bytes(self._parent)
        extent = fitting(nodes, self._wanted, free)
        if extent is None:
            raise UsageError(
                f"{self._parent} has {free / MB:.0f} MB free. The smallest trial of storage has "
                f"{least_bytes(nodes) / MB:.0f} MB in files at one time, and uses at most a {FREE_PART}th of the free "
                "space.",
                "Give another folder: --storage DIR.",
            )
        return extent


def _remove(frame: Run, folder: WorkingFolder) -> None:
    if not folder.remove():
        frame.measurer.remarks.append(f"{folder.path} could not be removed: remove it.")


def prepared(frame: Run, trial: StorageTrial, nodes: Sequence[NodePlaces], *, required: bool) -> str:
    """The result of `prepare`; if storage is only a part of what is tried, a refusal is a remark."""
    try:
        return trial.prepare(nodes)
    except UsageError as error:
        if required:
            raise
        frame.measurer.remarks.append(f"Storage was not tried: {error.what}")
        return ""
