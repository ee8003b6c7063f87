"""A matrix of verdicts and numbers as SVG: rows send, columns receive. No script, and colour is never alone."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec

from seatrial.model.verdict import Verdict
from seatrial.render.escape import shorten
from seatrial.render.report import Block

LABEL_LENGTH = 22
LETTER_WIDTH, LINE_HEIGHT = 7, 14
"""The size of labels, in pixels."""
MOST_HALF = 600
"""Pixels of a drawing that fits beside another."""
SIDE, WIDE_SIDE, MOST_BESIDE = 480, 760, 20
"""Pixels of the square, the second where there are more rows than the third; cells are smaller where there are many."""
LEAST_CELL, MOST_CELL = 11, 60
MOST_NAMED = 24
"""Groups (leaves) that are named beside the matrix."""
MOST_NUMBERED = 20
"""Rows of a matrix whose cells have room for numbers; those of a larger one have patterns."""
MOST_UPRIGHT = 8
"""Columns whose labels may be horizontal."""
GOOD = (0.98, 0.94)
BAD = (0.5, 0.75)
"""Shares of the peers' value at which the shade of a cell that passed, or did not, changes."""
LETTERS = {
    Verdict.PASS: " ",
    Verdict.SLOW: "S",
    Verdict.UNSTABLE: "U",
    Verdict.INVALID: "!",
    Verdict.MISCONFIGURED: "M",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_RUN: "-",
    Verdict.DOWN: "D",
    Verdict.BLOCKED: "B",
    Verdict.MEASURED: "m",
    Verdict.NOTE: "n",
}
"""The letter of a verdict in a drawing, where colour alone would say it."""
PATTERNS = {
    Verdict.SLOW.value: "lines",
    Verdict.UNSTABLE.value: "dots",
    Verdict.MISCONFIGURED.value: "dots",
    Verdict.INVALID.value: "cross",
    Verdict.DOWN.value: "cross",
    Verdict.BLOCKED.value: "cross",
    Verdict.INCONCLUSIVE.value: "dashes",
    Verdict.NOT_RUN.value: "dashes",
}
"""The pattern over the colour of a verdict, which is seen without colour, too."""
MOST_HOVERS = 400
"""Cells with a text of their own to point at; the gravest ones first. Each takes about 100 bytes."""


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One square. `style`: the word of a verdict, by which page.css colours it; `shade`: 0 for strong to 2 for weak."""

    row: int
    column: int
    style: str
    shade: int
    gravity: int = 0
    texts: tuple[str, ...] = ()
    """A number and the letter of the verdict, where the cell has room for them."""
    quality: float | None = None
    """The value over that of the peers, by which rows are compared: 1 is as good, less is worse; None: no value."""
    hover: str = ""
    href: str = ""
    """The address of a page on the pair; empty: none."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the key below a matrix or a distribution."""

    style: str
    text: str


class CellRun(msgspec.Struct, frozen=True, kw_only=True):
    """All cells of one colour: an SVG path of squares that are joined where they are neighbours in a row."""

    style: str
    shade: int
    path: str


