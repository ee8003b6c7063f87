"""Maps of very many pairs on the pages of a site, whose script draws them on a canvas with zoom and in two orders.

The map as SVG that a page has beside it needs no script; of very many nodes it shows leaf switches.
"""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np

from seatrial.model.verdict import Verdict
from seatrial.render.escape import clean
from seatrial.render.json import attribute_text
from seatrial.render.matrix import LETTERS, Key, Matrix, MatrixCell
from seatrial.render.report import Block, PageLink
from seatrial.render.similarity import similarity_order

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
