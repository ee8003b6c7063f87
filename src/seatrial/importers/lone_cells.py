"""What was not judged, and what one node or a few have alone: lost packets, a link of half width, another firmware."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.importers.column_roles import ColumnRoles
from seatrial.importers.columns import TableColumn, read_columns, remarks_of_nodes
from seatrial.importers.lone_numbers import FEWEST_OTHERS, Rows, are_few, far_numbers
from seatrial.importers.outcome_words import DOUBTFUL, OF_LAUNCHER, fails
from seatrial.importers.pair_evidence import names_an_end
from seatrial.importers.pair_metrics import scale_of
from seatrial.importers.row_outcomes import SHARE, is_numbered, is_remark
from seatrial.importers.series_times import are_moments
from seatrial.importers.written_numbers import MISSING
from seatrial.model.column_words import (
    CHECKSUM_WORDS,
    IDENTIFIER_WORDS,
    MODEL_WORDS,
    PLACE_WORDS,
    RUN_WORDS,
    SOFTWARE_WORDS,
    last_word,
    words_of,
)
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER
from seatrial.model.words import count, name_form, verb
from seatrial.statistics.estimates import GROUP_SHARE

LONGEST = 24
"""Characters of a cell in a sentence."""
OWN_WORDS = 3
"""Different lines, none of which most nodes print, that begin with the same words: two may be good and bad news."""
MOSTLY = 0.8
"""Share of the pairs of a node that have other cells, where they are those of the node."""
MOST_ALIKE = 0.5
"""Share of the nodes, or of the other rows, that have the usual cell itself: two measurements are equal by chance."""
MOST_PAIRS = 20
"""More pairs than these are a habit of the network, however many others there are."""
COUNTS = re.compile(r"(?<![\d.])\d{1,18}(?![\d.]|e[-+]?\d)")
"""Whole numbers in a line."""
PRINTED = re.compile(rf"(?<![\w.])(?=[-+]?[.\d]){NUMBER}(?![\w.:])")
"""A number by itself in a line, not within a word, a version or a time."""
TWICE = 2
"""Times another count in a line: what took a second longer is not worth a word."""
LEAST = 0.02
"""Share of the usual number: less apart is not worth a word."""
PLACES = PLACE_WORDS | MODEL_WORDS | IDENTIFIER_WORDS | {
    "hops", "distance", "place", "location", "path", "route", "user", "owner", "operator", "contact", "role", "rank",
    "wait", "queue", "warmup", "cable", "u", "unit", "room", "site", "zone", "pod", "island", "enclosure", "building",
    "datacenter", "pdu", "feed", "bay", "outlet",
}  # fmt: skip
"""Last words of columns whose cells say where and what a node is, and not how it is."""
NUMBERS = ("nummer", "nr")
"""Ends of such a word in German."""
SEQUENCES = RUN_WORDS | {
    "serial", "asset", "tag", "inventory", "order", "ticket", "lid", "guid", "mac", "ip", "ipv", "addr", "address",
    "vlan", "sequence", "seq", "step", "task", "epoch",
}  # fmt: skip
"""Words of columns whose numbers were given one after the other: what was numbered on another day is far away."""
AGES = frozenset({"uptime", "boot", "reboot", "reboots", "boots", "since", "age", "hours", "cycles", "interrupts"})
"""Words of columns whose numbers grow with time: a node may have been started again, or a part exchanged."""


class LoneCell(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a part of it, has another cell than all others, which have one and the same, but for a few."""

    subject: str
    column: str
    cell: str
    usual: str

    def text(self, subjects: Sequence[str], written: str) -> str:
        """`n4 has retransmits 800, others 0`, `n[1-3] have no firmware, others 20.39`, `n4 has alert HOT, others none`.

        `subjects`, `written`: all that have this cell, and their names in short form.
        """
        what = f"{self.column} {_short(self.cell, self.usual)}" if self.cell else f"no {self.column}"
        who = written if len(written) <= LONGEST else count(len(subjects), "part" if " " in written else "node")
        others = f", others {_short(self.usual, self.cell) or 'none'}" if self.usual != self.cell else ""
        return f"{who if len(subjects) > 1 else written} {verb(len(subjects), 'has', 'have')} {what}{others}"


