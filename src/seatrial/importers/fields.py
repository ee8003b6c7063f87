"""Large tables of text: read in pieces of whole lines, split into fields, and converted to arrays of numbers."""

import io
import math
from collections.abc import Iterator
from typing import IO

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.errors import UsageError
from seatrial.model.pair_table import Reals
from seatrial.model.units import size

PIECE_BYTES = 4 << 20
LONGEST_LINE_BYTES = 16 << 20
"""A line of mpiGraph for 10,000 nodes has 100 kB."""
MOST_TEXT_BYTES = 256 << 20
"""Bytes of a format that is read as one text."""
Source = str | IO[bytes]
"""A whole text, or a stream of bytes that is read once."""


def pieces(source: Source) -> Iterator[bytes]:
    """The text in pieces that end with a newline. Raises UsageError for an endless line.

    The first piece has at least PIECE_BYTES, or is the whole text: enough to recognise a format by.
    """
    stream = io.BytesIO(source.encode("utf-8", errors="replace")) if isinstance(source, str) else source
    rest, piece = b"", stream.read(PIECE_BYTES)
    while piece:
        following = stream.read(PIECE_BYTES)
        lines, newline, begun = piece.rpartition(b"\n") if following else (piece.removesuffix(b"\n"), b"\n", b"")
        if newline:
            yield b"".join((rest, lines, newline))
            rest = begun
        else:
            rest += piece
        if len(rest) > LONGEST_LINE_BYTES:
            raise _endless()
        piece = following


def text_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines from here on. Raises UsageError for an endless one."""
    while line := stream.readline(LONGEST_LINE_BYTES + 1):
        if len(line) > LONGEST_LINE_BYTES:
            raise _endless()
        yield line


def _endless() -> UsageError:
    return UsageError(
        f"The file has a line of more than {size(LONGEST_LINE_BYTES)}.", "Check that it is the right file."
    )


def whole_text(source: Iterator[bytes], form: str) -> str:
    """All pieces as one text, invalid bytes replaced. Raises UsageError beyond MOST_TEXT_BYTES."""
    read: list[bytes] = []
    left_bytes = MOST_TEXT_BYTES
    for piece in source:
        read.append(piece)
        left_bytes -= len(piece)
        if left_bytes < 0:
            raise UsageError(
                f"The file is too large: the limit of the format {form} is {size(MOST_TEXT_BYTES)}.",
                "Write the numbers as csv: source,target,latency_us,bandwidth_mb_s.",
            )
    return b"".join(read).decode("utf-8", errors="replace")


Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
PADDING = 64
"""Zeros after a piece, so that words of eight bytes can be read at every place."""
NEWLINES = b"\n\r\x0b\x0c\x1c\x1d\x1e"
"""What Python treats as the end of a line."""
NEITHER, SPACE, DELIMITER, NEWLINE = 0, 1, 2, 3
LONGEST_PLAIN = 17
"""Bytes of a number that fit into an integer of 64 bits, the point included."""
EXACT = 1 << 53
"""Integers below it are doubles. The quotient of two doubles is rounded once, as the text's own value would be."""


