"""A run as one zip file, and such a file as a run: what another installation opens.

A zip file may come from anybody. Only the names that a run has are taken from it, and they lead to no other folder;
links, encryption and second names are refused, and no more is unpacked than a run may have.
"""

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, opened_inside
from seatrial.archive.reader import damage_of, read_info
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.files.inputs import ALL_FACTS_BYTES, ANY_SIZE, GIB, Allowance, decoded, open_regular
from seatrial.files.named import named_file
from seatrial.files.writing import OwnFolder, opened_directory, own_folder, rename_folder
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import Ending, RunInfo

OF_A_RUN = (layout.RUN_FILE, layout.JOURNAL_FILE, layout.FILES_FILE, layout.FABRIC_FILE)
FACTS = re.compile(rf"{layout.FACTS_FOLDER}/[\w~%-]{{1,240}}\.(?:{layout.BEFORE}|{layout.AFTER})\.txt", re.ASCII)
LONGEST_NAME = 200
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How files may be packed; others need much memory to unpack, and their libraries have errors of their own."""
MOST_FILES = 200_000
MOST_BYTES = 16 * GIB + ALL_FACTS_BYTES
"""Bytes of all files together, unpacked."""
MOST_DIRECTORY_BYTES = 32 << 20
"""Bytes of the directory at the end of a zip file; `MOST_FILES` with usual names take half of it."""
DIRECTORY_END = struct.Struct("<4s4H2LH")
"""End of central directory record (APPNOTE.TXT 4.3.16): the fifth and the sixth field are files and bytes."""
LARGE_END = struct.Struct("<4sQ2H2L4Q")
LOCATOR = struct.Struct("<4sLQL")
"""Record of zip64 with the same fields, and what leads to it (4.3.14, 4.3.15); both are in front of the first one."""
END_MARK, LARGE_MARK, LOCATOR_MARK = b"PK\5\6", b"PK\6\6", b"PK\6\7"
LONGEST_COMMENT = (1 << 16) - 1
CHUNK = 1 << 20
SINCE_1980 = (1980, 1, 1, 0, 0, 0)
"""The time of all files in a zip file: the same run gives the same bytes."""
REMEDY = "Ask for another copy: `seatrial runs export RUN --zip` writes one."
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What the library raises for files that are damaged, or packed as no run is."""


def write_zip(folder: Path, path: Path) -> int:
    """Write the description, the journal, facts and wiring of a closed run; how many files.

    Raises UsageError for an open run, SeatrialError.
    """
    if layout.is_open(folder):
        run = layout.run_of(folder)
        raise UsageError(f"{run} is not closed.", f"If it was cut off, close it: seatrial runs recover {run}")
    names = [name for name in OF_A_RUN if (folder / name).is_file()]
    facts = sorted(folder.glob(f"{layout.FACTS_FOLDER}/*.txt"))
    names += [name for each in facts if FACTS.fullmatch(name := each.relative_to(folder).as_posix())]
    try:
        with named_file(path) as file, zipfile.ZipFile(file, "w") as packed:
            for name in names:
                member = zipfile.ZipInfo(name, SINCE_1980)
                member.compress_type = zipfile.ZIP_DEFLATED
                with (
                    opened_inside(folder, folder / name, ANY_SIZE) as stream,
                    packed.open(member, "w", force_zip64=True) as to,
                ):
                    while piece := stream.read(CHUNK):
                        to.write(piece)
    except OSError as error:
        raise SeatrialError(
            f"{path} cannot be written: {error.strerror}.", "Name another file with --output."
        ) from error
    return len(names)


def read_zip(archive: Path, path: Path) -> Path:
    """Unpack a run into the archive; its folder. Nothing is left of one that cannot be used.

    Raises UsageError for a file that is not a whole run, and for a run that is there already.
    """
    try:
        with open_regular(path, ANY_SIZE) as stream, _opened(stream, path) as packed:
            members = _members(packed, path)
            content = _content(packed, path, members[layout.RUN_FILE], Allowance(CHUNK * 64, path))
            info = decoded(b"".join(content), RunInfo, path)
            if len(info.run) > LONGEST_NAME or not layout.is_run_name(info.run):
                raise _refused(path, f"the run's name is {info.run[:LONGEST_NAME]!r}")
            if info.ending is Ending.RUNNING:
                raise _refused(path, "the run was never closed")
            place = archive / info.run
            _refuse_present(place)
            archive.mkdir(parents=True, exist_ok=True)
            with (
                WorkingFolder(archive.resolve(), Use.WHOLE) as working,
                own_folder(working.path) as own,
                opened_directory(archive) as into,
            ):
                _unpack(packed, path, members, own)
                if damage := damage_of(own.for_libraries, read_info(own.for_libraries)):
                    raise _refused(path, "; ".join(damage))
                _refuse_present(place)  # another import may have been quicker
                rename_folder(working.path, info.run, into)
    except DamagedRun as error:
        raise _refused(path, error.what.rstrip(".")) from error
    except OSError as error:
        reason = f"{path} cannot be unpacked into {archive}: {error.strerror}."
        raise UsageError(reason, "Name another folder with --archive.") from error
    return place


