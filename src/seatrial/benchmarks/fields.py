"""Fields and numbers of many lines at once: bytes in, arrays of places and of doubles out."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
PADDING = 64
"""Zeros after a piece, so that words of eight bytes can be read at every place."""
NEWLINES = b"\n\r\x0b\x0c\x1c\x1d\x1e"
"""What Python takes for the end of a line."""
NEITHER, DELIMITER, NEWLINE = 0, 1, 2
LONGEST_PLAIN = 17
"""Bytes of a number that fit into an integer of 64 bits, the point included."""
EXACT = 1 << 53
"""Integers below it are doubles. The quotient of two doubles is rounded once, as the text's own value would be."""


CLASSES = bytes(DELIMITER if byte in b",;\t " else NEWLINE if byte in NEWLINES else NEITHER for byte in range(256))


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of one piece of text. Field f is `content[start[f]:end[f]]`; line l has `count[l]` from `first[l]` on.

    Lines without fields are left out. `content` is followed by PADDING zeros.
    """

    content: Bytes
    start: Places
    end: Places
    first: Places
    count: Places


def split_fields(piece: bytes) -> Fields:
    """Divide whole lines at runs of commas, semicolons, tabs and spaces."""
    content = np.frombuffer(piece + b"\n" + bytes(PADDING), dtype=np.uint8)
    kind = np.frombuffer(piece.translate(CLASSES) + bytes([NEWLINE]), dtype=np.uint8)
    inside = kind == NEITHER
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if inside[0]:
        edges = np.concatenate(([0], edges))
    start, end = edges[0::2], edges[1::2]
    bounds = np.searchsorted(start, np.flatnonzero(kind == NEWLINE))
    first = np.concatenate(([0], bounds[:-1]))
    count = bounds - first
    written = count > 0
    return Fields(content=content, start=start, end=end, first=first[written], count=count[written])


def numbers(fields: Fields, chosen: Places) -> Reals:
    """The values of those fields, to the last bit as `float` reads them; NaN for what is no finite number."""
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
    for row in np.flatnonzero(~plain).tolist():
        values[row] = _number(content[start[row] : start[row] + length[row]].tobytes())
    return np.where(np.isfinite(values), values, np.nan)


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
