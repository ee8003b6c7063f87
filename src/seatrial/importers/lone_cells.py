"""What was not judged, and what one node or a few have alone: lost packets, a link of half width, another firmware."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median_low

import msgspec

from seatrial.importers.column_roles import MODEL_WORDS, PLACE_WORDS, SOFTWARE_WORDS, ColumnRoles, are_moments, words_of
from seatrial.importers.columns import MISSING, TableColumn, read_columns
from seatrial.importers.pair_evidence import names_an_end
from seatrial.importers.pair_metrics import scale_of
from seatrial.importers.row_outcomes import is_numbered, is_remark
from seatrial.model.errors import UsageError

FEWEST_OTHERS = 2
LONGEST = 24
"""Characters of a cell in a sentence."""
FEW = 0.25
"""Share of the nodes that may have other cells than all others."""
FAR = 10.0
"""Times as much as all others: numbers that were measured alike never differ by that."""
MOSTLY = 0.8
"""Share of the pairs of a node that have other cells, where they are those of the node."""
MOST_ALIKE = 0.5
"""Share of the nodes, or of the other rows, that have the usual cell itself: two measurements are equal by chance."""
MOST_PAIRS = 20
"""More pairs than these are a habit of the network, however many others there are."""
LEAST = 0.02
"""Share of the usual number: less apart is not worth a word."""
PLACES = PLACE_WORDS | MODEL_WORDS | {
    "id", "index", "idx", "nr", "slot", "port", "pid", "seed", "hops", "distance", "place", "location", "path", "route",
    "user", "owner", "operator", "role", "rank", "wait", "queue", "warmup", "uptime",
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
        """`n4 has retransmits 800, others 0`, `n4 has no firmware, others 20.39`, `n4 has alert HOT, others none`."""
        what = f"{self.column} {self.cell[:LONGEST]}" if self.cell else f"no {self.column}"
        return f"{self.subject} has {what}, others {self.usual[:LONGEST] or 'none'}"


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
    if len({cell for _, cell in rows}) < 2:
        return
    both = _cells_of(rows)
    usual = _most_common(_most_common(cells.elements()) for cells in both.values())
    other = _others(column, usual)
    for ends in ((0, 1), (0,), (1,)):
        of_ends = [(tuple(pair[end] for end in ends), cell) for pair, cell in rows]
        if far := _far(column, of_ends):
            yield from far
            return
        cells_of = _cells_of(of_ends)
        apart = {
            end: Counter({cell: number for cell, number in cells.items() if cell in other})
            for end, cells in cells_of.items()
            if sum(number for cell, number in cells.items() if cell in other) >= MOSTLY * cells.total()
        }
        rest = [row for row, (own, _) in zip(rows, of_ends, strict=True) if apart.keys().isdisjoint(own)]
        alike = sum(cell == usual for _, cell in rest) >= MOST_ALIKE * len(rest)
        if _are_few(len(apart), len(cells_of)) and alike:
            yield from (_lone(end, column, cells, usual) for end, cells in apart.items())
            rows = rest
    single: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair, cell in rows:
        if cell in other:
            single[" > ".join(pair)][cell] += 1
    alike = sum(cell == usual for _, cell in rows) >= MOST_ALIKE * len(rows)
    if alike and len(single) <= MOST_PAIRS and _are_few(len(single), len({pair for pair, _ in rows})):
        yield from (_lone(pair, column, cells, usual) for pair, cells in single.items())


def _cells_of(rows: Sequence[tuple[tuple[str, ...], str]]) -> dict[str, Counter[str]]:
    """Node -> how often its pairs have each cell. `rows`: the ends of a pair that count, and the cell."""
    cells: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for ends, cell in rows:
        for end in ends:
            cells[end][cell] += 1
    return cells


def _tells(column: TableColumn) -> bool:
    """Whether a column may say how a node is."""
    return not (is_numbered(column.name) or are_moments(column)) and PLACES.isdisjoint(words_of(column.name))


def _lone_in(column: TableColumn, nodes: Sequence[str], subjects: Sequence[str]) -> Iterator[LoneCell]:
    rows = [*zip(nodes, subjects, _written(column), strict=True)]
    usual = _most_common(cell for _, _, cell in rows)
    other = _others(column, usual)
    if far := _far(column, [((subject,), cell) for _, subject, cell in rows]):
        yield from far
        return
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
    """The cells that differ from the usual one; nothing of remarks, which most rows lack."""
    exact = not column.numeric or not usual or not SOFTWARE_WORDS.isdisjoint(words_of(column.name))
    cells = {*_written(column)} if usual or not is_remark(column.name) else set()
    return {cell for cell in cells if cell != usual and (exact or not cell or _apart(cell, usual) > LEAST)}


def _far(column: TableColumn, rows: Sequence[tuple[tuple[str, ...], str]]) -> list[LoneCell]:
    """The few subjects whose usual number is `FAR` times as large as any of all others, or as small as a part of these.

    Counters of good nodes vary a little, and those of a bad one are of another order, as measurements never are.
    """
    if not column.numeric or not SOFTWARE_WORDS.isdisjoint(words_of(column.name)):
        return []
    numbers = [(ends, float(cell)) for ends, cell in rows if cell]
    of_subject: defaultdict[str, list[float]] = defaultdict(list)
    for ends, number in numbers:
        for end in ends:
            of_subject[end].append(number)
    usual = {subject: median_low(many) for subject, many in of_subject.items()}
    for ordered in (sorted(usual, key=usual.__getitem__, reverse=True), sorted(usual, key=usual.__getitem__)):
        for few in range(1, len(ordered)):
            if not _are_few(few, len(ordered)):
                break
            last, following = usual[ordered[few - 1]], usual[ordered[few]]
            if max(last, following) <= FAR * max(min(last, following), 1.0):
                continue  # the next one is near
            rest = [number for ends, number in numbers if {*ordered[:few]}.isdisjoint(ends)]
            low, high = min(rest, default=0.0), max(rest, default=math.inf)
            if last > FAR * max(high, 1.0) or low > FAR * max(last, 1.0):
                others = f"{low:g} to {high:g}" if low < high else f"{low:g}"
                return [
                    LoneCell(subject=subject, column=column.name, cell=f"{usual[subject]:g}", usual=others)
                    for subject in ordered[:few]
                ]
    return []


def _are_few(some: int, of: int) -> bool:
    """Whether few enough of all nodes are apart for the others to be the rule."""
    return 0 < some <= max(1, FEW * of) and of - some >= FEWEST_OTHERS


def _apart(cell: str, usual: str) -> float:
    """How far a number is from the usual one, as a share of it."""
    return abs(float(cell) - float(usual)) / abs(float(usual)) if float(usual) else math.inf
