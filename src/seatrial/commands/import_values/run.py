"""Writes imported values into the archive: one run for each run that the files have."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.inputs import TABLES_BYTES, BadInput, read_input
from seatrial.commands.import_values.batches import Wanted, read_batches, runs_of
from seatrial.driver.imported_run import times_of, write_batch
from seatrial.model.errors import UsageError
from seatrial.model.imported import Batch, Source
from seatrial.model.words import count

MOST_FILES = 5000
STEM = 60
"""Characters of a file's name that become part of names of runs."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    runs: tuple[str, ...]
    batches: tuple[Batch, ...]


def import_files(
    archive: Path,
    paths: Sequence[Path],
    wanted: Wanted,
    *,
    name: str = "",
    cluster: str = "",
    command: Sequence[str] = (),
) -> Imported:
    """Read the files, and those right in folders; write nothing unless all of it can be used.

    Raises UsageError, also where the same files were imported before, and ArchiveError.
    """
    batches = read_batches(_files(paths), wanted)
    digest = hashlib.sha256("".join(sorted({batch.source.sha256 for batch in batches})).encode()).hexdigest()
    stem = name or f"{re.sub('[^A-Za-z0-9_]+', '-', paths[0].stem).strip('-')[:STEM] or 'values'}-{digest[:8]}"
    groups = runs_of(batches)
    names = [f"{stem}-{number:04d}" for number in range(1, len(groups) + 1)]
    taken = next((run for run in names if (archive / run).exists()), "")
    if taken:
        raise UsageError(
            f"These values are in the archive already: {archive / taken}.",
            "Delete those runs first, or give others another name with --name.",
        )
    for run, group, started in zip(names, groups, times_of([group[0] for group in groups]), strict=True):
        write_batch(archive, run, group, started, cluster=cluster, command=command)
    return Imported(runs=tuple(names), batches=batches)


def _files(paths: Sequence[Path]) -> list[tuple[Source, str]]:
    """Raises UsageError for what cannot be read."""
    files = []
    for path in paths:
        if path.is_dir():
            files += sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
        else:
            files.append(path)
    if not 0 < len(files) <= MOST_FILES:
        raise UsageError(f"There are {count(len(files), 'file')}; 1 to {MOST_FILES} are read.", "Give other files.")
    read, left_bytes = [], TABLES_BYTES
    named = {str(path) for path in paths}
    for path in files:
        content = read_input(path, left_bytes)
        left_bytes -= len(content)
        if b"\0" in content:
            raise BadInput(f"{path} is binary, not text.", "Give the text that the program printed.")
        source = Source(
            file=str(path),
            sha256=hashlib.sha256(content).hexdigest(),
            file_bytes=len(content),
            form="",
            in_folder=str(path) not in named,
        )
        read.append((source, content.decode("utf-8", errors="replace")))
    return read
