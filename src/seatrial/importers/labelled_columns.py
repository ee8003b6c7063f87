"""Lines that a launcher labelled with nodes or ranks: `n01: Copy: 370133.3`, ` 0: n01 GFLOPS 3394.2`."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from seatrial.importers.column_roles import unit_in
from seatrial.importers.columns import TableColumn
from seatrial.importers.row_outcomes import is_outcome
from seatrial.model.column_words import PART_WORDS, words_of
from seatrial.model.unit_text import is_number

ANONYMOUS = "column "
"""What the names of columns begin with in a file without a line of names."""
LABEL = re.compile(r"\w[\w.-]{0,99}:")
RANK = re.compile(r"\d{1,7}:")
NUMBERED_NODE = re.compile(r"(?=[^\d]{0,99}\d)[A-Za-z][\w.-]{0,99}:?")
RESULT = "value"


class ResultLine(NamedTuple):
    """A line of a benchmark that many files have, and its columns behind the first word."""

    first: "re.Pattern[str]"
    columns: tuple[str, ...]
    unit: str
    """Unit of the one called RESULT."""


RESULT_LINES = (
    ResultLine(re.compile("(?i)copy|scale|add|triad"), (RESULT, "avg time", "min time", "max time"), "MB/s"),  # STREAM
    ResultLine(re.compile(r"W[RC]\d\d[CLR]\d[CLR]\d{1,3}"), ("N", "NB", "P", "Q", "Time", RESULT), "Gflop/s"),  # HPL
)


def with_labels(columns: Sequence[TableColumn], given: Collection[str]) -> tuple[TableColumn, ...]:
    """The columns of lines without names, the labels called `node` and a word behind each of them `metric` or `part`.

    Ranks before the names of nodes are left out. Other tables are as they were. `given`: columns with another role.
    """
    if any(one.name in given for one in columns[:2]) or not columns or not _labels(columns[0], LABEL):
        return tuple(columns)
    labels, *others = columns
    if others and _labels(labels, RANK) and _names_nodes(others[0], labels):
        if not _labels(others[0], LABEL):
            return tuple(others)
        labels, *others = others
    return replace(labels, name="node", cells=_bare(labels)), *_behind(others)


def _labels(column: TableColumn, form: "re.Pattern[str]") -> bool:
    return column.name.startswith(ANONYMOUS) and all(map(form.fullmatch, column.cells))


def _names_nodes(column: TableColumn, ranks: TableColumn) -> bool:
    """Whether it has names of several nodes, and one for each rank."""
    numbered = _labels(column, NUMBERED_NODE) and not _are_parts(column)
    places = {*zip(ranks.cells, column.cells, strict=True)}
    return numbered and len({*column.cells}) > 1 and len(places) == len({*ranks.cells})


def _are_parts(column: TableColumn) -> bool:
    """Whether its cells are GPU0, GPU1 or the like."""
    return all(PART_WORDS.intersection(words_of(cell)[:1]) for cell in {*column.cells})


def _bare(column: TableColumn) -> tuple[str, ...]:
    return tuple(cell.removesuffix(":") for cell in column.cells)


def _behind(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """The columns behind the labels, with the names that their cells show."""
    words = columns[0] if columns else None
    if words is None or is_outcome(words) or any(is_number(cell) or unit_in(cell) for cell in words.cells):
        return tuple(columns)
    first = replace(words, cells=_bare(words), name="part" if _are_parts(words) else "metric")
    numbers = columns[1:]
    for line in RESULT_LINES if all(one.numeric for one in numbers) else ():
        if len(numbers) == len(line.columns) and all(map(line.first.fullmatch, first.cells)):
            named = zip(numbers, line.columns, strict=True)
            return first, *(replace(one, name=name, unit=line.unit * (name == RESULT)) for one, name in named)
    return first, *numbers