def _short(cell: str, other: str) -> str:
    """Shorten a cell to what fits; a long one begins two words before the first that differs from the other's."""
    words, usual = cell.split(" "), other.split(" ")
    unlike = next((place for place, pair in enumerate(zip(words, usual, strict=False)) if pair[0] != pair[1]), 0)
    first = max(unlike - 2, 0) if len(cell) > LONGEST and other else 0
    return f"{'… ' * (first > 0)}{' '.join(words[first:])}"[:LONGEST].rstrip(" ,;:")


class MeasuredRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a row is of."""

    node: str
    subject: str
    """A part of the node with its name, or the node again."""
    condition: Hashable
    part: Hashable
    """Number or name of that part within the node."""


class ComparedColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column as its cells are compared with each other."""

    name: str
    cells: tuple[str, ...]
    """Empty where nothing was measured."""
    numeric: bool
    exact: bool
    """Whether its numbers are versions or checksums, which differ by any digit."""


def lone_cells(columns: Sequence[TableColumn], roles: ColumnRoles, rows: Sequence[MeasuredRow]) -> tuple[LoneCell, ...]:
    """The cells of columns without a role in the judgement that few nodes have alone, in the order of the columns.

    Words and versions of software differ by any letter, numbers by `LEAST`, and more where those of the others vary.
    Cells are compared under one condition, and numbers that vary at one place of the nodes.
    """
    free = {*roles.properties, *roles.unused}
    telling = [column for column in columns if column.name in free and _tells(column)]
    nodes_at: defaultdict[Hashable, set[str]] = defaultdict(set)
    for row in rows:
        nodes_at[row.condition, row.part].add(row.node)
    conditions: defaultdict[Hashable, list[int]] = defaultdict(list)
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        conditions[row.condition].append(number)
        common = len(nodes_at[row.condition, row.part]) > FEWEST_OTHERS
        places[row.condition, row.part if common else None].append(number)
    comparisons = len(telling) * len(places)
    cells: list[LoneCell] = []
    for column in map(_compared, telling):
        without = _without_number(column, rows)
        lacking = {cell.subject for cell in without}
        strata_of = [*conditions.values()] if _is_settled(column, [*conditions.values()]) else []
        of_column = _far_in(column, rows, [*places.values()], comparisons) or [
            cell for stratum in strata_of for cell in _lone_in(column, rows, stratum)
        ]
        first: dict[str, LoneCell] = {}
        for cell in of_column:
            first.setdefault(cell.subject, cell)
        cells += (*without, *(cell for subject, cell in first.items() if subject not in lacking))
    return tuple(cells)


def lone_lines(text: str, nodes: Collection[str], line: str = "") -> tuple[LoneCell, ...]:
    """Lines beside the values that not all nodes printed, or that few nodes lack; a warning of all nodes, too.

    Lines that differ in numbers are one. What all nodes say, each in words of its own, such as when it began, is left
    out. `nodes`: those without a run that failed. `line`: as in `read_columns`.
    """
    printed: defaultdict[str, dict[str, str]] = defaultdict(dict)
    beginnings: defaultdict[tuple[str, ...], dict[str, set[str]]] = defaultdict(dict)
    for node, remark in remarks_of_nodes(text, line):
        if OF_LAUNCHER.search(remark):
            continue
        form = name_form(PRINTED.sub("0", remark.replace(node, "")))
        printed[form].setdefault(node, remark)
        beginnings[tuple(remark.split()[:2])].setdefault(form, set()).add(node)
    in_own_words = {
        form
        for forms in beginnings.values()
        if len(forms) >= OWN_WORDS and {*nodes} <= set().union(*forms.values())
        if 2 * max(map(len, forms.values())) <= len(nodes)
        for form in forms
    }
    cells: list[LoneCell] = []
    for form, lines in sorted(printed.items(), key=lambda item: DOUBTFUL.search(next(iter(item[1].values()))) is None):
        line, lacking = next(iter(lines.values())), sorted({*nodes}.difference(lines))
        doubtful = {node: own for node, own in lines.items() if DOUBTFUL.search(own) or fails(own)}
        if form in in_own_words:
            continue
        if not lacking:
            usual = _most_common(lines.values())
            named = (LoneCell(subject=node, column="a line", cell=own, usual=usual) for node, own in doubtful.items())
            cells += named if doubtful else _other_numbers(lines)
        elif not doubtful and are_few(len(lacking), len(nodes)):
            column = f"line {line[:LONGEST]!r}"
            cells += (LoneCell(subject=node, column=column, cell="", usual="one") for node in lacking)
        else:
            cells += (LoneCell(subject=node, column="a line", cell=line, usual="") for node in lines)
    return tuple(cells)


