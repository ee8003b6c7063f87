"""Writes one run: a folder that grows under `.partial` and is renamed when it is whole."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import Entry, encode
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import Ending, RunInfo

if TYPE_CHECKING:
    from seatrial.fabric.routed import Routing


NO_SAMPLES = f"{layout.SAMPLES_FILE} was left out; `seatrial runs show` makes it from the journal."


class ArchiveError(SeatrialError):
    """The archive cannot be written."""


@contextmanager
def sentences(folder: Path) -> Iterator[None]:
    """Turn the system's errors while writing into a sentence that says what is safe and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ArchiveError(
                f"No space left for the archive {folder}: what was delivered before is safe there.",
                "Free some space, then `seatrial runs recover`.",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
            raise ArchiveError(
                f"The archive {folder} cannot be written: {error.strerror}.",
                "Name a folder you may write to with --archive.",
            ) from error
        raise ArchiveError(f"Writing the archive {folder} failed: {error}.") from error


class RunWriter:
    """The one writer of one run. Everything is on its way to the disk when a call returns."""

    def __init__(self, archive: Path, info: RunInfo) -> None:
        """Create the `.partial` folder. Raises UsageError where there is a run of that name, ArchiveError."""
        self.archive = archive
        self.info = info
        self.folder = archive / f"{info.run}{layout.PARTIAL}"
        for taken in (archive / info.run, self.folder):
            if taken.exists():
                raise UsageError(f"There is a run {info.run!r} already: {taken}.", "Choose another name with --run.")
        with sentences(archive):
            self.folder.mkdir(parents=True)
            (self.folder / layout.FACTS_FOLDER).mkdir()
            (self.folder / layout.LOGS_FOLDER).mkdir()
            self._journal: IO[bytes] = (self.folder / layout.JOURNAL_FILE).open("ab", buffering=0)
        self._whole_bytes = 0
        """Length of the journal's whole lines."""
        self.describe(info)

    def describe(self, info: RunInfo) -> None:
        """Replace run.json, at once or not at all."""
        self.info = info
        with sentences(self.archive):
            write_run_file(self.folder, info)

    def append(self, entry: Entry) -> None:
        """Add one entry to the journal; a line is written whole or, when the disk fills, taken back."""
        line = encode(entry)
        try:
            if self._journal.write(line) != len(line):
                self._journal.truncate(self._whole_bytes)
                raise OSError(errno.ENOSPC, "no space left")
        except OSError:
            with sentences(self.archive):
                raise
        self._whole_bytes += len(line)

    def write_facts(self, node: str, reading: str, text: str) -> None:
        """Keep a node's raw facts."""
        with sentences(self.archive):
            layout.facts_file(self.folder, node, reading).write_text(text, encoding="utf-8")

    def write_wiring(self, routing: "Routing") -> None:
        """Keep what was given of the fabric's cables and routes."""
        with sentences(self.archive):
            (self.folder / layout.FABRIC_FILE).write_bytes(msgspec.json.encode(routing))

    def log_file(self, name: str) -> Path:
        """Where a launched program's standard error goes."""
        return self.folder / layout.LOGS_FOLDER / name

    def close(self, info: RunInfo) -> Path:
        """Write samples.parquet and run.json, rename, and return the folder's final path.

        Where there is too little memory for the samples they are left out, which the run's reason says: they are made
        from the journal when they are asked for.
        """
        from seatrial.archive.duck import TooLittleMemory
        from seatrial.archive.samples import write_samples

        with sentences(self.archive):
            self._journal.close()
            try:
                write_samples(self.folder, info.run)
            except TooLittleMemory as error:
                info = msgspec.structs.replace(info, reason=f"{info.reason} {NO_SAMPLES} {error}".strip())
            self.describe(info)
            final = self.archive / info.run
            self.folder.rename(final)
        self.folder = final
        return final


def write_run_file(folder: Path, info: RunInfo) -> None:
    """run.json, replaced in one step."""
    new = folder / f"{layout.RUN_FILE}.new"
    new.write_bytes(msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n")
    new.rename(folder / layout.RUN_FILE)


def ended(info: RunInfo, ending: Ending, at: str, reason: str = "") -> RunInfo:
    """The same run with its ending."""
    return msgspec.structs.replace(info, ending=ending, ended=at, reason=reason)
