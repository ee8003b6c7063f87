"""Tables that have nothing but counts of errors and losses, by node or port: who counts some.

One reading of counters does not measure: they count since they were cleared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from seatrial.importers.column_roles import MEASURED, ColumnRoles, role_beside
from seatrial.importers.columns import TableColumn
from seatrial.importers.labelled_columns import ANONYMOUS
from seatrial.importers.lone_cells import LoneCell
from seatrial.importers.row_outcomes import COUNTED_WORDS
from seatrial.model.column_words import TRAFFIC_WORDS, last_word, words_of
from seatrial.model.imported import LOSSES, counts_losses, sense_of

ALL_COUNTS = "all counts"
"""The column that is 0 where no count of a row is above the usual one, and empty elsewhere."""
Columns = tuple[TableColumn, ...]


def counts_apart(columns: Columns, nodes: TableColumn) -> tuple[Columns, TableColumn]:
    """The columns and that of the nodes, with a column for each counter of lines such as `n1: rx_errors: 0`.

    Other tables are as they were: those of other lines, and of a node without one of them, or with two.
    """
    others = [one for one in columns if one is not nodes]
    words, numbers = ([one for one in others if one.numeric is numeric] for numeric in (False, True))
    if len(words) != 1 or len(numbers) != 1:
        return columns, nodes
    names = [cell.rstrip(":= ") for cell in words[0].cells]
    cells = dict(zip(zip(nodes.cells, names, strict=True), numbers[0].cells, strict=True))
    rows, counters = [*dict.fromkeys(nodes.cells)], [*dict.fromkeys(names)]
    erring = [counts_losses(name) for name in counters]
    if not any(erring) or not all(
        one or last_word(name) in TRAFFIC_WORDS for one, name in zip(erring, counters, strict=True)
    ):
        return columns, nodes
    if not len(cells) == len(names) == len(rows) * len(counters):
        return columns, nodes
    node = TableColumn(name=nodes.name, cells=tuple(rows))
    return (node, *(TableColumn(name=name, cells=tuple(cells[row, name] for row in rows)) for name in counters)), node


def counting_columns(columns: Sequence[TableColumn], nodes: TableColumn) -> tuple[TableColumn, ...]:
    """The columns that count errors; none where others may be measurements, or where each row counts some."""
    others = [one for one in columns if one is not nodes]
    counting = [one for one in others if _counts(one)]
    measured = [one for one in others if one not in counting and role_beside(one, nodes) in MEASURED]
    return tuple(counting) if not measured and any("0" in one.cells for one in counting) else ()


def _counts(column: TableColumn) -> bool:
    """Whether a column has whole numbers, and a name of errors and not of their share in something; or none, and 0."""
    named = counts_losses(column.name) or not COUNTED_WORDS.isdisjoint(words_of(column.name))
    unnamed = column.name.startswith(ANONYMOUS) and 2 * column.written.count("0") > len(column.cells)
    return (named or unnamed) and not column.unit and column.numeric and all(map(str.isdecimal, column.written))


def joined(counting: Sequence[TableColumn]) -> TableColumn:
    """The column ALL_COUNTS. A count that is missing is not known to be the usual one."""
    usual = [[number <= float(_usual(one)) for number in one.numbers()] for one in counting]
    return TableColumn(name=ALL_COUNTS, cells=tuple("0" if all(row) else "" for row in zip(*usual, strict=True)))


def counted(counting: Sequence[TableColumn], subjects: Sequence[str]) -> tuple[LoneCell, ...]:
    """The most that each subject counts in each column, those first that are farthest from the usual count.

    `subjects`: the node, or its part, of each row.
    """
    cells = [cell for column in counting for cell in _counted(column, subjects)]
    return tuple(sorted(cells, key=lambda one: -int(one.cell) / (1 + int(one.usual or 0))))


def _usual(column: TableColumn) -> str:
    return Counter(column.written).most_common(1)[0][0]


def _counted(column: TableColumn, subjects: Iterable[str]) -> list[LoneCell]:
    usual = _usual(column)
    most: dict[str, int] = {}
    for subject, cell in zip(subjects, column.cells, strict=True):
        if cell.isdecimal() and int(cell) > int(usual):
            most[subject] = max(int(cell), most.get(subject, 0))
    return [
        LoneCell(subject=subject, column=column.name, cell=str(number), usual=usual) for subject, number in most.items()
    ]


def label_of(roles: ColumnRoles, of_name: Mapping[str, TableColumn]) -> str:
    """The name of the values, or of the errors that each line counts: `rx_errors: 12`."""
    shown = roles.units or of_name[roles.value].unit or sense_of(roles.value)
    lines = (of_name[name].cells[0].rstrip(":=") for name in (() if shown else roles.constants))
    return next((line for line in lines if last_word(line) in LOSSES), roles.value)
