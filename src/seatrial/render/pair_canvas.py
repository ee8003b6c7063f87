"""Maps of very many pairs on the pages of a site, whose script draws them on a canvas with zoom and in two orders.

The map as SVG that a page has beside it needs no script; of very many nodes it shows leaf switches.
"""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np

from seatrial.model.run_values import Reals
from seatrial.model.verdict import Verdict
from seatrial.render.escape import clean
from seatrial.render.json import attribute_text
from seatrial.render.matrix import LETTERS, Key, Matrix, MatrixCell
from seatrial.render.report import Block, PageLink

MOST_ROWS = 1024
"""Rows of a map. Its order by similarity takes some seconds."""
MOST_PAIRS = 500_000
"""Pairs of a page with such a map, each of which takes 4 or 5 bytes."""


class CanvasMap(msgspec.Struct, frozen=True, kw_only=True):
    """One map as the script of the page reads it."""

    what: str
    """The quantity of the numbers, as the caption of the map has it."""
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    similar: tuple[int, ...]
    """Numbers of the rows in the order by similarity."""
    styles: tuple[tuple[str, int, str], ...]
    """The word of a verdict, its shade and its letter, the gravest last; the letter of a cell counts them from a."""
    rows: tuple[str, ...]
    """The cells of each row, joined by commas: a letter and a number, or how many columns are empty."""
    links: Mapping[str, str]
    """Addresses of pages on pairs, by the numbers of row and column."""


class CanvasFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One map with its caption and key; `data`: a `CanvasMap` as JSON."""

    caption: str
    rows: int
    key: tuple[Key, ...]
    data: str


class PairCanvas(Block, frozen=True, kw_only=True):
    """Maps that are made when a page with a script is rendered: they can be large."""

    kind: ClassVar[str] = "canvas"
    maps: Callable[[], Iterable[Matrix]]
    links: Mapping[str, PageLink] = {}
    """Links to pages on pairs, by `source>target`."""

    @property
    def figures(self) -> Iterator[CanvasFigure]:
        """Each map as the page has it."""
        for matrix in self.maps():
            data = attribute_text(canvas_map(matrix, self.links))
            rows = len(matrix.labels)
            yield CanvasFigure(caption=f"{matrix.caption}, {rows} rows", rows=rows, key=matrix.key, data=data)


def canvas_map(matrix: Matrix, links: Mapping[str, PageLink]) -> CanvasMap:
    """The cells of a map in few bytes, and the order of its rows by similarity."""
    count = len(matrix.labels)
    seen = sorted({(cell.gravity, cell.style, cell.shade) for cell in matrix.cells})
    styles = {(style, shade): number for number, (_, style, shade) in enumerate(seen)}
    rows: list[list[MatrixCell]] = [[] for _ in range(count)]
    values = np.full((count, count), np.nan)
    for cell in matrix.cells:
        rows[cell.row].append(cell)
        if cell.quality is not None:
            values[cell.row, cell.column] = cell.quality
    place_of = {label: place for place, label in enumerate(matrix.labels)}
    addresses = {}
    for name, link in links.items():
        source, _, target = name.partition(">")
        if source in place_of and target in place_of:
            addresses[f"{place_of[source]} {place_of[target]}"] = link.href
    return CanvasMap(
        what=matrix.caption,
        labels=tuple(clean(label) for label in matrix.labels),
        groups=tuple(clean(group) for group in matrix.groups),
        similar=similarity_order(values),
        styles=tuple((style, shade, LETTERS[Verdict(style)].strip()) for style, shade in styles),
        rows=tuple(_row(cells, styles) for cells in rows),
        links=addresses,
    )


def _row(cells: Sequence[MatrixCell], styles: Mapping[tuple[str, int], int]) -> str:
    words, column = [], 0
    for cell in sorted(cells, key=lambda cell: cell.column):
        if cell.column > column:
            words.append(str(cell.column - column))
        words.append(string.ascii_lowercase[styles[cell.style, cell.shade]] + (cell.texts[0] if cell.texts else ""))
        column = cell.column + 1
    return ",".join(words)


def similarity_order(values: Reals) -> tuple[int, ...]:
    """Numbers of the rows of a square matrix by average linkage, in each merger the lower values first.

    Like rows become neighbours, so that groups and culprits are blocks.

    `values`: positive, from row to column; NaN where nothing was measured. Two rows are like each other if their
    logarithms are, in both directions. A missing value is what its row and its column have in the middle.
    """
    profiles, level = _profiles(values)
    squares = np.einsum("ij,ij->i", profiles, profiles)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * profiles @ profiles.T, 0.0))
    return tuple(_linked(distance, level))


def _profiles(values: Reals) -> tuple[Reals, Reals]:
    """Logarithms out of and into each row, and its level: the sum of the middles of both."""
    positive = np.isfinite(values) & (values > 0)
    logs = np.full(values.shape, np.nan)
    logs[positive] = np.log(values[positive])
    if positive.any():
        logs -= np.median(logs[positive])
    out, into = _middles(logs), _middles(logs.T)
    filled = np.where(np.isnan(logs), out[:, None] + into, logs)
    return np.hstack((filled, filled.T)), out + into


def _middles(logs: Reals) -> Reals:
    """The median of each row; 0 for a row without values."""
    return np.array([np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else 0.0 for row in logs])


def _linked(distance: Reals, level: Reals) -> list[int]:
    """The leaves of the tree of average linkage, by chains of nearest neighbours (Murtagh, Comput. J. 26 (1983) 354).

    `distance` is used up: a group is in the row of one of its members, and rows of the others become infinite.
    """
    groups = {number: [number] for number in range(len(distance))}
    levels = level.tolist()
    np.fill_diagonal(distance, np.inf)
    chain: list[int] = []
    while len(groups) > 1:
        if not chain:
            chain.append(next(iter(groups)))
        last = chain[-1]
        nearest = int(np.argmin(distance[last]))
        if len(chain) < 2 or distance[last, nearest] < distance[last, chain[-2]]:
            chain.append(nearest)
            continue
        kept, gone = sorted((chain.pop(), chain.pop()))
        sizes = len(groups[kept]), len(groups[gone])
        joined = np.average(distance[[kept, gone]], axis=0, weights=sizes)
        distance[kept], distance[:, kept] = joined, joined
        distance[gone], distance[:, gone], distance[kept, kept] = np.inf, np.inf, np.inf
        parts = sorted((kept, gone), key=lambda number: (levels[number], number))
        groups[kept] = [member for part in parts for member in groups[part]]
        levels[kept] = np.average([levels[kept], levels[gone]], weights=sizes)
        del groups[gone]
    return next(iter(groups.values()), [])
