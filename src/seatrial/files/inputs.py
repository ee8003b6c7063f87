"""Opens files that others wrote, so that none of them can block the program or fill its memory."""

import contextlib
import io
import itertools
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from seatrial.files.owners import LeadsOut, open_below, open_given
from seatrial.model.errors import UsageError
from seatrial.model.units import size

MIB, GIB = 1 << 20, 1 << 30
SCENARIO_BYTES = MIB
TAIL_BYTES = 64 << 10
"""The end of a log."""
DESCRIPTION_BYTES = 64 * MIB
"""run.json, job.json, gather.json and lab.json; a run of 10,000 nodes has a few MiB."""
FACTS_BYTES = 64 * MIB
ALL_FACTS_BYTES = 2 * GIB
"""The raw facts of all nodes of a run; one node has 60 to 500 kB."""
MAP_BYTES = 128 * MIB
"""ibnetdiscover, topology.conf, perfquery. The map of 10,000 nodes has about 20 MiB."""
ROUTES_BYTES = 512 * MIB
WIRING_BYTES = 512 * MIB
"""fabric.json: a map and the routes between its nodes."""
MATRIX_BYTES = 2 * GIB
"""One line a pair, 25 million pairs: about 600 MiB."""
TABLES_BYTES = 256 * MIB
"""Outputs of other tools that are read as one text."""
JOURNAL_BYTES = 16 * GIB
JOURNAL_LINE_BYTES = 64 * MIB
ANY_SIZE = 1 << 62
"""A size for files that are not read as a whole."""

NOTICE_S = 2.0
"""A pipe that is silent for this long is reported as being waited for."""
SILENT_S = 600.0
"""A pipe that is silent for this long is abandoned. ibnetdiscover takes minutes on a large fabric."""
WRITER_S, LOOK_S = 2.0, 0.05
"""Time for which a named pipe may have no writer, and the pause between looks: a shell starts the writer beside us."""
PIECE_BYTES = MIB
SEPARATORS = b"\n\r\x0b\x0c\x1c\x1d\x1e,;\t|[{<"
LONG_SEPARATORS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
"""Line ends that take several bytes."""
MOST_PARTS = 10_000_000
"""Lines, cells, values and elements of one text. A reader makes an object of 50 to 300 bytes of each."""
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
)
_Record = TypeVar("_Record")
_Content = TypeVar("_Content", str, bytes)


class BadInput(UsageError):
    """A file that is not read: not a regular file, too large, outside of its folder, or not what it should be."""


class TooMuch(BadInput):
    """Inputs that are too large together, so that the rest of them are not read, either."""


class _NamedErrors(io.FileIO):
    """A file open for reading, of which errors name the path: a disk or a file server may fail at any time."""

    read = io.RawIOBase.read  # type: ignore[assignment] # by readinto
    readall = io.RawIOBase.readall

    def __init__(self, handle: int, path: str) -> None:
        super().__init__(handle, "rb")
        self._path = path

    def readinto(self, buffer: "io.WriteableBuffer", /) -> int | None:  # type: ignore[name-defined]
        """How many bytes were read into the buffer."""
        try:
            return super().readinto(buffer)
        except OSError as error:
            error.filename = self._path
            raise