class Square(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with a text to point at, and the address to which a click leads."""

    x: int
    y: int
    hover: str
    href: str


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """A text on the drawing; `turned`: upwards."""

    x: float
    y: float
    text: str
    style: str = ""
    anchor: str = "middle"
    turned: bool = False


class MatrixPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix in the coordinates of its SVG."""

    width: int
    height: int
    left: int
    top: int
    side: int
    runs: tuple[CellRun, ...]
    grid: str
    """The path of the lines between cells; empty where they are too small."""
    groups: str
    """The path of the lines between groups."""
    words: tuple[Words, ...]
    numbers: tuple[tuple[str, tuple[Words, ...]], ...]
    """Texts in cells, by the class that colours them."""
    hovers: tuple[Square, ...]
    cell: int
    patterned: bool

    @property
    def wide(self) -> bool:
        """Whether two of them do not fit beside each other."""
        return self.width > MOST_HALF


class Matrix(Block, frozen=True, kw_only=True):
    """Rows and columns in the order of `labels`; `groups`: the leaf of each label, "" where there are none."""

    kind: ClassVar[str] = "matrix"
    caption: str
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    cells: tuple[MatrixCell, ...]
    key: tuple[Key, ...]

    @property
    def svg(self) -> MatrixPlaces:
        """The places of everything on the page."""
        return places(self)


def verdict_key(cells: Sequence[MatrixCell], rows: int, than: str) -> tuple[Key, ...]:
    """How many cells have each verdict, the gravest last, and how many pairs have no cell; `than`: `its peers`."""
    shades = {Verdict.PASS: f", paler: less than {than}", Verdict.SLOW: ", paler: less slow"}
    keys = counted_verdicts(
        (Verdict(cell.style) for cell in cells),
        lambda verdict: f"{LETTERS[verdict]} = " if rows <= MOST_NUMBERED and verdict is not Verdict.PASS else "",
        lambda verdict: shades.get(verdict, ""),
    )
    blank = rows * (rows - 1) - sum(cell.row != cell.column for cell in cells)
    return (*keys, Key(style="absent", text=f"not measured: {blank}")) if blank else keys


def counted_verdicts(
    verdicts: Iterable[Verdict],
    before: Callable[[Verdict], str] = lambda _: "",
    behind: Callable[[Verdict], str] = lambda _: "",
) -> tuple[Key, ...]:
    """How often each verdict occurs, the gravest last; `before`, `behind`: text around the word and its number."""
    seen = Counter(verdicts)
    return tuple(
        Key(style=verdict.value, text=f"{before(verdict)}{verdict.value}: {seen[verdict]}{behind(verdict)}")
        for verdict in sorted(seen, key=lambda verdict: verdict.gravity)
    )


def shade_of(verdict: Verdict, quality: float | None) -> int:
    """What passed is weaker where it is worse, what is slow where it is better; anything else has one colour."""
    if quality is None or verdict not in (Verdict.PASS, Verdict.SLOW):
        return 0
    if verdict is Verdict.PASS:
        return sum(quality < least for least in GOOD)
    return sum(quality >= most for most in BAD)


def places(matrix: Matrix) -> MatrixPlaces:
    """The matrix in the coordinates of its SVG."""
    count = len(matrix.labels)
    cell = max(LEAST_CELL, min(MOST_CELL, (SIDE if count <= MOST_BESIDE else WIDE_SIDE) // max(count, 1)))
    labels = [shorten(label, LABEL_LENGTH) for label in matrix.labels]
    longest = max(map(len, labels), default=0) * LETTER_WIDTH
    upright = count <= MOST_UPRIGHT and longest <= cell
    bounds = [i for i in range(1, count) if matrix.groups[i] != matrix.groups[i - 1]]
    names = list(_group_names(matrix.groups, bounds)) if len(bounds) < MOST_NAMED else []
    left, top = longest + 10 + LINE_HEIGHT, (LINE_HEIGHT if upright else longest) + 10 + LINE_HEIGHT
    side = count * cell
    edge = (LINE_HEIGHT + 6) * bool(names)
    words = [
        Words(x=left + side / 2, y=LINE_HEIGHT - 3, text="receives", style="axis-name"),
        Words(x=LINE_HEIGHT - 3, y=top + side / 2, text="sends", style="axis-name", turned=True),
        *_labels(labels, cell, left, top, upright=upright),
        *_leaves(names, cell, left, top, side),
    ]
    numbers: dict[str, list[Words]] = defaultdict(list)
    numbered = count <= MOST_NUMBERED
    for square in matrix.cells if numbered else ():
        numbers[f"{square.style} shade{square.shade}"] += _cell_words(square, cell, left, top)
    return MatrixPlaces(
        width=left + side + edge + 4,
        height=top + side + edge + 4,
        left=left,
        top=top,
        side=side,
        cell=cell,
        patterned=not numbered,
        runs=tuple(_runs(matrix.cells, cell, left, top)),
        grid=_lines(range(1, count), cell, left, top, side),
        groups=_lines(bounds, cell, left, top, side),
        words=tuple(words),
        numbers=tuple((style, tuple(found)) for style, found in numbers.items() if found),
        hovers=tuple(
            Square(x=left + one.column * cell, y=top + one.row * cell, hover=one.hover, href=one.href)
            for one in sorted(matrix.cells, key=lambda one: (not one.href, -one.gravity))[:MOST_HOVERS]
            if one.hover or one.href
        ),
    )


def _runs(cells: Sequence[MatrixCell], cell: int, left: int, top: int) -> Iterator[CellRun]:
    by_colour: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for square in cells:
        by_colour[square.style, square.shade].append((square.row, square.column))
    for (style, shade), squares in sorted(by_colour.items()):
        path = ""
        joined: list[list[int]] = []
        for row, column in sorted(squares):
            if joined and joined[-1][0] == row and joined[-1][1] + joined[-1][2] == column:
                joined[-1][2] += 1
            else:
                joined.append([row, column, 1])
        for row, column, length in joined:
            path += f"M{left + column * cell} {top + row * cell}h{length * cell}v{cell}h-{length * cell}z"
        yield CellRun(style=style, shade=shade, path=path)


def _lines(after: Sequence[int], cell: int, left: int, top: int, side: int) -> str:
    """Lines in both directions before the rows and columns of these numbers."""
    across = "".join(f"M{left} {top + i * cell}h{side}" for i in after)
    return across + "".join(f"M{left + i * cell} {top}v{side}" for i in after)


def _group_names(groups: Sequence[str], bounds: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Name and middle of each group that has a name."""
    edges = [0, *bounds, len(groups)]
    for start, end in itertools.pairwise(edges):
        if start < end and groups[start]:
            yield groups[start], (start + end) / 2


def _labels(labels: Sequence[str], cell: int, left: int, top: int, *, upright: bool) -> Iterator[Words]:
    for number, label in list(enumerate(labels))[:: math.ceil(LEAST_CELL / cell)]:
        middle = (number + 0.5) * cell
        yield Words(x=left - 6, y=round(top + middle + 4, 1), text=label, anchor="end")
        if upright:
            yield Words(x=left + middle, y=top - 6, text=label)
        else:
            yield Words(x=round(left + middle + 4, 1), y=top - 6, text=label, anchor="start", turned=True)


def _leaves(names: Sequence[tuple[str, float]], cell: int, left: int, top: int, side: int) -> Iterator[Words]:
    for place, (name, middle) in enumerate(names):
        room = min((abs(other - middle) for at, (_, other) in enumerate(names) if at != place), default=side / cell)
        text = shorten(name, max(int(room * cell / LETTER_WIDTH), 2))
        yield Words(x=left + middle * cell, y=top + side + LINE_HEIGHT + 2, text=text, style="group")
        yield Words(x=left + side + LINE_HEIGHT + 2, y=top + middle * cell, text=text, style="group", turned=True)


def _cell_words(square: MatrixCell, cell: int, left: int, top: int) -> Iterator[Words]:
    lines = [text for text in square.texts if text]
    height = min(LINE_HEIGHT, cell // 2 - 1)
    for number, text in enumerate(lines):
        middle = (number - (len(lines) - 1) / 2) * height + 4
        yield Words(x=left + (square.column + 0.5) * cell, y=top + (square.row + 0.5) * cell + middle, text=text)


class Panels(Block, frozen=True, kw_only=True):
    """Drawings beside each other where there is room."""

    kind: ClassVar[str] = "panels"
    aside: str
    panels: tuple[Block, ...]
