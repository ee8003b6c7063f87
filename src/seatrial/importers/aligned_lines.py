"""Tables in aligned columns of which some cells are empty: lines are divided where all of them have blanks."""

import itertools
import re
from collections.abc import Sequence

from seatrial.model.unit_text import is_number

WORD = re.compile(r"\S+")
Span = tuple[int, int]
"""The places of the first character, and behind the last."""


def divided(lines: Sequence[str]) -> list[list[str]]:
    """The cells of each line, "" where one is empty; no rows where names and cells are not below one another.

    `lines`: the first has the names, none of which is a number. Each column needs one name. Words without a name above
    them go on with the remark before them, numbers without one may be of any column.
    """
    words = [[match.span() for match in WORD.finditer(line)] for line in lines]
    padded = any("  " in line.strip() for line in lines)  # else single blanks divide cells, wherever they are
    if not padded or any("\t" in line for line in lines):
        return []
    columns: list[Span] = []
    for begin, end in _joined(itertools.chain.from_iterable(words)):
        named = sum(begin <= first < end for first, _ in words[0])
        if named > 1 or not (named or (columns and not any(is_number(line[begin:end].strip()) for line in lines))):
            return []
        if named:
            columns.append((begin, end))
        else:
            columns[-1] = (columns[-1][0], end)
    rows = [[line[begin:end].strip() for begin, end in columns] for line in lines]
    return [] if len(columns) < 2 or any(map(_has_two, itertools.chain.from_iterable(rows[1:]))) else rows


def _joined(spans: "itertools.chain[Span]") -> list[Span]:
    """Spans without a blank between them as one."""
    joined: list[Span] = []
    for begin, end in sorted(set(spans)):
        if joined and begin <= joined[-1][1] - 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _has_two(cell: str) -> bool:
    """Whether a cell can be those of two columns: it goes on behind a number, or behind several blanks."""
    first, _, others = cell.partition(" ")
    return bool(others) and (is_number(first) or "  " in cell)
