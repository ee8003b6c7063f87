"""What was not judged, and what one node or a few have alone: lost packets, a link of half width, another firmware."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.importers.column_roles import MODEL_WORDS, PLACE_WORDS, SOFTWARE_WORDS, ColumnRoles, words_of
from seatrial.importers.columns import MISSING, TableColumn, read_columns
from seatrial.importers.pair_evidence import names_an_end
from seatrial.importers.pair_metrics import scale_of
from seatrial.importers.row_outcomes import is_numbered
from seatrial.model.errors import UsageError

FEWEST_OTHERS = 2
LONGEST = 24
"""Characters of a cell in a sentence."""
FEW = 0.25
"""Share of the nodes that may have other cells than all others."""
MOSTLY = 0.8
"""Share of the pairs of a node that have other cells, where they are those of the node."""
MOST_ALIKE = 0.5
"""Share of the nodes, or of the other rows, that have the usual cell itself: two measurements are equal by chance."""
MOST_PAIRS = 20
"""More pairs than these are no exception, however many others there are."""
LEAST = 0.02
"""Share of the usual number: less apart is not worth a word."""
PLACES = PLACE_WORDS | MODEL_WORDS | {
    "id", "index", "idx", "nr", "slot", "port", "pid", "seed", "hops", "distance", "place", "location", "path", "route",
}  # fmt: skip
"""Words of columns whose numbers say where and what a node is, and not how it is."""


class LoneCell(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a part of it, has another cell than all others, which have one and the same, but for a few."""

    subject: str
    column: str
    cell: str
    usual: str

    @property
    def text(self) -> str:
        """`n4 has retransmits 800, others 0`, `n4 has no firmware, others 20.39`."""
        what = f"{self.column} {self.cell[:LONGEST]}" if self.cell else f"no {self.column}"
        return f"{self.subject} has {what}, others {self.usual[:LONGEST]}"


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
        if column.name in free and _tells(column)
        for cell in _lone_in(column, nodes, subjects)
    )


def lone_ends(text: str) -> tuple[LoneCell, ...]:
    """The cells of a table of pairs, measurements aside, that few nodes have with their partners, or few pairs alone.

    Empty for a form without a line that names its columns, two ends first.
    """
    try:
        ends, columns = (columns := read_columns(text))[:2], columns[2:]
    except UsageError:
        return ()
    if not all(names_an_end(column.name) for column in ends):
        return ()
    pairs = [*zip(*(column.cells for column in ends), strict=True)]
    return tuple(
        cell
        for column in columns
        if scale_of(column.name) is None and _tells(column)
        for cell in _of_ends(column, pairs)
    )


def _of_ends(column: TableColumn, pairs: Sequence[tuple[str, str]]) -> Iterator[LoneCell]:
    """Nodes with other cells in most of their rows, at both ends or at one of them; then pairs of the others."""
    rows = [*zip(pairs, _written(column), strict=True)]
    often = Counter(cell for _, cell in rows).most_common(1)
    if not often or not FEW * len(rows) <= often[0][1] < len(rows):
        return  # a constant, or measurements, among which two are equal by chance
    both = _cells_of(rows, slice(0, 2))
    usual = _most_common(_most_common(cells.elements()) for cells in both.values())
    other = _others(column, usual)
    for ends in (slice(0, 2), slice(0, 1), slice(1, 2)):
        apart = {
            end: Counter({cell: number for cell, number in cells.items() if cell in other})
            for end, cells in _cells_of(rows, ends).items()
            if sum(cells[cell] for cell in other) >= MOSTLY * cells.total()
        }
        rest = [row for row in rows if apart.keys().isdisjoint(row[0][ends])]
        alike = sum(cell == usual for _, cell in rest) >= MOST_ALIKE * len(rest)
        if _are_few(len(apart), len(both)) and alike:
            yield from (_lone(end, column, cells, usual) for end, cells in apart.items())
            rows = rest
    single: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair, cell in rows:
        if cell in other:
            single[" > ".join(pair)][cell] += 1
    if len(single) <= MOST_PAIRS and _are_few(len(single), len({pair for pair, _ in rows})):
        yield from (_lone(pair, column, cells, usual) for pair, cells in single.items())


def _cells_of(rows: Sequence[tuple[tuple[str, str], str]], ends: slice) -> dict[str, Counter[str]]:
    """Node -> how often its pairs have each cell; only pairs of which it is one of these ends count."""
    cells: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair, cell in rows:
        for end in pair[ends]:
            cells[end][cell] += 1
    return cells


def _tells(column: TableColumn) -> bool:
    """Whether a column may say how a node is."""
    return not is_numbered(column.name) and PLACES.isdisjoint(words_of(column.name))


def _lone_in(column: TableColumn, nodes: Sequence[str], subjects: Sequence[str]) -> Iterator[LoneCell]:
    rows = [*zip(nodes, subjects, _written(column), strict=True)]
    usual = _most_common(cell for _, _, cell in rows)
    other = _others(column, usual)
    as_usual = {node for node, _, cell in rows if cell == usual}
    odd = {node for node, _, cell in rows if cell in other}
    if not _are_few(len(odd), len({*nodes})) or len(as_usual) < MOST_ALIKE * len({*nodes}):
        return
    apart: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for node, subject, cell in rows:
        if cell in other:
            apart[subject if node in as_usual else node][cell] += 1
    yield from (_lone(subject, column, cells, usual) for subject, cells in apart.items())


def _lone(subject: str, column: TableColumn, cells: Counter[str], usual: str) -> LoneCell:
    return LoneCell(subject=subject, column=column.name, cell=_most_common(cells.elements()), usual=usual)


def _written(column: TableColumn) -> list[str]:
    """The cells, empty where nothing was measured."""
    return ["" if cell.strip().lower() in MISSING else cell for cell in column.cells]


def _most_common(cells: Iterable[str]) -> str:
    return next((cell for cell, _ in Counter(cells).most_common(1)), "")


def _others(column: TableColumn, usual: str) -> set[str]:
    """The cells that differ from the usual one; none where most are empty, as in a column of remarks."""
    exact = not column.numeric or not SOFTWARE_WORDS.isdisjoint(words_of(column.name))
    cells = {*_written(column)} if usual else set()
    return {cell for cell in cells if cell != usual and (exact or not cell or _apart(cell, usual) > LEAST)}


def _are_few(some: int, of: int) -> bool:
    """Whether few enough of all nodes are apart for the others to be the rule."""
    return 0 < some <= max(1, FEW * of) and of - some >= FEWEST_OTHERS


def _apart(cell: str, usual: str) -> float:
    """How far a number is from the usual one, as a share of it."""
    return abs(float(cell) - float(usual)) / abs(float(usual)) if float(usual) else math.inf
