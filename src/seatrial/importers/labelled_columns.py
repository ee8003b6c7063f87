"""Lines that a launcher labelled with nodes or ranks: `n01: Copy: 370133.3`, ` 0: n01 GFLOPS 3394.2`."""

import re
from collections.abc import Collection, Sequence

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
STREAM_KERNELS = frozenset({"copy", "scale", "add", "triad"})
STREAM_TIMES = ("avg time", "min time", "max time")
"""STREAM prints them behind the rate of a kernel in MB/s."""


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
    kernels = {cell.lower() for cell in first.cells} <= STREAM_KERNELS
    if not kernels or len(columns) != len(STREAM_TIMES) + 2 or not all(one.numeric for one in columns[1:]):
        return first, *columns[1:]
    rate = replace(columns[1], name="value", unit="MB/s")
    times = (replace(one, name=name) for one, name in zip(columns[2:], STREAM_TIMES, strict=True))
    return first, rate, *times
