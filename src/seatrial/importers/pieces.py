"""Large texts in pieces of whole lines, so that no more than one piece is in memory."""

import io
from collections.abc import Iterator
from typing import IO

from seatrial.model.errors import UsageError
from seatrial.model.units import size

PIECE_BYTES = 4 << 20
LONGEST_LINE_BYTES = 16 << 20
"""A line of mpiGraph for 10,000 nodes has 100 kB."""
MOST_TEXT_BYTES = 256 << 20
"""Of a format that is read as one text."""
Source = str | IO[bytes]
"""A whole text, or a stream of bytes that is read once."""


def pieces(source: Source) -> Iterator[bytes]:
    """The text in pieces that end with a newline. Raises UsageError for an endless line.

    The first piece has at least PIECE_BYTES, or is the whole text: enough to recognise a format by.
    """
    stream = io.BytesIO(source.encode("utf-8", errors="replace")) if isinstance(source, str) else source
    rest = b""
    while piece := stream.read(PIECE_BYTES):
        lines, newline, begun = piece.rpartition(b"\n")
        if newline:
            yield b"".join((rest, lines, newline))
            rest = begun
        else:
            rest += piece
        if len(rest) > LONGEST_LINE_BYTES:
            raise UsageError(
                f"The file has a line of more than {size(LONGEST_LINE_BYTES)}.", "Check that it is the right file."
            )
    if rest:
        yield rest + b"\n"


def whole_text(source: Iterator[bytes], form: str) -> str:
    """All pieces as one text, foreign bytes replaced. Raises UsageError beyond MOST_TEXT_BYTES."""
    read: list[bytes] = []
    left_bytes = MOST_TEXT_BYTES
    for piece in source:
        read.append(piece)
        left_bytes -= len(piece)
        if left_bytes < 0:
            raise UsageError(
                f"The file is too large: of the format {form} at most {size(MOST_TEXT_BYTES)} are read.",
                "Write the numbers as csv: source,target,latency_us,bandwidth_mb_s.",
            )
    return b"".join(read).decode("utf-8", errors="replace")