def open_regular(path: Path, most_bytes: int, folder: Path | None = None) -> IO[bytes]:
    """A regular file of at most `most_bytes`, open for reading. Never blocks. Raises BadInput.

    `folder`: above the file, which no link may lead out of. The file may grow afterwards: read it with `read_up_to` or
    `journal_lines`.
    """
    handle = _open(path, folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{path} is {_kind(status.st_mode)}, not a regular file.", "Give a regular file.")
        if status.st_size > most_bytes:
            raise too_large(path, most_bytes, status.st_size)
        return io.BufferedReader(_NamedErrors(handle, str(path)))
    except BaseException:
        with contextlib.suppress(OSError):  # an interrupt may come when the stream has closed it already
            os.close(handle)
        raise


def journal_lines(journal: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines that a journal had when it was opened; one that somebody goes on to write would have no end.

    Raises BadInput at a line that our writer cannot have written.
    """
    left_bytes = _length(journal)
    while left_bytes > 0 and (line := journal.readline(JOURNAL_LINE_BYTES + 1)):
        if len(line) > JOURNAL_LINE_BYTES:
            raise too_large(f"A line of {path}", JOURNAL_LINE_BYTES)
        left_bytes -= len(line)
        yield line


def read_input(path: Path, most_bytes: int, folder: Path | None = None) -> bytes:
    """All of a regular file. Raises BadInput for anything else, or for more than `most_bytes`; see `open_regular`."""
    with open_regular(path, most_bytes, folder) as stream:
        return read_up_to(stream, path, most_bytes)


def read_text(path: Path, most_bytes: int, folder: Path | None = None) -> str:
    """The text of a regular file, invalid bytes replaced. Raises BadInput; see `open_regular` and `as_text`."""
    return as_text(read_input(path, most_bytes, folder), path)


def read_beginning(path: Path, most_bytes: int) -> str:
    """The first bytes of a regular file, as text; empty where it cannot be read."""
    with contextlib.suppress(BadInput, OSError), open_regular(path, ANY_SIZE) as stream:
        return stream.read(most_bytes).decode("utf-8", errors="replace")
    return ""


def read_end(path: Path, most_bytes: int = TAIL_BYTES, folder: Path | None = None) -> str:
    """The last bytes of a regular file, as text; empty where it cannot be read. `folder`: see `open_regular`."""
    with contextlib.suppress(BadInput, OSError), open_regular(path, ANY_SIZE, folder) as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - most_bytes, 0))
        return stream.read(most_bytes).decode("utf-8", errors="replace")
    return ""


def as_text(content: bytes, path: Path) -> str:
    """The text, invalid bytes replaced. Raises BadInput where it has more parts than a reader may make objects of."""
    parts = len(content) - len(content.translate(None, SEPARATORS)) + sum(map(content.count, LONG_SEPARATORS))
    if parts > MOST_PARTS:
        raise BadInput(f"{path} has {parts:,} lines and cells; at most {MOST_PARTS:,} are read.", "Give a part of it.")
    return content.decode("utf-8", errors="replace")


class Allowance:
    """Bytes that several inputs may have together: by hard links and compression, many large files take no space."""

    def __init__(self, most_bytes: int, label: object) -> None:
        self._most_bytes = self._left_bytes = most_bytes
        self._label = label

    def take(self, content: _Content) -> _Content:
        """The content itself. Raises TooMuch where it is, together with what was taken before."""
        self._left_bytes -= len(content)
        if self._left_bytes < 0:
            raise TooMuch(
                f"All that is in {self._label} is too large; at most {size(self._most_bytes)} are read.",
                "Give a part of it.",
            )
        return content


def files_in(folder: Path, most: int) -> list[Path]:
    """The files right in a folder, hidden ones aside, by name. Raises BadInput; see `entries_in`."""
    return [path for path in entries_in(folder, most) if path.is_file() and not path.name.startswith(".")]


def entries_in(folder: Path, most: int) -> list[Path]:
    """Whatever is right in a folder, by name. Raises BadInput where it has more entries, or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, most + 1)]
    except OSError as error:
        raise cannot_be_read(folder, error) from error
    if len(names) > most:
        raise BadInput(f"{folder} has more than {most:,} entries; no more are read.", "Give a part of them.")
    return [folder / name for name in sorted(names)]


def read_up_to(stream: IO[bytes], path: Path, most_bytes: int) -> bytes:
    """The rest of a stream. Raises BadInput where there is more than `most_bytes`, or it cannot be read.

    Memory is allocated for what exists: a read of `most_bytes` at once would reserve as much, and fail under a limit.
    """
    pieces: list[bytes] = []
    left = most_bytes
    try:
        piece = stream.read(min(_length(stream), left) + 1)
        while piece:
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise too_large(path, most_bytes)
            piece = stream.read(min(PIECE_BYTES, left + 1))
    except OSError as error:
        raise cannot_be_read(path, error) from error
    return b"".join(pieces)


def _length(stream: IO[bytes]) -> int:
    """The length of the file behind a stream, in bytes; one piece if there is no file."""
    try:
        return os.fstat(stream.fileno()).st_size
    except OSError:  # io.UnsupportedOperation is one
        return PIECE_BYTES


