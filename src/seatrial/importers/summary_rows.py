"""Rows of a table that summarise the nodes above them, as spreadsheets have them: their mean, sum or deviation."""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Sequence

import msgspec

from seatrial.importers.columns import TableColumn
from seatrial.importers.node_names import is_summary
from seatrial.model.words import name_form

FEWEST_SUMMARISED = 3
STATISTICS = (statistics.fmean, statistics.median, min, max, sum)


def without_summaries(
    columns: tuple[TableColumn, ...], nodes: TableColumn
) -> tuple[tuple[TableColumn, ...], TableColumn, tuple[str, ...]]:
    """The columns and that of the nodes, without rows such as `Average` below several nodes, and what these are."""
    kept = [not is_summary(cell) for cell in nodes.cells]
    for row in _odd_rows_at_the_end(nodes.cells, kept):
        kept[row] = not _is_computed(columns, nodes, row, kept[:row])
    if all(kept) or len({*itertools.compress(nodes.cells, kept)}) < 2:
        return columns, nodes, ()
    names = [cell for cell, keep in zip(nodes.cells, kept, strict=True) if not keep]
    shorter = tuple(
        msgspec.structs.replace(column, cells=tuple(itertools.compress(column.cells, kept))) for column in columns
    )
    return shorter, shorter[columns.index(nodes)], tuple(f"{name} (a summary)" for name in names)


def _odd_rows_at_the_end(names: Sequence[str], kept: Sequence[bool]) -> list[int]:
    """The last rows, if their names have no digits and those of nearly all others are alike but for digits."""
    forms = [name_form(name) for name in names]
    usual, alike = Counter(forms).most_common(1)[0] if forms else ("", 0)
    last = max((row for row, form in enumerate(forms) if form == usual), default=0)
    odd = [row for row in range(last + 1, len(forms)) if "0" not in forms[row] and kept[row]]
    return odd if "0" in usual and alike >= FEWEST_SUMMARISED else []


def _is_computed(columns: Sequence[TableColumn], nodes: TableColumn, row: int, kept: Sequence[bool]) -> bool:
    """Whether the numbers of a row are the same statistic of the rows above, to their last printed digit."""
    measured = [column for column in columns if column is not nodes and column.numeric and column.cells[row].strip()]
    above = []
    for column in measured:
        numbers = column.numbers()
        values = [value for value, keep in zip(numbers, kept, strict=False) if keep and not math.isnan(value)]
        decimals = len(column.cells[row].partition(".")[2])
        above.append((values, numbers[row], 0.51 * 10.0**-decimals))
    return bool(above) and any(
        all(len(values) > 1 and abs(of(values) - number) <= step for values, number, step in above) for of in STATISTICS
    )
