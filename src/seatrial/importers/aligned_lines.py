"""Tables in aligned columns of which some cells are empty: lines are divided where all of them have blanks."""

import itertools
import re
from collections.abc import Sequence

from seatrial.model.unit_text import is_number

WORD = re.compile(r"\S+")
WIDEST = 4096
"""Characters of a line: columns are aligned for people, and no screen shows more."""
Span = tuple[int, int]
"""The places of the first character, and behind the last."""


def divided(lines: Sequence[str]) -> list[list[str]]:
    """The cells of each line, "" where one is empty; no rows where names and cells are not below one another.

    `lines`: the first has the names, none of which is a number. Each column needs one name. Words without a name above
    them go on with the remark before them, numbers without one may be of any column.
    """
    padded = any("  " in line.strip() for line in lines)  # else single blanks divide cells, wherever they are
    narrow = not any("\t" in line or len(line) > WIDEST for line in lines)
    blanks = _common_blanks(lines) if padded and narrow else None
    if blanks is None:
        return []
    columns: list[Span] = []
    for begin, end in _between(blanks, max(map(len, lines))):
        if lines[0][begin:end].strip():
            columns.append((begin, end))
        elif columns and not any(is_number(line[begin:end].strip()) for line in lines):
            columns[-1] = (columns[-1][0], end)
        else:
            return []
    rows = [[line[begin:end].strip() for begin, end in columns] for line in lines]
    return [] if len(columns) < 2 or any(map(_has_two, itertools.chain.from_iterable(rows[1:]))) else rows


def _common_blanks(lines: Sequence[str]) -> list[int] | None:
    """Places at which all lines have blanks, or have ended; None as soon as no such place is between two names."""
    names = [match.span() for match in WORD.finditer(lines[0])]
    gaps = [range(end, begin) for (_, end), (begin, _) in itertools.pairwise(names)]
    blanks = [*range(max(map(len, lines)))]
    for line in lines:
        left = [place for place in blanks if line[place : place + 1] in {"", " "}]
        if len(left) < len(blanks) and not all(any(place in gap for place in left) for gap in gaps):
            return None
        blanks = left
    return blanks


def _between(blanks: Sequence[int], width: int) -> list[Span]:
    """The spans between the blanks."""
    return [(before + 1, after) for before, after in itertools.pairwise((-1, *blanks, width)) if after > before + 1]


def _has_two(cell: str) -> bool:
    """Whether a cell can be those of two columns: it goes on behind a number, or behind several blanks."""
    first, _, others = cell.partition(" ")
    return bool(others) and (is_number(first) or "  " in cell)