def _other_numbers(lines: Mapping[str, str]) -> Iterator[LoneCell]:
    """The few nodes of whose line a number is far from those of all others, errors near 0 as shares of the smallest;
    or is another than the one that most have: half, twice, or 7/8.
    """
    usual, far = _most_common(lines.values()), set[str]()
    for numbers in zip(*(PRINTED.findall(line) for line in lines.values()), strict=False):
        sizes = [*map(float, numbers)]
        unit = min((abs(size) for size in sizes if size), default=1.0) if "e" in "".join(numbers).lower() else 1.0
        far.update(far_numbers([((node,), size / unit) for node, size in zip(lines, sizes, strict=True)]))
    others = {node: line for node, line in lines.items() if line != usual}
    few = are_few(len(others), len(lines))
    for node, line in others.items():
        both = zip(*(map(float, COUNTS.findall(text)) for text in (usual, line)), strict=False)
        less = any(int(share["part"]) < int(share["whole"]) for share in SHARE.finditer(line))
        exact = not CHECKSUM_WORDS.isdisjoint(words_of(line))
        counts = any(max(pair) >= TWICE * min(pair) and min(pair) != max(pair) for pair in both)
        if node in far or (few and (exact or less or counts)):
            yield LoneCell(subject=node, column="a line", cell=line, usual=usual)


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
        for cell in _of_ends(_compared(column), pairs)
    )


def _compared(column: TableColumn) -> ComparedColumn:
    return ComparedColumn(
        name=column.name,
        cells=tuple("" if cell.strip().lower() in MISSING else cell for cell in column.cells),
        numeric=column.numeric,
        exact=not (SOFTWARE_WORDS | CHECKSUM_WORDS).isdisjoint(words_of(column.name)),
    )


def _of_ends(column: ComparedColumn, pairs: Sequence[tuple[str, str]]) -> Iterator[LoneCell]:
    """Nodes with other cells in most of their rows, at both ends or at one of them; then pairs of the others."""
    rows = [*zip(pairs, column.cells, strict=True)]
    if len({*column.cells}) < 2:
        return
    both = _cells_of(rows)
    usual = _most_common(_most_common(cells.elements()) for cells in both.values())
    other = _others(column, usual, column.cells)
    for ends in ((0, 1), (0,), (1,)):
        of_ends = [(pair if len(ends) > 1 else (pair[ends[0]],), cell) for pair, cell in rows]
        if far := far_numbers(_numbers(column, of_ends)):
            yield from (
                LoneCell(subject=subject, column=column.name, cell=one.number, usual=one.others)
                for subject, one in far.items()
            )
            return
        cells_of = _cells_of(of_ends)
        apart = {
            end: Counter({cell: number for cell, number in cells.items() if cell in other})
            for end, cells in cells_of.items()
            if sum(number for cell, number in cells.items() if cell in other) >= MOSTLY * cells.total()
        }
        rest = [row for row, (own, _) in zip(rows, of_ends, strict=True) if apart.keys().isdisjoint(own)]
        alike = sum(cell == usual for _, cell in rest) >= MOST_ALIKE * len(rest)
        if are_few(len(apart), len(cells_of)) and alike:
            yield from (_lone(end, column, cells, usual) for end, cells in apart.items())
            rows = rest
    single: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair, cell in rows:
        if cell in other:
            single[" > ".join(pair)][cell] += 1
    alike = sum(cell == usual for _, cell in rows) >= MOST_ALIKE * len(rows)
    if alike and len(single) <= MOST_PAIRS and are_few(len(single), len({pair for pair, _ in rows})):
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
    word = last_word(column.name)
    aged = column.numeric and not AGES.isdisjoint(words_of(column.name))
    place = word in PLACES or word.endswith(NUMBERS)
    return not (place or aged or is_numbered(column.name) or are_moments(column))


def _is_settled(column: ComparedColumn, strata: Sequence[Sequence[int]]) -> bool:
    """Whether it has words, or one condition, or most numbers are the usual one of theirs: not in one by chance."""
    usual = sum(max(Counter(column.cells[row] for row in stratum).values()) for stratum in strata)
    return not column.numeric or len(strata) == 1 or usual > (1 - GROUP_SHARE) * len(column.cells)


