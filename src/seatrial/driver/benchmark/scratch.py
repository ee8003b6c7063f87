"""The folder in which the programs of a benchmark run: made, filled, read and removed."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from seatrial.archive.working_folder import Use, WorkingFolder, scratch_parent
from seatrial.files.inputs import ANY_SIZE, PIECE_BYTES, open_regular
from seatrial.files.owners import distrust
from seatrial.files.writing import descriptor_path, new_folder, own_folder
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.settings import RunSettings

MOST_BYTES = 24 << 20
"""Bytes of an output that is judged and kept in the journal; larger outputs are in the run's logs."""
TEXT_FOLDER = "system"
MOST_FILES = 20_000
DEEPEST = 100
"""Folders below a case: Python walks some hundred."""
MOST_TEXT_BYTES = 1 << 20
MODE = 0o777
"""The bits of a file's mode that its copy gets."""


class Scratch:
    """The folder of one run. With `keep` it has the run's name and stays; else it is removed, in the end by others.

    `path` is for programs; this process works in `place`, which is that folder whatever has taken its place since.
    """

    def __init__(self, settings: RunSettings, run: str) -> None:
        """Make it, empty. Raises SeatrialError where that is not possible."""
        parent = (settings.scratch or own_scratch(settings.site.archive)).absolute()
        self._working: WorkingFolder | None = None
        try:
            parent.mkdir(parents=True, exist_ok=True)
            if settings.keep:
                self.path = parent / run
                with new_folder(self.path) as own:
                    self.place = descriptor_path(os.dup(own.handle))
            else:
                self._working = WorkingFolder(parent, Use.SCRATCH)
                self.path, self.place = self._working.path, self._working.place
        except OSError as error:
            raise SeatrialError(
                f"A scratch folder cannot be made in {parent}: {error.strerror}.", "Name another one with --scratch."
            ) from error

    def close(self) -> str:
        """Remove all that the run left there, unless it is kept; a remark for the report, or nothing."""
        if self._working is None:
            return f"The scratch folder {self.path} was kept."
        return (
            "" if self._working.remove() else f"The scratch folder {self.path.parent} could not be removed: remove it."
        )


def own_scratch(archive: Path) -> Path:
    """This user's scratch folder in an archive. Raises SeatrialError where others have it, or can exchange it."""
    folder = scratch_parent(archive)
    try:
        with contextlib.suppress(FileExistsError), new_folder(folder, mode=0o700):
            pass
        with own_folder(folder):
            why = distrust(folder)
    except OSError as error:
        what = f"The scratch folder {folder} cannot be used: {error.strerror}."
        raise SeatrialError(what, "Name another one with --scratch.") from error
    if why:
        raise SeatrialError(
            f"The scratch folder {folder} cannot be used, since programs read what is in it: {why}.",
            f"Name another one with --scratch, or set the sticky bit: chmod +t {archive}",
        )
    return folder


def free_bytes(folder: Path) -> int:
    """Free space of its file system."""
    return shutil.disk_usage(folder).free


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the inputs of a plan. Raises SeatrialError with the reason."""
    for name, text in files.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise SeatrialError(f"The input {name} cannot be written: {error.strerror}.") from error


def read_case(case: Path | None) -> dict[str, str]:
    """The files of a user's case by path; the text of those in `system`.

    Raises UsageError; BadInput for what is not a regular file, and for a link that leads out of the case.
    """
    if case is None:
        return {}
    if not case.is_dir():
        raise UsageError(f"--case {case} is not a folder.", "Name the folder of the case.")
    texts: dict[str, str] = {}
    for name in sorted(_names(case, folders=False)):
        if len(texts) == MOST_FILES:
            raise UsageError(f"--case {case} has more than {MOST_FILES} files.", "Name the folder of one case.")
        with open_regular(case / name, ANY_SIZE, case) as stream:
            small = name.startswith(f"{TEXT_FOLDER}/") and os.fstat(stream.fileno()).st_size <= MOST_TEXT_BYTES
            texts[name] = stream.read(MOST_TEXT_BYTES).decode("utf-8", errors="replace") if small else ""
    return texts


def case_hash(case: Path, names: Iterable[str]) -> str:
    """SHA-256 of names and contents of the case's files. Raises SeatrialError for one that cannot be read."""
    whole = hashlib.sha256()
    for name in sorted(names):
        content = hashlib.sha256()
        try:
            with open_regular(case / name, ANY_SIZE, case) as stream:
                while piece := stream.read(PIECE_BYTES):
                    content.update(piece)
        except OSError as error:
            raise SeatrialError(f"--case: {case / name} cannot be read: {error.strerror}.") from error
        whole.update(os.fsencode(f"{name}\n{content.hexdigest()}\n"))
    return whole.hexdigest()


def copy_case(case: Path, folder: Path) -> None:
    """Copy the user's case, which itself stays as it is. Raises SeatrialError, before more is copied than has room."""
    try:
        for name in _names(case, folders=True):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in _names(case, folders=False):
            with open_regular(case / name, free_bytes(folder), case) as stream, (folder / name).open("wb") as copy:
                shutil.copyfileobj(stream, copy)
                os.fchmod(copy.fileno(), os.fstat(stream.fileno()).st_mode & MODE)
    except OSError as error:
        raise SeatrialError(f"--case {case} cannot be copied: {error.strerror or error}.") from error


def _names(case: Path, *, folders: bool) -> Iterator[str]:
    """What is below a case: folders, or all that is not one, which includes links. Links are not followed.

    Raises UsageError for one that is too deep.
    """
    for above, inner, others in os.walk(case):
        if len(Path(above).parts) - len(case.parts) > DEEPEST:
            raise UsageError(f"--case {case} is more than {DEEPEST} folders deep.", "Name the folder of one case.")
        for name in inner + others:
            path = Path(above, name)
            if folders == (path.is_dir() and not path.is_symlink()):
                yield path.relative_to(case).as_posix()
