"""What was not judged, and what one node or a few have alone: lost packets, a link of half width, another firmware."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.importers.column_roles import MODEL_WORDS, PLACE_WORDS, SOFTWARE_WORDS, ColumnRoles, words_of
from seatrial.importers.columns import MISSING, TableColumn
from seatrial.importers.row_outcomes import is_numbered

FEWEST_OTHERS = 2
FEW = 0.25
"""Share of the nodes that may have other cells than all others."""
LEAST = 0.02
"""Share of the usual number: less apart is not worth a word."""
PLACES = PLACE_WORDS | MODEL_WORDS | {"id", "index", "idx", "nr", "slot", "port", "pid", "seed"}
"""Words of columns whose numbers say where and what a node is, and not how it is."""


class LoneCell(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a part of it, has another cell than all others, which have one and the same, but for a few."""

    subject: str
    column: str
    cell: str
    usual: str

    @property
    def text(self) -> str:
        """`n4 has retransmits 800, others 0`."""
        return f"{self.subject} has {self.column} {self.cell}, others {self.usual}"


def lone_cells(
    columns: Sequence[TableColumn], roles: ColumnRoles, nodes: Sequence[str], subjects: Sequence[str]
) -> tuple[LoneCell, ...]:
    """The cells of columns without a role in the judgement that few nodes have alone, in the order of the columns.

    `nodes`, `subjects`: the node of each row, and its part of which the row is, or the node again.
    """
    free = {*roles.properties, *roles.unused}
    return tuple(
        cell
        for column in columns
        if column.name in free and (_is_software(column) or _is_quantity(column))
        for cell in _lone_in(column, nodes, subjects)
    )


def _is_software(column: TableColumn) -> bool:
    return not SOFTWARE_WORDS.isdisjoint(words_of(column.name))


def _is_quantity(column: TableColumn) -> bool:
    return column.numeric and not is_numbered(column.name) and PLACES.isdisjoint(words_of(column.name))


def _lone_in(column: TableColumn, nodes: Sequence[str], subjects: Sequence[str]) -> Iterator[LoneCell]:
    rows = zip(nodes, subjects, column.cells, strict=True)
    written = [row for row in rows if row[2].strip().lower() not in MISSING]
    usual = Counter(cell for _, _, cell in written).most_common(1)[0][0] if written else ""
    as_usual = {node for node, _, cell in written if cell == usual}
    apart: dict[str, Counter[str]] = {}
    odd: set[str] = set()
    for node, subject, cell in written:
        if cell != usual and (_is_software(column) or _is_apart(float(cell), float(usual))):
            apart.setdefault(subject if node in as_usual else node, Counter())[cell] += 1
            odd.add(node)
    nodes_written = len({node for node, _, _ in written})
    if len(odd) <= max(1, FEW * nodes_written) and nodes_written - len(odd) >= FEWEST_OTHERS:
        for subject, cells in apart.items():
            yield LoneCell(subject=subject, column=column.name, cell=cells.most_common(1)[0][0], usual=usual)


def _is_apart(number: float, usual: float) -> bool:
    return abs(number - usual) > LEAST * abs(usual)
