"""A compressed copy of what a run delivered, in memory, for the case that its folder is removed while the driver runs.

Another host may remove the files, and a network file system then gives none of them back.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

from seatrial.archive import layout
from seatrial.files.writing import own_folder

LEVEL = 1
"""The fastest: journals and facts become 5 to 10 times smaller."""
PIECE_BYTES = 1 << 20


class RescueCopy:
    """The journal's lines, and the other files by their path in the folder."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(LEVEL)
        self._pieces: list[bytes] = []
        self._files: dict[str, bytes] = {}

    def add_line(self, line: bytes) -> None:
        """One line of the journal."""
        self._pieces.append(self._compressor.compress(line))
        if len(self._pieces) > PIECE_BYTES >> 4:
            self._pieces = [b"".join(self._pieces)]

    def add_file(self, name: str, content: bytes) -> None:
        """A file, or what replaces it."""
        self._files[name] = zlib.compress(content, LEVEL)

    def journal(self) -> Iterator[bytes]:
        """The whole journal, in pieces."""
        decompressor = zlib.decompressobj()
        for piece in (*self._pieces, self._compressor.copy().flush()):
            yield decompressor.decompress(piece)
        yield decompressor.flush()

    def write_journal(self, folder: Path) -> None:
        """Write the journal to the folder, in one step. Raises OSError."""
        with own_folder(folder) as own, own.new_file(layout.JOURNAL_FILE) as file:
            file.writelines(self.journal())

    def write_files(self, folder: Path) -> None:
        """Write all other files to the folder. Raises OSError."""
        with own_folder(folder) as own:
            for name, content in self._files.items():
                own.replace(name, zlib.decompress(content))