def open_argument(path: Path, most_bytes: int, waiting: Callable[[str], None] | None = None) -> IO[bytes]:
    """A file that the command line names; a pipe, such as `<(ibnetdiscover)` makes, is read to its end first.

    `waiting` is called once with a sentence while a pipe delivers nothing. Raises BadInput.
    """
    handle = _open(path)
    if not stat.S_ISFIFO(os.fstat(handle).st_mode):
        os.close(handle)
        return open_regular(path, most_bytes)
    try:
        first = _first_piece(handle, path)
        return io.BytesIO(b"" if first == b"" else b"".join(_pieces(handle, path, most_bytes, waiting, first)))
    finally:
        os.close(handle)


def argument_text(path: Path, most_bytes: int, waiting: Callable[[str], None] | None = None) -> str:
    """The text of a file that the command line names, invalid bytes replaced. Raises BadInput."""
    with open_argument(path, most_bytes, waiting) as stream:
        return as_text(read_up_to(stream, path, most_bytes), path)


def decoded(content: bytes, kind: type[_Record], path: Path) -> _Record:
    """The record in a JSON file. Raises BadInput, also for one that is nested too deeply."""
    try:
        return msgspec.json.decode(content, type=kind, dec_hook=_path_from)
    except RecursionError as error:
        raise BadInput(f"{path} is nested too deeply.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.") from error


def _path_from(kind: type[Any], value: object) -> Path:
    """Paths are stored as text. Raises TypeError for anything else, which becomes a DecodeError."""
    if kind is not Path or not isinstance(value, str):
        raise TypeError(f"Expected a path, got {type(value).__name__}")
    return Path(value)


def too_large(path: object, most_bytes: int, found_bytes: int | None = None) -> BadInput:
    """The error for a file with more than `most_bytes`."""
    has = f"has {size(found_bytes)}" if found_bytes is not None else "is too large"
    return BadInput(f"{path} {has}; at most {size(most_bytes)} are read.", "Check that it is the right file.")


def cannot_be_read(path: Path, error: OSError) -> BadInput:
    """The error for a system error on a file."""
    return BadInput(f"{path} cannot be read: {error.strerror or error}.")


def _open(path: Path, folder: Path | None = None) -> int:
    try:
        return open_given(path) if folder is None else open_below(folder, path.relative_to(folder))
    except LeadsOut as error:
        raise BadInput(
            f"{path} is a link that leads out of the folder {folder}, or in a circle.", "Copy the file in its place."
        ) from error
    except OSError as error:
        raise cannot_be_read(path, error) from error
    except ValueError as error:  # a null byte in its name
        raise BadInput(f"{str(path)!r} cannot be read: {error}.") from error


def _kind(mode: int) -> str:
    return next((name for fits, name in KINDS if fits(mode)), "not a file")


def _first_piece(handle: int, path: Path) -> bytes | None:
    """What a pipe has; None: a writer is there, and wrote nothing yet; empty: it went away and wrote nothing.

    Raises BadInput for a pipe with a name to which nobody writes.
    """
    give_up = time.monotonic() + WRITER_S
    poll = select.poll()
    poll.register(handle, 0)
    while True:
        try:
            if piece := os.read(handle, PIECE_BYTES):
                return piece
        except BlockingIOError:
            return None
        except OSError as error:
            raise cannot_be_read(path, error) from error
        if poll.poll(0):  # hung up: there was a writer, as there is for each pipe without a name
            return b""
        if time.monotonic() > give_up:
            raise BadInput(
                f"{path} is a pipe (FIFO), and no program writes to it.", "Start the program first, or give a file."
            )
        time.sleep(LOOK_S)


def _pieces(
    handle: int, path: Path, most_bytes: int, waiting: Callable[[str], None] | None, first: bytes | None
) -> Iterator[bytes]:
    """What a pipe delivers, to its end. Raises BadInput beyond `most_bytes`, or where nothing comes for `SILENT_S`.

    `first`: what was read from it already.
    """
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    left = most_bytes - len(first or b"")
    if first:
        yield first
    while left >= 0:
        if not poll.poll(NOTICE_S * 1000):
            if waiting is not None:
                waiting(f"Waiting for data from the pipe {path}.")
                waiting = None
            if not poll.poll((SILENT_S - NOTICE_S) * 1000):
                raise BadInput(f"The pipe {path} delivered nothing for {SILENT_S:.0f} s.", "Give a regular file.")
        try:
            piece = os.read(handle, PIECE_BYTES)
        except OSError as error:
            raise cannot_be_read(path, error) from error
        if not piece:
            return
        left -= len(piece)
        yield piece
    raise too_large(path, most_bytes)
