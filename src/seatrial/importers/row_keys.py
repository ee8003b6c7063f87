"""Cells that distinguish the rows of a table: node, condition, part of the node, run."""

from collections import Counter
from collections.abc import Sequence

from seatrial.importers.column_roles import MOST_NAMES, ColumnRoles
from seatrial.importers.columns import TableColumn
from seatrial.model.errors import UsageError
from seatrial.model.words import count, some


def row_keys(columns: Sequence[TableColumn], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells of those columns in each row; one empty key a row if there are none."""
    of_name = {column.name: column.cells for column in columns}
    rows = len(columns[0].cells)
    return list(zip(*(of_name[name] for name in names), strict=True)) if names else [()] * rows


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