def _refuse_present(place: Path) -> None:
    """Raises UsageError where the archive has the run already, closed or open."""
    for present in (place, place.with_name(f"{place.name}{layout.PARTIAL}")):
        if os.path.lexists(present):
            raise UsageError(f"There is a run {place.name} already: {present}.", "Name another folder with --archive.")


def _opened(stream: IO[bytes], path: Path) -> zipfile.ZipFile:
    _refuse_large_directory(stream, path)
    try:
        return zipfile.ZipFile(stream)
    except DAMAGE as error:
        raise _refused(path, f"it cannot be unpacked ({error})") from error


def _refuse_large_directory(stream: IO[bytes], path: Path) -> None:
    """Raises UsageError for more files than a run has, before the library makes an object of each.

    The records are those that the library reads: the one at the very end, else the last one before a comment.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - LONGEST_COMMENT - DIRECTORY_END.size - LOCATOR.size - LARGE_END.size, 0))
    text = stream.read()
    stream.seek(0)
    at = len(text) - DIRECTORY_END.size
    if not (text.startswith(END_MARK, max(at, 0)) and text.endswith(b"\0\0")):
        at = text.rfind(END_MARK)
    if at < 0 or at + DIRECTORY_END.size > len(text):
        return
    files, directory_bytes = DIRECTORY_END.unpack_from(text, at)[4:6]
    large = at - LOCATOR.size - LARGE_END.size
    if large >= 0 and text.startswith(LOCATOR_MARK, at - LOCATOR.size) and text.startswith(LARGE_MARK, large):
        files, directory_bytes = LARGE_END.unpack_from(text, large)[7:9]
    if files > MOST_FILES:
        raise _refused(path, f"it has more than {MOST_FILES} files")
    if directory_bytes > MOST_DIRECTORY_BYTES:
        raise _refused(path, f"it has a directory of {directory_bytes} bytes")


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not a whole run: {why}.", REMEDY)


def _members(packed: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The files by name. Raises UsageError for names that no run has, links, second names, and too many files."""
    members: dict[str, zipfile.ZipInfo] = {}
    if len(packed.infolist()) > MOST_FILES:
        raise _refused(path, f"it has more than {MOST_FILES} files")
    for member in packed.infolist():
        name = member.filename
        if name not in OF_A_RUN and not FACTS.fullmatch(name):
            raise _refused(path, f"no run has a file {name[:LONGEST_NAME]!r}")
        if name in members or stat.S_ISLNK(member.external_attr >> 16) or member.flag_bits & 1:
            raise _refused(path, f"{name} is there twice, a link, or encrypted")
        if member.compress_type not in PACKINGS:
            raise _refused(path, f"{name} is packed in a way that no export uses")
        members[name] = member
    for name in (layout.RUN_FILE, layout.JOURNAL_FILE):
        if name not in members:
            raise _refused(path, f"it has no {name}")
    return members


def _content(packed: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, together: Allowance) -> Iterator[bytes]:
    """The content piece by piece; `together`: what it and others may have, whatever sizes the file declares."""
    try:
        with packed.open(member) as stream:
            while piece := stream.read(CHUNK):
                yield together.take(piece)
    except DAMAGE as error:
        raise _refused(path, f"it cannot be unpacked ({error})") from error


def _unpack(packed: zipfile.ZipFile, path: Path, members: dict[str, zipfile.ZipInfo], own: OwnFolder) -> None:
    together = Allowance(MOST_BYTES, path)
    own.make_folder(layout.FACTS_FOLDER)
    for name, member in members.items():
        to: IO[bytes]
        with own.new_file(name) as to:
            for piece in _content(packed, path, member, together):
                to.write(piece)
