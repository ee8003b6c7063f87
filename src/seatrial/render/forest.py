"""Forest plots: how many times as much, with its interval, on a logarithmic axis around 1."""

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

import msgspec

from seatrial.render.report import Block

LEAST_SPAN = 1.1
"""The axis reaches at least from 10 % less to 10 % more."""
MOST_SPAN = 64.0
"""Values beyond are drawn at the end of the axis; the numbers are beside it."""


class Factor(msgspec.Struct, frozen=True, kw_only=True):
    """An interval on a logarithmic axis around 1, in per cent of its width; `low` is None where nothing is drawn."""

    style: str
    """The class by which page.css colours it."""
    text: str
    low: float | None = None
    value: float = 0.0
    high: float = 0.0


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a forest plot, from 1/span to span; between `below` and `above` a difference has no consequence."""

    title: str
    span: str
    below: float
    above: float
    rows: tuple[Factor, ...]


class Forest(Block, frozen=True, kw_only=True):
    """A forest plot: one row a name, one column a metric."""

    kind: ClassVar[str] = "forest"
    aside: str
    names: tuple[str, ...]
    metrics: tuple[Factors, ...]


Ends = tuple[float, float, float]
"""Lower end, value and upper end of an interval."""


def forest(
    title: str, aside: str, rows: Sequence[tuple[str, str, str, Ends]], *, matters: float = 1.0, column: str = ""
) -> Forest:
    """A plot of one column: name, text, style and interval of each row. `column`: its head, else the title."""
    metric = factors(column or title, [row[1:] for row in rows], matters=matters)
    return Forest(title=title, aside=aside, names=tuple(row[0] for row in rows), metrics=(metric,))


def factors(
    title: str, rows: Sequence[tuple[str, str, Ends | None]], *, matters: float = 1.0, least: float = LEAST_SPAN
) -> Factors:
    """A column: text, style and interval of each row; None: nothing is drawn.

    An interval without a finite end is drawn as its value. `matters`: the factor from which on a difference matters;
    `least`: how far the axis reaches at least.
    """
    bounded = [
        ends if ends is None or (ends[0] > 0 and math.isfinite(ends[2])) else (ends[1],) * 3 for _, _, ends in rows
    ]
    span = axis_span((end for ends in bounded if ends for end in ends), least)
    drawn = []
    for (text, style, _), ends in zip(rows, bounded, strict=True):
        low, value, high = (place(end, span) for end in ends) if ends else (None, 0.0, 0.0)
        drawn.append(Factor(style=style, text=text, low=low, value=value, high=high))
    return Factors(
        title=title, span=f"{span:.3g}", below=place(1 / matters, span), above=place(matters, span), rows=tuple(drawn)
    )


def axis_span(ends: Iterable[float], least: float) -> float:
    """How far an axis reaches, as a factor: the farthest end or value, at least `least`, within reason."""
    farthest = (max(end, 1 / end) for end in ends if end > 0 and math.isfinite(end))
    return min(max([least, *farthest]), MOST_SPAN)


def place(ratio: float, span: float) -> float:
    """Place of a ratio on an axis from 1/span to span, in per cent of its width."""
    if not ratio > 0:
        return 0.0
    if not math.isfinite(ratio):
        return 100.0
    share = math.log(ratio) / math.log(span)
    return round(50 + 50 * min(max(share, -1.0), 1.0), 2)
