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


def forest(
    title: str,
    aside: str,
    rows: Sequence[tuple[str, str, str, tuple[float, float, float]]],
    *,
    matters: float = 1.0,
    column: str = "",
) -> Forest:
    """A plot of one column: name, text, style, and lower end, value and upper end of each row.

    An interval without a finite end is drawn as its value. `matters`: the factor from which on a difference matters;
    `column`: the head of the column, else the title.
    """
    bounded = [
        (low, value, high) if low > 0 and math.isfinite(high) else (value, value, value)
        for _, _, _, (low, value, high) in rows
    ]
    span = axis_span((end for row in bounded for end in row), LEAST_SPAN)
    factors = tuple(
        Factor(style=style, text=text, low=place(low, span), value=place(value, span), high=place(high, span))
        for (_, text, style, _), (low, value, high) in zip(rows, bounded, strict=True)
    )
    metric = Factors(
        title=column or title,
        span=f"{span:.3g}",
        below=place(1 / matters, span),
        above=place(matters, span),
        rows=factors,
    )
    return Forest(title=title, aside=aside, names=tuple(row[0] for row in rows), metrics=(metric,))


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
