"""Writes one run: a folder that grows under `.partial` and is renamed when it is whole, and a compressed copy."""

import contextlib
import errno
import io
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from seatrial.archive import layout
from seatrial.archive.contents import CLOSED_AS, Tally, close_folder, write_run_file
from seatrial.archive.journal import Entry, encode
from seatrial.archive.lease import Held, Hold, Holder
from seatrial.archive.samples import SamplesUnmade, TooLittleMemory
from seatrial.files.writing import OwnFolder, descriptor_path, own_folder, rename_folder, tentative_folder, unfinished
from seatrial.model.errors import FULL, SeatrialError
from seatrial.model.run import Ending, RunInfo

if TYPE_CHECKING:
    from seatrial.fabric.routed_fabric import Routing

import tempfile
import zlib
from itertools import chain

from seatrial.files.owners import cache_folder, make_trusted

LEVEL = 1
"""The fastest: journals and facts become 5 to 10 times smaller."""
MEMORY_BYTES = 4 << 20
"""Bytes of compressed journal that are kept in memory; more goes to the file."""
PIECE_BYTES = 1 << 20


class RescueCopy:
    """The journal's lines, and the other files by their path in the folder."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(LEVEL)
        self._compressed = bytearray()
        """What is not in the file."""
        self._file: IO[bytes] | None = None
        self._file_bytes = 0
        """Bytes of the file's content that count; a full disk may have taken half of a piece besides."""
        self._takes_more = True
        self._files: dict[str, bytes] = {}

    def add_line(self, line: bytes) -> None:
        """One line of the journal."""
        self._compressed += self._compressor.compress(line)
        if len(self._compressed) > MEMORY_BYTES and self._takes_more:
            self._spill()

    def _spill(self) -> None:
        """Move what is in memory to the file; where there is no space it stays in memory, now and later."""
        try:
            if self._file is None:
                self._file = _unnamed_file()
            self._file.seek(self._file_bytes)
            self._file.write(self._compressed)
            self._file.flush()
        except (OSError, SeatrialError):
            self._takes_more = False
            return
        self._file_bytes += len(self._compressed)
        self._compressed.clear()

    def add_file(self, name: str, content: bytes) -> None:
        """A file, or what replaces it."""
        self._files[name] = zlib.compress(content, LEVEL)

    def journal(self) -> Iterator[bytes]:
        """The whole journal, in pieces. Raises OSError where the file cannot be read."""
        decompressor = zlib.decompressobj()
        for piece in chain(self._spilled(), (bytes(self._compressed), self._compressor.copy().flush())):
            yield decompressor.decompress(piece)
        yield decompressor.flush()

    def _spilled(self) -> Iterator[bytes]:
        left = self._file_bytes
        if self._file is not None:
            self._file.seek(0)
            while piece := self._file.read(min(PIECE_BYTES, left)):
                left -= len(piece)
                yield piece

    def write_journal(self, folder: Path) -> None:
        """Write the journal to the folder, in one step. Raises OSError."""
        with own_folder(folder) as own, own.new_file(layout.JOURNAL_FILE) as file:
            file.writelines(self.journal())

    def write_files(self, folder: Path) -> None:
        """Write all other files to the folder. Raises OSError."""
        with own_folder(folder) as own:
            for name, content in self._files.items():
                own.replace(name, zlib.decompress(content))


def _unnamed_file() -> IO[bytes]:
    """A file in the user's cache folder that disappears with this process. Raises OSError, SeatrialError."""
    folder = cache_folder()
    make_trusted(folder)
    return tempfile.TemporaryFile(dir=folder)


RESCUED = "rescued"
"""Appended to the name of a run whose folder was removed while its driver ran."""
MOST_RESCUES = 5


WHY = {
    errno.ENOSPC: "there is no space left",
    errno.EDQUOT: "there is no space left",
    errno.ENOTDIR: "a file is in the place of a folder above it",
    errno.EEXIST: "a file is in the place of a folder above it",
}


class ArchiveError(SeatrialError):
    """The archive cannot be written."""


class RunTaken(ArchiveError):
    """The folder of the run was closed, renamed or removed by another process while its driver wrote to it."""


