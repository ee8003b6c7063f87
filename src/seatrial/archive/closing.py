"""The last steps of every run, whether its driver or `seatrial runs recover` closes it."""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import contents, layout
from seatrial.archive.contents import Tally
from seatrial.archive.samples import SPILL_FOLDER, NotInstalled, write_samples
from seatrial.files.owners import entries, is_own
from seatrial.files.writing import OwnFolder, new_folder, own_folder, rename_folder
from seatrial.model.errors import SeatrialError
from seatrial.model.run import RunInfo, RunKind

CLOSED_AS = "closed"
"""Appended to the name of a run that its driver closes where that is taken."""
NO_SAMPLES = f"{layout.SAMPLES_FILE} was left out; `seatrial runs show` makes it from the journal."
CLOSED: list[Path] = []
"""The runs that this process closed: the command line judges them at its end, so that no reader need do it."""
Refusals = tuple[type[SeatrialError], ...]


def close_folder(folder: Path, info: RunInfo, tally: Tally, another: str, without: Refusals) -> tuple[Path, RunInfo]:
    """Write the last files into the folder of an open run and rename it; the folder, and run.json as it is there.

    `another`: what is appended to the run's name where that is taken. `without`: errors for which samples.parquet is
    left out, which the run's reason then states; without DuckDB it is left out silently. Raises OSError and what
    `write_samples` raises.
    """
    for name in _names(layout.run_of(folder), another):
        final = folder.with_name(name)
        if not _is_free(final):
            continue
        with own_folder(folder) as own:
            described = _with_samples(own, _named(info, name), without)
            described = msgspec.structs.replace(described, contents=contents.record(own, tally))
            write_run_file(own, described)
            sweep(own)
            try:
                rename_folder(folder, name)
            except OSError:
                if os.path.lexists(final) and folder.exists():
                    continue  # another run was closed under this name meanwhile, or others made something of it
                raise
            with contextlib.suppress(OSError):
                own.remove(layout.LEASE_FILE)
        CLOSED.append(final)
        return final, described
    raise AssertionError  # there are names without end


def own_run(archive: Path, run: str) -> Path | None:
    """Folder in which a program that this process started closed a run: others may have taken its name before that.

    None where no such run is this user's.
    """
    return next(iter(own_among(closed_as(archive, run))), None)


def closed_as(archive: Path, run: str, repeated: str = "") -> list[Path]:
    """What has the name of a run, or one under which its driver closes it where that is taken.

    `repeated`: a pattern of what may be appended to the name where the run is made again.
    """
    names = re.compile(rf"{re.escape(run)}{repeated}(-{CLOSED_AS}(-[0-9a-f]{{8}})?)?")
    return [folder for folder in sorted(entries(archive)) if names.fullmatch(folder.name)]


def own_among(folders: Sequence[Path]) -> list[Path]:
    """Runs of an archive that are this user's, also where a file server gives them to another (root_squash)."""
    if folders and not any(map(is_own, folders)):
        made = folders[0].with_name(f".{secrets.token_hex(8)}.new")
        with contextlib.suppress(OSError), new_folder(made, mode=0o700, parents=False):  # which shows to whom
            made.rmdir()
    return [*filter(is_own, folders)]


def sweep(folder: OwnFolder) -> None:
    """Remove what processes left that were killed while they wrote."""
    for name in folder.names():
        if name.endswith(".new"):
            with contextlib.suppress(OSError):
                folder.remove(name)
    shutil.rmtree(SPILL_FOLDER, ignore_errors=True, dir_fd=folder.handle)


def write_run_file(folder: OwnFolder, info: RunInfo) -> None:
    """run.json, replaced in one step. Raises OSError."""
    content = msgspec.json.format(msgspec.json.encode(info, enc_hook=str), indent=2) + b"\n"
    folder.replace(layout.RUN_FILE, content)


def _names(run: str, another: str) -> Iterator[str]:
    """RUN, RUN-another, then names that nobody else can choose before."""
    yield run
    yield f"{run}-{another}"
    while True:
        yield f"{run}-{another}-{secrets.token_hex(4)}"


def _is_free(final: Path) -> bool:
    """Whether a folder can get this name: nothing has it, or an empty folder of this user's."""
    return not os.path.lexists(final) or (is_own(final) and final.is_dir() and not any(final.iterdir()))


def _named(info: RunInfo, name: str) -> RunInfo:
    if name == info.run:
        return info
    taken = f"The name {info.run} was taken when this run was closed."
    return msgspec.structs.replace(info, run=name, reason=f"{info.reason} {taken}".strip())


def _with_samples(folder: OwnFolder, info: RunInfo, without: Refusals) -> RunInfo:
    if info.kind is RunKind.IMPORT:
        return info  # it has no samples
    try:
        write_samples(folder.path, info.run)
    except NotInstalled:
        return info  # whoever chose an installation without DuckDB needs no remark on every run
    except without as error:
        return msgspec.structs.replace(info, reason=f"{info.reason} {NO_SAMPLES} {error}".strip())
    return info
