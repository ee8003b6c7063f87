"""Baselines: runs that others are compared with, under a name that never changes silently.

`<archive>/baselines/<name>/0001`, `0002`, ...: a version is written elsewhere and renamed when it is complete, so that
readers see all of it or nothing. The highest number counts; earlier versions are kept. A version has what a
comparison needs, so that its runs may be deleted.
"""

import contextlib
import gzip
import os
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.archive.layout import BASELINES_FOLDER, DamagedRun, opened_inside, read_record, refuse_later
from seatrial.archive.run_values import ValuesFile, write_values
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.files.inputs import ALL_FACTS_BYTES, DESCRIPTION_BYTES
from seatrial.files.owners import owner_of
from seatrial.files.writing import (
    Foreign,
    OwnFolder,
    descriptor_path,
    new_folder,
    own_folder,
    rename_folder,
    shared_folder,
)
from seatrial.model import formats
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run_values import RunSummary
from seatrial.model.words import utc_text

FILE = "baseline.json"
VALUES_FILE = "values.parquet"
FACTS_FILE = "facts.json.gz"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
NUMBER = re.compile(r"[0-9]{1,9}")
"""The version number of a baseline, as the user types it."""
VERSION = re.compile(r"[0-9]{4,9}")
"""The version number of a baseline, as its folder is called."""
PIECE_BYTES = 1 << 20


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The content of baseline.json."""

    format: int
    name: str
    version: int
    """The number of this version, counted from 1; each replacement has the next number."""
    made: str
    """When it was written: UTC, ISO 8601."""
    runs: tuple[RunSummary, ...]
    """Oldest first."""
    facts_run: str = ""
    """The run that its facts are of, the newest with any; empty: it has none."""


def check_name(name: str) -> None:
    """Raise UsageError for what is not a name of a baseline."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name of a baseline.", "Use letters, digits, - and _, at most 100.")


def versions(archive: Path, name: str) -> list[int]:
    """The versions of a baseline, rising; empty where there is none of that name."""
    if not NAME.fullmatch(name):
        return []
    return _versions_in(archive / BASELINES_FOLDER / name)


def _versions_in(home: Path) -> list[int]:
    return sorted(int(version) for version in _names_in(home) if VERSION.fullmatch(version))


def names(archive: Path) -> list[str]:
    """All baselines, by name, also those that this user may not read."""
    return sorted(name for name in _names_in(archive / BASELINES_FOLDER) if _has_versions(archive, name))


def _has_versions(archive: Path, name: str) -> bool:
    try:
        return bool(versions(archive, name))
    except DamagedRun:
        return True


