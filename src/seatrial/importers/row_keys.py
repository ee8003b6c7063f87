"""Cells that distinguish the rows of a table: node, condition, part of the node, run; and rows of which none does."""

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.importers.column_roles import MOST_NAMES, ColumnRoles
from seatrial.importers.columns import TableColumn
from seatrial.importers.node_names import is_summary
from seatrial.model.errors import UsageError
from seatrial.model.words import count, name_form, some
from seatrial.statistics.estimates import FEWEST_ALIKE, robust_scale

COPIES = 0.8
"""Share of the nodes whose rows are copies: a few rows may have been added to these."""
FEWEST_LEVELS = 8
"""Numbers that differ between nodes, where those of one node do not: fewer may be rounded to a few steps."""
ROWS_DIFFER = 0.1
ROWS_SCALES = 10.0
FEWEST_SUMMARISED = 3
STATISTICS = (statistics.fmean, statistics.median, min, max, sum)


def row_keys(columns: Sequence[TableColumn], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells of those columns in each row; one empty key a row if there are none."""
    of_name = {column.name: column.cells for column in columns}
    rows = len(columns[0].cells)
    return list(zip(*(of_name[name] for name in names), strict=True)) if names else [()] * rows


def naming_parts(columns: Sequence[TableColumn], roles: ColumnRoles) -> tuple[str, ...]:
    """The columns of parts without those that distinguish no more of them, as a UUID beside a number does not."""
    kept: tuple[str, ...] = (roles.node,)
    for name in roles.parts:
        if len({*row_keys(columns, (*kept, name))}) > len({*row_keys(columns, kept)}):
            kept += (name,)
    return kept[1:]


def names_of_runs(columns: Sequence[TableColumn], roles: ColumnRoles, order: Sequence[int]) -> tuple[str, ...]:
    """The names of the runs in their order; none where a node has them in another order, or two of one name.

    `order`: the places of the rows in the order of their runs.
    """
    subjects = row_keys(columns, (roles.node, *roles.conditions, *roles.parts))
    runs = [key[0] if len(key) == 1 else "" for key in row_keys(columns, roles.runs)]
    of_subject: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in order:
        of_subject[subjects[row]].append(runs[row])
    fullest = sorted(of_subject.values(), key=len, reverse=True)
    place = {name: place for place, name in enumerate(dict.fromkeys(name for own in fullest for name in own))}
    return tuple(place) if all(own == sorted({*own}, key=place.__getitem__) for own in fullest) else ()


def refuse_repeated(
    roles: ColumnRoles, keys: Sequence[tuple[tuple[str, ...], ...]], columns: Sequence[TableColumn]
) -> None:
    """Raise UsageError where two rows are of the same node, condition, part and run. `keys`: these four of each row."""
    if not roles.runs:
        return
    rows = Counter(keys)
    key, number = rows.most_common(1)[0]
    if number == 1:
        return
    (node,), condition, part, run = key
    where = ", ".join(
        f"{name} {cell}"
        for names, cells in ((roles.conditions, condition), (roles.parts, part), (roles.runs, run))
        for name, cell in zip(names, cells, strict=True)
    )
    left = [name for name in roles.unused if len({*row_keys(columns, (name,))}) > 1]
    raise UsageError(
        f"Node {node} has {count(number, 'value')} of {where}, and no column that is used distinguishes them.",
        f"Name the column of the condition with --by COLUMN, or of the part with --part COLUMN"
        f"{f' (not used so far: {some(left, MOST_NAMES)})' if left else ''}; or give each run a number of its own.",
    )


def refuse_copies(strata: Sequence[Mapping[str, Sequence[float]]]) -> None:
    """Raise UsageError where all rows of each node have one value, and nodes differ: rows that were written twice.

    So do the rows of most conditions, such as the file that each was read from.

    Taken for runs, they would scatter by nothing, so that any node that differs from the others would be slow.
    """
    of_subject: defaultdict[str, list[list[float]]] = defaultdict(list)
    for stratum in strata:
        for subject, values in stratum.items():
            of_subject[subject] += [sorted(values)] if values else []
    dead = any(not max(values) for conditions in of_subject.values() for values in conditions)
    runs = [values for conditions in of_subject.values() for values in conditions]
    rows = [values[0] for values in runs if len(values) > 1 and len({*values}) == 1]
    several = [conditions for conditions in of_subject.values() if len(conditions) > 1]
    under = [same[0][0] for same in several if 2 * len({*map(tuple, same)}) <= len(same)]
    for same, of, what in ((rows, runs, "in all of its rows"), (under, several, "under several conditions")):
        if not dead and same and len(same) >= COPIES * len(of) and len({*same}) >= max(FEWEST_LEVELS, len(same) / 2):
            raise UsageError(
                f"Each node has one value {what}, such as {same[0]:g}: copies of a run do not count as runs.",
                "Leave the copies out; or number the rows in a column `run`, if each is a measurement.",
            )


UNNAMED = "Add a column that names the condition of each row, or a column `run` if they are runs."


def refuse_unlike_rows(strata: Iterable[Sequence[Sequence[float]]], what: str = "row", remedy: str = UNNAMED) -> None:
    """Raise UsageError where the rows (or files) of a node differ on all nodes alike: conditions that nothing names.

    The n-th values of all nodes are compared with each node's own median: repetitions differ by chance, in another
    order on each node.
    """
    for stratum in strata:
        if levels := common_levels(stratum, ROWS_DIFFER):
            shown = ", ".join(f"{100 * level:.0f} %" for level in levels[:4])
            raise UsageError(
                f"The {count(len(levels), what)} of each node differ on all nodes alike ({shown} of the node's "
                "median), so they are not runs of one measurement.",
                remedy,
            )


def common_levels(nodes: Sequence[Sequence[float]], least: float) -> list[float]:
    """The level of each row (or file) as a share of a node's own median, if they differ on all nodes alike; else none.

    Differences of more than `least` count that are ROWS_SCALES times what is left of the values of nodes.
    """
    runs = [values for values in nodes if values and min(values) > 0]
    if len(runs) < FEWEST_ALIKE or len({len(values) for values in runs}) > 1 or len(runs[0]) < 2:
        return []
    logs = np.log(np.asarray(runs, dtype=np.float64))
    logs -= np.median(logs, axis=1, keepdims=True)
    places = np.median(logs, axis=0)
    apart = float(np.ptp(places)) > max(least, ROWS_SCALES * robust_scale(logs - places, 0.0))
    return [math.exp(place) for place in places] if apart else []


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
