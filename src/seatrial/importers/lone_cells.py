"""What was not judged, and what one node or a few have alone: lost packets, a link of half width, another firmware."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.importers.column_roles import MODEL_WORDS, PLACE_WORDS, SOFTWARE_WORDS, ColumnRoles, words_of
from seatrial.importers.columns import MISSING, TableColumn
from seatrial.importers.row_outcomes import is_numbered

FEWEST_OTHERS = 2
LONGEST = 24
"""Characters of a cell in a sentence."""
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
        return f"{self.subject} has {self.column} {self.cell[:LONGEST]}, others {self.usual[:LONGEST]}"


def lone_cells(
    columns: Sequence[TableColumn], roles: ColumnRoles, nodes: Sequence[str], subjects: Sequence[str]
) -> tuple[LoneCell, ...]:
    """The cells of columns without a role in the judgement that few nodes have alone, in the order of the columns.

    Words and versions of software differ by any letter, numbers by `LEAST`.

    `nodes`, `subjects`: the node of each row, and its part of which the row is, or the node again.
    """
    free = {*roles.properties, *roles.unused}
    return tuple(
        cell
        for column in columns
        if column.name in free and not is_numbered(column.name) and PLACES.isdisjoint(words_of(column.name))
        for cell in _lone_in(column, nodes, subjects)
    )


def _lone_in(column: TableColumn, nodes: Sequence[str], subjects: Sequence[str]) -> Iterator[LoneCell]:
    rows = zip(nodes, subjects, column.cells, strict=True)
    written = [row for row in rows if row[2].strip().lower() not in MISSING]
    usual = Counter(cell for _, _, cell in written).most_common(1)[0][0] if written else ""
    exact = not column.numeric or not SOFTWARE_WORDS.isdisjoint(words_of(column.name))
    other = {cell for _, _, cell in written if cell != usual and (exact or _apart(cell, usual) > LEAST)}
    as_usual = {node for node, _, cell in written if cell == usual}
    odd = {node for node, _, cell in written if cell in other}
    nodes_written = len({node for node, _, _ in written})
    if len(odd) > max(1, FEW * nodes_written) or nodes_written - len(odd) < FEWEST_OTHERS:
        return
    apart: dict[str, Counter[str]] = {}
    for node, subject, cell in written:
        if cell in other:
            apart.setdefault(subject if node in as_usual else node, Counter())[cell] += 1
    for subject, cells in apart.items():
        yield LoneCell(subject=subject, column=column.name, cell=cells.most_common(1)[0][0], usual=usual)


def _apart(cell: str, usual: str) -> float:
    """How far a number is from the usual one, as a share of it."""
    return abs(float(cell) - float(usual)) / abs(float(usual)) if float(usual) else math.inf
