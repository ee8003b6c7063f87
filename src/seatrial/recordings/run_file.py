"""A run as one tar.gz file, and such a file as a run: what another installation opens.

A file may come from anybody. It is unpacked as recordings are, links in it are not made, and only what has the names
and the checksums of a run is taken.
"""

import gzip
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, opened_inside
from seatrial.archive.reader import damage_of, info_as_written
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import sentences_on
from seatrial.files.inputs import ALL_FACTS_BYTES, ANY_SIZE, GIB
from seatrial.files.named import named_file
from seatrial.files.writing import opened_directory, own_folder, rename_folder
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import Ending, RunInfo
from seatrial.recordings.tarballs import unpack_tar
from seatrial.recordings.trees import TreeWriter

OF_A_RUN = (layout.RUN_FILE, layout.JOURNAL_FILE, layout.FILES_FILE, layout.FABRIC_FILE)
FACTS = re.compile(rf"{layout.FACTS_FOLDER}/[\w~%-]{{1,240}}\.(?:{layout.BEFORE}|{layout.AFTER})\.txt", re.ASCII)
LONGEST_NAME = 200
MOST_FILES = 200_000
MOST_BYTES = 16 * GIB + ALL_FACTS_BYTES
"""Bytes of all files together, unpacked."""
REMEDY = "Ask for another copy: `seatrial runs export RUN --whole` writes one."
ELSEWHERE = "Name another folder with --archive."


def write_run_file(folder: Path, path: Path) -> int:
    """Write the description, the journal, facts and wiring of a closed run; how many files.

    Raises UsageError for an open run, SeatrialError.
    """
    if layout.is_open(folder):
        run = layout.run_of(folder)
        raise UsageError(f"{run} is not closed.", f"If it was cut off, close it: seatrial runs recover {run}")
    names = [name for name in OF_A_RUN if (folder / name).is_file()]
    facts = sorted(folder.glob(f"{layout.FACTS_FOLDER}/*.txt"))
    names += [name for each in facts if FACTS.fullmatch(name := each.relative_to(folder).as_posix())]
    with (
        sentences_on(path, "Name another file with --output."),
        named_file(path) as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,  # the same run gives the same bytes
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name in names:
            with opened_inside(folder, folder / name, ANY_SIZE) as stream:
                member = tarfile.TarInfo(name)
                member.size = os.fstat(stream.fileno()).st_size
                archive.addfile(member, stream)
    return len(names)


def read_run_file(archive: Path, path: Path) -> Path:
    """Unpack a run into the archive; its folder. Nothing is left of one that cannot be used.

    Raises UsageError for a file that is not a whole run, and for a run that is there already; SeatrialError.
    """
    try:
        archive.mkdir(parents=True, exist_ok=True)
        with (
            WorkingFolder(archive.resolve(), Use.WHOLE) as working,
            own_folder(working.path) as own,
            opened_directory(archive) as into,
        ):
            run = _unpacked(path, own.for_libraries).run
            layout.refuse_taken(archive, run, ELSEWHERE)
            rename_folder(working.path, run, into)
    except OSError as error:
        raise UsageError(f"{path} cannot be unpacked into {archive}: {error.strerror}.", ELSEWHERE) from error
    return archive / run


def _unpacked(path: Path, folder: Path) -> RunInfo:
    """The run in the file, unpacked into an empty folder. Raises UsageError where that is not all of a closed run."""
    try:
        unpack_tar(path, TreeWriter(folder, largest_bytes=MOST_BYTES, most_members=MOST_FILES))
        info = info_as_written(folder)
        why = next(_strange(folder, info), "") or "; ".join(damage_of(folder, info))
    except (UsageError, DamagedRun) as error:
        why = error.what.replace(f"{folder}/", "").rstrip(".")
    except SeatrialError as error:
        raise SeatrialError(error.what, ELSEWHERE) from error
    if why:
        raise UsageError(f"{path} is not a whole run: {why}.", REMEDY)
    return info


def _strange(folder: Path, info: RunInfo) -> Iterator[str]:
    """What no run has that was exported."""
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if name not in OF_A_RUN and not FACTS.fullmatch(name) and name != layout.FACTS_FOLDER:
            yield f"no run has a file {name[:LONGEST_NAME]!r}"
    if not (folder / layout.JOURNAL_FILE).exists():
        yield f"it has no {layout.JOURNAL_FILE}"
    if len(info.run) > LONGEST_NAME or not layout.is_run_name(info.run):
        yield f"the run's name is {info.run[:LONGEST_NAME]!r}"
    if info.ending is Ending.RUNNING:
        yield "the run was never closed"
    if info.contents is None:
        yield "nothing says what it held"
