"""Forest plots: how many times as much, with its interval, on a logarithmic axis around 1."""

import math
from collections.abc import Iterable
from typing import ClassVar

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.render.report import Block

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


def axis_span(ratios: Iterable[Estimate], least: float) -> float:
    """How far an axis reaches, as a factor: the farthest end of the intervals, at least `least`, within reason."""
    return min(max([least, *(_farthest(ratio) for ratio in ratios)]), MOST_SPAN)


def _farthest(ratio: Estimate) -> float:
    ends = (end for end in (ratio.low, ratio.value, ratio.high) if end > 0 and math.isfinite(end))
    return max((max(end, 1 / end) for end in ends), default=1.0)


def place(ratio: float, span: float) -> float:
    """Place of a ratio on an axis from 1/span to span, in per cent of its width."""
    if not ratio > 0:
        return 0.0
    if not math.isfinite(ratio):
        return 100.0
    share = math.log(ratio) / math.log(span)
    return round(50 + 50 * min(max(share, -1.0), 1.0), 2)