def _names_in(folder: Path) -> list[str]:
    """What is in a folder; empty where there is none, or something else has its name. Raises DamagedRun."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names alone are wanted
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DamagedRun(f"{folder} cannot be read: {error.strerror}.") from error


def folder_of(archive: Path, name: str, version: int | None = None) -> Path:
    """The folder of a version, or of the newest. Raises UsageError where there is none."""
    numbers = versions(archive, name)
    if not numbers or (version is not None and version not in numbers):
        what = f"version {version} of the baseline {name!r}" if numbers else f"baseline {name!r}"
        raise UsageError(f"There is no {what} in {archive}.", "seatrial baseline list shows those there are.")
    return archive / BASELINES_FOLDER / name / f"{version or numbers[-1]:04d}"


def read_baseline(folder: Path) -> Baseline:
    """The description of a version. Raises DamagedRun."""
    baseline = read_record(folder, folder / FILE, Baseline, DESCRIPTION_BYTES)
    refuse_later(folder / FILE, baseline.format, formats.BASELINE)
    return baseline


def read_facts(folder: Path) -> dict[str, str]:
    """Raw facts by node; empty where the version has none. Raises DamagedRun."""
    path = folder / FACTS_FILE
    if not os.path.lexists(path):
        return {}
    pieces, left = [], ALL_FACTS_BYTES
    try:
        with opened_inside(folder, path, ALL_FACTS_BYTES) as stream, gzip.GzipFile(fileobj=stream) as text:
            while piece := text.read(PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise DamagedRun(f"{path} is too large.", "Set the baseline again.")
                pieces.append(piece)
        return msgspec.json.decode(b"".join(pieces), type=dict[str, str])
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise DamagedRun(f"{path} cannot be read: {error}.", "Set the baseline again.") from error


def write_baseline(
    archive: Path,
    name: str,
    runs: Sequence[RunSummary],
    files: Sequence[ValuesFile],
    facts: dict[str, str],
    facts_run: str,
    *,
    replaces: int,
) -> Baseline:
    """Write the next version, whole or not at all. `replaces`: the newest version that the caller knows; 0: none.

    Raises SeatrialError where it cannot be written, or somebody has written another version since.
    """
    check_name(name)
    baseline = Baseline(
        format=formats.BASELINE, name=name, version=replaces + 1, facts_run=facts_run,
        made=utc_text(datetime.now(UTC)), runs=tuple(runs),
    )  # fmt: skip
    try:
        with shared_folder(archive / BASELINES_FOLDER) as place:
            _write_in(archive, place / name, baseline, files, facts, replaces)
    except Foreign as error:
        raise _not_yours(archive, name) from error
    except FileExistsError as error:
        what = f"The baseline {name!r} was changed by somebody else meanwhile."
        raise SeatrialError(what, "Look at it with seatrial baseline show, then repeat the command.") from error
    except OSError as error:
        raise SeatrialError(
            f"The baseline {name!r} cannot be written: {error.strerror or error}.", "The earlier one is kept."
        ) from error
    return baseline


def _write_in(
    archive: Path, home: Path, baseline: Baseline, files: Sequence[ValuesFile], facts: dict[str, str], replaces: int
) -> None:
    """Write a version into `home`. Raises Foreign, FileExistsError where there is another one by now, OSError."""
    version = f"{baseline.version:04d}"
    try:
        with contextlib.suppress(FileExistsError), new_folder(home):
            pass
        with own_folder(home) as versions_folder, WorkingFolder(archive.resolve(), Use.WHOLE) as working:
            with own_folder(working.path) as new:
                _write_version(new, baseline, files, facts)
            if _versions_in(home)[-1:] != ([replaces] if replaces else []):
                raise FileExistsError
            try:
                rename_folder(working.path, version, versions_folder.handle)
            except OSError as error:
                if (home / version).exists():
                    raise FileExistsError from error
                raise
    finally:
        with contextlib.suppress(OSError):
            home.rmdir()  # empty where nothing was written


def _write_version(new: OwnFolder, baseline: Baseline, files: Sequence[ValuesFile], facts: dict[str, str]) -> None:
    with new.new_file(VALUES_FILE) as stream:
        write_values(files, descriptor_path(stream.fileno()))
    if facts:
        new.replace(FACTS_FILE, gzip.compress(msgspec.json.encode(facts)))
    with new.new_file(FILE, through=True) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n")


def _not_yours(archive: Path, name: str) -> SeatrialError:
    owner = owner_of(archive / BASELINES_FOLDER / name, follow=False)
    what = f"The baseline {name!r} cannot be changed: it belongs to {owner}."
    return SeatrialError(what, "Only its owner changes a baseline; set one under another name.")


def drop_baseline(archive: Path, name: str) -> int:
    """Delete a baseline with all its versions; how many there were. Raises UsageError, SeatrialError."""
    numbers = versions(archive, name)
    folder_of(archive, name)
    try:
        with shared_folder(archive / BASELINES_FOLDER) as place:
            with own_folder(place / name):
                pass
            with WorkingFolder(archive.resolve(), Use.WHOLE) as working, own_folder(working.path) as gone:
                rename_folder(place / name, name, gone.handle)
    except Foreign as error:
        raise _not_yours(archive, name) from error
    except OSError as error:
        raise SeatrialError(f"The baseline {name!r} cannot be deleted: {error.strerror or error}.") from error
    return len(numbers)