CLASSES = bytes(
    SPACE if byte == ord(" ") else DELIMITER if byte in b",;\t" else NEWLINE if byte in NEWLINES else NEITHER
    for byte in range(256)
)
WORD_BYTES = 8
MASKS = np.array([(1 << 8 * count) - 1 for count in range(WORD_BYTES + 1)], dtype=np.uint64)
"""Number of bytes -> mask of those bytes in a little-endian word."""


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of one piece of text. Field f is `content[start[f]:end[f]]`; line l has `count[l]` from `first[l]` on.

    A field may be empty. Lines without text are left out. `content` is followed by PADDING zeros.
    """

    content: Bytes
    start: Places
    end: Places
    first: Places
    count: Places


def split_fields(piece: bytes) -> Fields:
    """Divide whole lines at each comma, semicolon or tab, spaces around it included, and at other runs of spaces.

    Between two commas is an empty field. Tabs at the beginning of a line, and empty fields at its end, are left out.
    """
    content = np.frombuffer(piece + b"\n" + bytes(PADDING), dtype=np.uint8)
    kind = np.frombuffer(piece.translate(CLASSES) + bytes([NEWLINE]), dtype=np.uint8)
    inside = kind == NEITHER
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if inside[0]:
        edges = np.concatenate(([0], edges))
    start, end = edges[0::2], edges[1::2]
    newlines = np.flatnonzero(kind == NEWLINE)
    bounds = np.searchsorted(start, newlines)
    empty = _empty_before(content, kind, start, bounds, newlines)
    if empty is not None:
        after = np.concatenate(([0], np.cumsum(empty + 1)))
        text_end, begun = end, start
        start, end = np.repeat(begun, empty + 1), np.repeat(begun, empty + 1)
        end[after[1:] - 1] = text_end
        bounds = after[bounds]
    first = np.concatenate(([0], bounds[:-1]))
    count = bounds - first
    written = count > 0
    return Fields(content=content, start=start, end=end, first=first[written], count=count[written])


def _empty_before(content: Bytes, kind: Bytes, start: Places, bounds: Places, newlines: Places) -> Places | None:
    """The number of empty fields before each field with text in its line.

    None: no empty one in the whole piece.
    """
    hard = kind == DELIMITER
    if not len(start) or not (hard[0] or (hard[1:] & (kind[:-1] != NEITHER)).any()):
        return None
    counted = np.cumsum(hard, dtype=np.int64)
    before = counted[start]
    empty = np.maximum(np.diff(before, prepend=0) - 1, 0)
    leading = np.cumsum(hard & (content[: len(hard)] != ord("\t")), dtype=np.int64)
    at_begin = np.concatenate(([0], leading[newlines[:-1]]))
    first = np.concatenate(([0], bounds[:-1]))
    written = bounds > first
    heads = first[written]
    empty[heads] = leading[start[heads]] - at_begin[written]
    return empty if empty.any() else None


def numbers(fields: Fields, chosen: Places) -> Reals:
    """The values of those fields, to the last bit as `float` reads them.

    NaN for a field that is empty or not a number. A NaN that is written out was given: it comes as infinity.
    """
    content, start = fields.content, fields.start[chosen]
    length = fields.end[chosen] - start
    whole = np.zeros(len(chosen), dtype=np.int64)
    decimals = np.zeros(len(chosen), dtype=np.int64)
    pointed = np.zeros(len(chosen), dtype=np.bool_)
    plain = length <= LONGEST_PLAIN
    for place in range(min(int(length.max(initial=0)), LONGEST_PLAIN)):
        byte = content[start + place]
        digit = byte - np.uint8(ord("0"))
        within = place < length
        is_digit = (digit < 10) & within
        is_point = (byte == ord(".")) & within
        plain &= is_digit | ~within | (is_point & ~pointed)
        whole = np.where(is_digit, whole * 10 + digit, whole)
        decimals += is_digit & pointed
        pointed |= is_point
    plain &= (whole < EXACT) & (length > pointed)
    values = whole / np.power(10.0, decimals)
    values[length == 0] = np.nan
    rest = np.flatnonzero(~plain & (length > 0))
    short = rest[length[rest] <= WORD_BYTES]
    if len(short):  # "nan" or "-" may occur in every line
        at_every_place = np.ndarray((len(content) - 7,), dtype="<u8", buffer=content.data, strides=(1,))
        words, where = np.unique(at_every_place[start[short]] & MASKS[length[short]], return_inverse=True)
        values[short] = np.array([_number(word.tobytes().rstrip(b"\0")) for word in words.astype("<u8")])[where]
    for row in rest[length[rest] > WORD_BYTES].tolist():
        values[row] = _number(content[start[row] : start[row] + length[row]].tobytes())
    return values


def _number(text: bytes) -> float:
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return math.inf if math.isnan(number) else number
