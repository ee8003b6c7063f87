"""Writes imported values into the archive: one run for each run that the files have."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.contents import take_in
from seatrial.archive.journal import ValuesImported, of_type
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_entries
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import sentences
from seatrial.commands.import_values.batches import ImportOptions, read_batches, runs_of
from seatrial.driver.run import times_of, write_batch
from seatrial.files.inputs import TABLES_BYTES, Allowance, BadInput, as_text, files_in, read_input
from seatrial.model.errors import UsageError
from seatrial.model.imported import Batch, Source
from seatrial.model.words import count

MOST_FILES = 5000
STEM = 60
"""Characters of a file's name that become part of names of runs."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and which of it was in the archive already."""

    runs: tuple[str, ...]
    batches: tuple[Batch, ...]
    already: tuple[str, ...] = ()
    """The `runs` that an earlier import of the same values wrote, which may have been interrupted."""


def import_files(
    archive: Path,
    paths: Sequence[Path],
    wanted: ImportOptions,
    *,
    name: str = "",
    cluster: str = "",
    command: Sequence[str] = (),
) -> Imported:
    """Read the files, and those right in folders; write nothing unless all of it can be used.

    A run appears when it is whole, and is not written again if it has the values of these files already, so that an
    interrupted import continues.
    Raises UsageError, also where a run of that name has other values, and ArchiveError.
    """
    batches = read_batches(_files(paths), wanted)
    digest = hashlib.sha256("".join(sorted({batch.source.sha256 for batch in batches})).encode()).hexdigest()
    stem = name or f"{re.sub('[^A-Za-z0-9_]+', '-', paths[0].stem).strip('-')[:STEM] or 'values'}-{digest[:8]}"
    groups = runs_of(batches)
    names = [f"{stem}-{number:04d}" for number in range(1, len(groups) + 1)]
    already = tuple(run for run, group in zip(names, groups, strict=True) if _is_there(archive / run, group))
    with sentences(archive):
        archive.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(archive.resolve(), Use.WHOLE) as working:
            for run, group, started in zip(names, groups, times_of([group[0] for group in groups]), strict=True):
                if run not in already:
                    whole = write_batch(working.path, run, group, started, cluster=cluster, command=command)
                    take_in(whole, archive)
    return Imported(runs=tuple(names), batches=batches, already=already)


def _is_there(folder: Path, group: Sequence[Batch]) -> bool:
    """Whether the run was imported before. Raises UsageError for a run of that name with other values."""
    if not os.path.lexists(folder):
        return False
    try:
        entries = of_type(read_entries(folder), ValuesImported)
    except DamagedRun:
        entries = []
    imported = [(one.source.sha256, one.label, one.values) for one in entries]
    if imported == [(batch.source.sha256, batch.label, batch.values) for batch in group]:
        return True
    raise UsageError(
        f"There is a run of that name with other values: {folder}.",
        "Give these another name with --name, or delete it.",
    )


def _files(paths: Sequence[Path]) -> list[tuple[Source, str]]:
    """Raises UsageError for what cannot be read."""
    files: list[tuple[Path, Path | None]] = []
    for path in paths:
        if path.is_dir():
            files += [(one, path) for one in files_in(path, MOST_FILES)]
        else:
            files.append((path, None))
    if not 0 < len(files) <= MOST_FILES:
        raise UsageError(f"There are {count(len(files), 'file')}; 1 to {MOST_FILES} are read.", "Give other files.")
    read, together = [], Allowance(TABLES_BYTES, "these files")
    for path, folder in files:
        content = together.take(read_input(path, TABLES_BYTES, folder))
        if b"\0" in content:
            raise BadInput(f"{path} is binary, not text.", "Give the text that the program printed.")
        source = Source(
            file=str(path),
            sha256=hashlib.sha256(content).hexdigest(),
            file_bytes=len(content),
            form="",
            in_folder=folder is not None,
        )
        read.append((source, as_text(content, path)))
    return read
