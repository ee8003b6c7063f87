"""A compressed copy of what a run delivered, for the case that its folder is removed while the driver runs.

Another host may remove the files, and a network file system then gives none of them back. The beginning of a long
journal is in a file without a name in the user's cache folder, so that a run of days needs no more memory than a short
one.
"""

import tempfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from seatrial.archive import layout
from seatrial.files.home_folders import cache_folder
from seatrial.files.trust import make_trusted
from seatrial.files.writing import own_folder
from seatrial.model.errors import SeatrialError

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