def _without_number(column: ComparedColumn, rows: Sequence[MeasuredRow]) -> list[LoneCell]:
    """The few nodes, or parts, that have no number in any of their rows, where others have one."""
    having = {row.subject for row, cell in zip(rows, column.cells, strict=True) if cell}
    cells = tuple("one" if row.subject in having else "" for row in rows)
    usual = column.numeric and _most_common(cells)
    having_one = ComparedColumn(name=column.name, cells=cells, numeric=False, exact=False)
    return [*_lone_in(having_one, rows, range(len(rows)))] if usual else []


def _lone_in(column: ComparedColumn, of: Sequence[MeasuredRow], places: Sequence[int]) -> Iterator[LoneCell]:
    """The few nodes with another cell than the usual one, in the rows at these places."""
    rows = [(of[place].node, of[place].subject, column.cells[place]) for place in places]
    nodes = {node for node, _, _ in rows}
    usual = _most_common(cell for _, _, cell in rows)
    other = _others(column, usual, (cell for _, _, cell in rows))
    as_usual = {node for node, _, cell in rows if cell == usual}
    odd = {node for node, _, cell in rows if cell in other}
    if not are_few(len(odd), len(nodes)) or len(as_usual) < MOST_ALIKE * len(nodes):
        return
    apart: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for node, subject, cell in rows:
        if cell in other:
            apart[subject if node in as_usual else node][cell] += 1
    yield from (_lone(subject, column, cells, usual) for subject, cells in apart.items())


def _lone(subject: str, column: ComparedColumn, cells: Counter[str], usual: str) -> LoneCell:
    return LoneCell(subject=subject, column=column.name, cell=_most_common(cells.elements()), usual=usual)


def _most_common(cells: Iterable[str]) -> str:
    return next((cell for cell, _ in Counter(cells).most_common(1)), "")


def _others(column: ComparedColumn, usual: str, cells: Iterable[str]) -> set[str]:
    """Cells among these that differ from the usual one; nothing of remarks, which most rows lack."""
    exact = not column.numeric or not usual or column.exact
    distinct = {*cells} if usual or not is_remark(column.name) else set()
    return {cell for cell in distinct if cell != usual and (exact or not cell or _apart(cell, usual) > LEAST)}


def _numbers(column: ComparedColumn, rows: Sequence[tuple[tuple[str, ...], str]]) -> Rows:
    """The numbers of the rows, without missing ones; none of words, versions and checksums."""
    counted = column.numeric and not column.exact
    return [(subjects, float(cell)) for subjects, cell in rows if cell] if counted else []


def _far_in(
    column: ComparedColumn, rows: Sequence[MeasuredRow], strata: Sequence[Sequence[int]], comparisons: int
) -> list[LoneCell]:
    """The few subjects that are far from all others under a condition; a node in place of all of its parts.

    A place whose part is far on all nodes is another place, and no other part.
    """
    shared = comparisons if SEQUENCES.isdisjoint(words_of(column.name)) else 0
    cells: dict[str, LoneCell] = {}
    for stratum in strata:
        numbers = _numbers(column, [((rows[row].subject,), column.cells[row]) for row in stratum])
        for subject, far in far_numbers(numbers, shared).items():
            cell = LoneCell(subject=subject, column=column.name, cell=far.number, usual=far.others)
            cells.setdefault(subject, cell)
    parts: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[Hashable, set[str]] = defaultdict(set)
    for row in rows:
        parts[row.node].add(row.subject)
        places[row.part].add(row.subject)
    everywhere = {subject for own in places.values() if len(own) > 1 and own <= cells.keys() for subject in own}
    whole = {subject: node for node, own in parts.items() if own <= cells.keys() for subject in own}
    named: dict[str, LoneCell] = {}
    for subject, cell in cells.items():
        if subject not in everywhere:
            named.setdefault(whole.get(subject, subject), cell)
    return [msgspec.structs.replace(cell, subject=subject) for subject, cell in named.items()]


def _apart(cell: str, usual: str) -> float:
    """How far a number is from the usual one, as a share of it."""
    return abs(float(cell) - float(usual)) / abs(float(usual)) if float(usual) else math.inf