@contextmanager
def sentences(folder: Path) -> Iterator[None]:
    """Turn the system's errors while writing into a sentence with what is safe and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise ArchiveError(
                f"No space left for the archive {folder} ({error.strerror}): what was delivered before is safe there.",
                "Free some space, or allow larger files (ulimit -f), then `seatrial runs recover`.",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
            raise ArchiveError(
                f"The archive {folder} cannot be written: {error.strerror}.",
                "Make it writable; `seatrial runs recover` then closes what it holds. Or name another with --archive.",
            ) from error
        raise ArchiveError(f"Writing the archive {folder} failed: {error}.") from error


@contextmanager
def sentences_on(target: Path, remedy: str) -> Iterator[None]:
    """Turn the system's errors while writing a file that the user named into a sentence. Raises ArchiveError."""
    try:
        yield
    except OSError as error:
        why = WHY.get(error.errno or 0, str(error.strerror or error))
        raise ArchiveError(f"{target} cannot be written: {why}.", remedy) from error


class RunWriter:
    """The one writer of one run. Everything is on its way to the disk when a call returns.

    While it is open it holds the run's lease. Where the folder is taken away from it all calls raise RunTaken but
    `close`, which then writes everything that was delivered into a folder of another name.
    """

    def __init__(self, archive: Path, info: RunInfo) -> None:
        """Create the `.partial` folder. Raises UsageError where there is a run of that name, ArchiveError."""
        self.archive = archive
        self.info = info
        self._tally = Tally()
        self._copy = RescueCopy()
        layout.refuse_taken(archive, info.run)
        with sentences(archive):
            self._open(archive / f"{info.run}{layout.PARTIAL}")

    @property
    def measurements(self) -> int:
        """How many were delivered so far."""
        return self._tally.measurements

    def _open(self, folder: Path) -> None:
        """The folder gets its name once it has a description and a lease: others see no open run without them.

        The lease comes first: what is left without one is not known to be a killed run's.
        """
        with tentative_folder(folder.with_name(unfinished())) as own:
            self._held = Hold(own.path, Holder.DRIVER, with_beat=self._flush)
            own.make_folder(layout.FACTS_FOLDER)
            own.make_folder(layout.LOGS_FOLDER)
            write_run_file(own, self.info)
            self._home = os.dup(own.handle)
            rename_folder(own.path, folder.name)
            self.folder = self._held.folder = folder
            self._journal: IO[bytes] = own.create(layout.JOURNAL_FILE)

    def _flush(self) -> None:
        """Have the file server take what was appended: an NFS client may keep it for 30 s, and its node may fail."""
        with contextlib.suppress(ValueError, AttributeError):  # the journal is closed already, or not there yet
            os.fsync(self._journal.fileno())

    def describe(self, info: RunInfo) -> None:
        """Replace run.json, at once or not at all."""
        self.info = info
        with self._writing(), self._own_folder() as own:
            write_run_file(own, info)

    def append(self, entry: Entry) -> None:
        """Add one entry to the journal; a line is written whole or, when the disk fills, taken back."""
        line = left = encode(entry)
        try:
            with sentences(self.archive):
                try:
                    while left:  # what is written of it before the disk is full says nothing of the reason
                        left = left[self._journal.write(left) :]
                except OSError:
                    self._journal.truncate(self._tally.journal_bytes)
                    raise
        except ArchiveError:
            if not self._is_lost():
                raise
        self._tally.add_line(line, entry)
        self._copy.add_line(line)
        if self._held.suspect:
            self._refuse_lost()

    def write_facts(self, reading: str, texts: Mapping[str, str]) -> None:
        """Keep the raw facts of nodes; whether the run is still ours is asked once for all of them."""
        names = {layout.facts_file(Path(), node, reading).as_posix(): text for node, text in texts.items()}
        self._write_files({name: text.encode("utf-8") for name, text in names.items()})

    def write_wiring(self, routing: "Routing") -> None:
        """Store the given cables and routes of the fabric."""
        self._write_files({layout.FABRIC_FILE: msgspec.json.encode(routing)})

    def _write_files(self, files: Mapping[str, bytes]) -> None:
        """Write files by their path in the folder. Of a run that is no longer ours all are kept for its rescue."""
        waiting = dict(files)
        try:
            with self._writing(), self._own_folder() as own:
                for name, content in files.items():
                    own.replace(name, content)
                    self._keep_file(name, waiting.pop(name))
        except RunTaken:
            for name, content in waiting.items():
                self._keep_file(name, content)
            raise

    def _keep_file(self, name: str, content: bytes) -> None:
        self._tally.add_file(name, content)
        self._copy.add_file(name, content)

    def log_file(self, name: str) -> Path:
        """The file for a launched program's standard error, for this process alone. Raises RunTaken.

        The path leads into the folder that was made, whatever has taken its name since.
        """
        if self._held.suspect or not self.folder.is_dir():
            self._refuse_lost()
        return descriptor_path(self._home) / layout.LOGS_FOLDER / name

    def write_log(self, name: str, content: Path | bytes) -> Path:
        """Keep a text, or a copy of a file, among the logs; its path. Raises ArchiveError, RunTaken."""
        with (
            self._writing(),
            self._own_folder() as own,
            own.new_file(f"{layout.LOGS_FOLDER}/{name}") as target,
            io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source,
        ):
            shutil.copyfileobj(source, target)
        return self.folder / layout.LOGS_FOLDER / name

    def close(self, info: RunInfo, failure: SeatrialError | None = None) -> Path:
        """Write samples.parquet and run.json, rename, and return the folder's final path.

        `failure`: the error that ended the run, whose message is the reason of `info`.

        Where there is too little memory for the samples they are left out, as the run's reason states: they are made
        from the journal when they are needed. A run whose folder was removed is closed as RUN-rescued.
        """
        try:
            with self._writing():
                self._close(info)
        except RunTaken as error:
            self._rescue(info, error, reported=isinstance(failure, RunTaken))
        return self.folder

    def _close(self, info: RunInfo) -> None:
        self._journal.close()
        if self._journal_bytes() != self._tally.journal_bytes:
            # Another process removed the journal alone, or a network file system wrote less than it had taken.
            self._copy.write_journal(self.folder)
        self.info = info
        without = (TooLittleMemory, SamplesUnmade)
        self.folder, self.info = close_folder(self.folder, info, self._tally, CLOSED_AS, without)
        self._held.release()
        os.close(self._home)

    def _journal_bytes(self) -> int | None:
        """Length of the journal on the disk; None where it is missing."""
        try:
            return (self.folder / layout.JOURNAL_FILE).stat().st_size
        except FileNotFoundError:
            return None

    def _rescue(self, info: RunInfo, taken: RunTaken, *, reported: bool) -> None:
        """Write all that was delivered into a new folder, and close that. `reported`: its reason says already why."""
        self._held.release()
        os.close(self._home)
        with contextlib.suppress(OSError):
            self._journal.close()
        said = "" if reported else taken.what
        for number in range(1, MOST_RESCUES):
            run = f"{info.run}-{RESCUED}" + (f"-{secrets.token_hex(4)}" if number > 1 else "")
            folder = self.archive / f"{run}{layout.PARTIAL}"
            if any(map(os.path.lexists, (self.archive / run, folder))):
                continue
            reason = f"{said} {info.reason}".strip()
            try:
                with sentences(self.archive):
                    self._open(folder)
                    self._copy.write_files(folder)
                    self._copy.write_journal(folder)
                    self._close(msgspec.structs.replace(info, run=run, reason=reason))
            except ArchiveError as error:
                raise ArchiveError(f"{taken.what} But that failed: {error.what}", error.remedy) from error
            return
        raise taken

    @contextmanager
    def _own_folder(self) -> Iterator[OwnFolder]:
        """The folder that was made. Raises OSError where its name is another one's by now."""
        with own_folder(self.folder) as own:
            if not os.path.samestat(os.fstat(own.handle), os.fstat(self._home)):
                raise FileNotFoundError(errno.ENOENT, "another folder has its name", str(self.folder))
            yield own

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Refuse where the run is no longer ours, before and after a system error; else report that error."""
        self._refuse_lost()
        try:
            with sentences(self.archive):
                yield
        except ArchiveError:
            self._refuse_lost()
            raise

    def _refuse_lost(self) -> None:
        if not self._is_lost():
            self._held.suspect = False
            return
        by = self._held.taken_by
        if by is not None and by.holder is Holder.RECOVER:
            who = f"by `seatrial runs recover` of {by.user} on {by.host}"
        else:
            who = "or its folder renamed or removed"
        run = layout.run_of(self.folder)
        raise RunTaken(
            f"The run {run} was closed {who} while it was being measured; all that it had delivered is kept in the run "
            f"{run}-{RESCUED}."
        )

    def _is_lost(self) -> bool:
        """Whether the folder is no longer ours: another lease, or no lease and another journal."""
        held = self._held.look()
        if held is not Held.MISSING:
            return held is Held.TAKEN
        try:
            status, ours = (self.folder / layout.JOURNAL_FILE).stat(), os.fstat(self._journal.fileno())
        except (OSError, ValueError):  # also where the journal is closed already
            return True
        return (status.st_dev, status.st_ino) != (ours.st_dev, ours.st_ino)


def ended(info: RunInfo, ending: Ending, at: str, reason: str = "") -> RunInfo:
    """A copy of the run's description with its ending."""
    return msgspec.structs.replace(info, ending=ending, ended=at, reason=reason)
