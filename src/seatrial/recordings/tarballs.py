"""Tar archives (plain, gzip, bzip2, xz) and ttar archives, unpacked safely although their source is not trusted."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from seatrial.files.inputs import ANY_SIZE, Allowance, open_regular
from seatrial.model.errors import UsageError
from seatrial.recordings.trees import TreeWriter, too_large

OPENINGS = (b"# Archive created by ttar", b"# ttar ", b"Directory: ", b"Path: ")
NO_NEWLINE = b"EOF"
NUL = b"NULLBYTE"


def is_ttar(beginning: bytes) -> bool:
    """Whether a file that begins so is one."""
    return beginning.startswith(OPENINGS)


def unpack_ttar(content: bytes, writer: TreeWriter) -> None:
    """Rebuild the tree. Raises UsageError for a line that does not belong there, with its number."""
    lines = iter(enumerate(content.split(b"\n"), start=1))
    path = ""
    for number, line in lines:
        keyword, _, rest = line.partition(b": ")
        text = rest.decode("utf-8", errors="surrogateescape")
        match keyword:
            case b"Path":
                path = text
            case b"Directory":
                path = ""
                writer.folder(text)
            case b"SymlinkTo" if path:
                writer.link(path, text)
            case b"Lines" if path and rest.isdigit() and len(rest) < 10:
                writer.file(path, _content(lines, int(rest)))
            case b"Mode":
                path = ""
            case _ if line and not line.startswith(b"#"):
                raise UsageError(
                    f"Line {number} of the ttar archive is {line[:60].decode('utf-8', errors='replace')!r}.",
                    "Path:, Lines:, Mode:, Directory: or SymlinkTo: was expected; it may have been cut or edited.",
                )


def _content(lines: Iterator[tuple[int, bytes]], count: int) -> Iterator[bytes]:
    """`count` lines as they were: a backslash keeps a literal NULLBYTE and a literal EOF apart from the marks."""
    for left in range(count, 0, -1):
        _, line = next(lines, (0, None))
        if line is None:
            return
        whole = left > 1 or not line.endswith(NO_NEWLINE) or line.endswith(b"\\" + NO_NEWLINE)
        line = line if whole else line.removesuffix(NO_NEWLINE)
        halves = (half.replace(NUL, b"\0") for half in line.split(b"\\" + NUL))
        yield NUL.join(halves).replace(b"\\" + NO_NEWLINE, NO_NEWLINE) + (b"\n" if whole else b"")


BLOCK = 512
CHUNK = 1 << 16
BEGINNING_BYTES = 4096
LONGEST_READ = 64 << 20
"""No header of an honest archive is longer; a dishonest one would have it all in memory."""
HEADERS = 4
"""How many times as long as its content an archive may be, which has a header for each member."""
COMPRESSIONS: tuple[tuple[bytes, Callable[[IO[bytes]], object]], ...] = (
    (b"\x1f\x8b", lambda stream: gzip.GzipFile(fileobj=stream)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
)
DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError, OverflowError, RecursionError)


class Capped:
    """A stream that refuses reads beyond a total length, or of too much at once."""

    def __init__(self, stream: IO[bytes], largest: int) -> None:
        self._stream = stream
        self._largest = largest

    def read(self, count: int = -1) -> bytes:
        """Read like any stream; raises UsageError."""
        if not 0 <= count <= LONGEST_READ:
            raise too_large(LONGEST_READ)
        data = self._stream.read(count)
        if self._stream.tell() > self._largest:
            raise too_large(self._largest)
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        """Seek like any stream: what is compressed is unpacked on the way."""
        if place > self._largest:
            raise too_large(self._largest)
        return self._stream.seek(place, whence)

    def tell(self) -> int:
        """Bytes read so far."""
        return self._stream.tell()


@contextmanager
def opened(path: Path, folder: Path | None = None) -> Iterator[IO[bytes]]:
    """The file, without its compression; `folder`: above it, which no link may lead out of.

    Raises UsageError for what is not a regular file, OSError; damage shows when it is read.
    """
    with open_regular(path, ANY_SIZE, folder) as stream:
        magic = stream.read(8)
        stream.seek(0)
        decompressed = next((each for beginning, each in COMPRESSIONS if magic.startswith(beginning)), None)
        yield stream if decompressed is None else cast(IO[bytes], decompressed(stream))


def beginning(path: Path, folder: Path | None = None) -> bytes:
    """The first bytes of the file, without its compression. Raises UsageError where it is damaged; see `opened`."""
    try:
        with opened(path, folder) as stream:
            return stream.read(BEGINNING_BYTES)
    except DAMAGE as error:
        raise UsageError(f"{path} cannot be read: {_said(error)}.") from error


def whole(path: Path, folder: Path | None = None, together: Allowance | None = None) -> bytes:
    """All of the file, without its compression. Raises UsageError where it is damaged or larger than 64 MiB.

    `together`: what it and others may have; also what is read of a damaged one counts.
    """
    together = together or Allowance(LONGEST_READ, path)
    try:
        with opened(path, folder) as stream:
            capped = Capped(stream, LONGEST_READ)
            return b"".join(map(together.take, iter(lambda: capped.read(CHUNK), b"")))
    except DAMAGE as error:
        raise UsageError(f"{path} cannot be read: {_said(error)}.") from error


def is_tar(first: bytes) -> bool:
    """Whether a file that begins so is a tar archive: its first header has a right checksum."""
    try:
        tarfile.TarInfo.frombuf(first[:BLOCK], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError):
        return False
    return True


def unpack_tar(path: Path, writer: TreeWriter) -> None:
    """Rebuild the tree of a tar archive. Raises UsageError where it is damaged, too large, or climbs out."""
    try:
        with (
            opened(path) as stream,
            tarfile.open(fileobj=cast(IO[bytes], Capped(stream, HEADERS * writer.largest_bytes)), mode="r:") as archive,
        ):
            place = -1
            while (member := archive.next()) is not None:
                if archive.offset <= place:  # a negative size leads back, without end
                    raise tarfile.ReadError(f"{member.name[:80]!r} has no size")
                place = archive.offset
                _unpack(archive, member, writer)
                archive.members = []  # type: ignore[attr-defined] # it would keep every one
    except DAMAGE as error:
        raise UsageError(f"The archive {path} is damaged: {_said(error)}.", "Copy or record it again.") from error


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: TreeWriter) -> None:
    if member.isdir():
        writer.folder(member.name)
    elif member.issym():
        writer.link(member.name, member.linkname)
    elif member.islnk():
        writer.same_file(member.name, member.linkname)
    elif member.isreg():
        writer.file(member.name, _chunks(archive, member))
    else:
        writer.drop()


def _chunks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    stream = archive.extractfile(member)
    while stream is not None and (chunk := stream.read(CHUNK)):
        yield chunk


def _said(error: BaseException) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__).rstrip(".")
