"""Values in their order as a plot: one value a run, with the places at which they changed, or curves over places."""

import math
from collections.abc import Callable, Sequence

import msgspec

from seatrial.render.distribution import BLOCKS, LEAST_COLUMNS, MOST_BINS, Line
from seatrial.render.plots import Axis, Plot, Point, Series, from_zero

MOST_DATES = 6
"""Dates below the plot, about."""
FEWEST_RUNS = 2
EDGE = 0.06
"""Room beside the first and the last run, as a share of the axis: half the width of a date."""
HEADROOM = 1.05
"""How far the axis goes beyond the highest value."""


class RunValue(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one run. `date`: the day on which it began or ended, for the axis."""

    run: str
    date: str
    value: float


def bars(values: Sequence[float], say: Callable[[float], str], width: int) -> tuple[Line, ...]:
    """The newest values in their order as bars from the least to the greatest of them; none without room for them."""
    drawn = values[-MOST_BINS:]
    low, high = min(drawn), max(drawn)
    if width < LEAST_COLUMNS or not low < high:
        return ()
    steps = len(BLOCKS) - 2
    heights = (1 + round((value - low) / (high - low) * steps) for value in drawn)
    return ((("".join(BLOCKS[height] for height in heights), ""), (f"  {say(low)} to {say(high)}", "dim")),)


def over_runs(
    title: str,
    values: Sequence[RunValue],
    text: Callable[[float], str],
    changes: Sequence[int] = (),
    what: str = "",
    of: str = "runs",
    levels: Sequence[tuple[float, str]] = (),
) -> Plot | None:
    """The plot, with an axis from zero; None for fewer than two runs, or without a positive finite value.

    `values`: the oldest run first; `text`: a value with its unit. `changes`: numbers of the runs before which the
    values changed; `what`: the quantity that the values are of; `of`: what has one value
    each; `levels`: values to compare them with, and what each is.
    """
    if len(values) < FEWEST_RUNS:
        return None
    dated = range(0, len(values), max(round(len(values) / MOST_DATES), 1))
    axis = Axis(
        low=-EDGE * len(values),
        high=(1 + EDGE) * len(values) - 1,
        logarithmic=False,
        ticks=tuple((float(place), values[place].date) for place in dated),
        title=f"{of} in their order, n = {len(values)}",
    )
    drawn = in_order(title, [("", values)], text, axis, what, levels)
    marks = tuple(place - 0.5 for place in changes)
    return drawn and msgspec.structs.replace(drawn, marks=marks, mark_text="changed")


def in_order(
    title: str,
    curves: Sequence[tuple[str, Sequence[RunValue]]],
    text: Callable[[float], str],
    axis: Axis,
    what: str,
    levels: Sequence[tuple[float, str]] = (),
) -> Plot | None:
    """Curves over the places of their values, with an axis from zero; None without a positive finite value.

    `curves`: each with its label; `axis`: of the places, which are counted from 0; the others are as in `over_runs`.
    """
    heights = [*(one.value for _, values in curves for one in values), *(level for level, _ in levels)]
    if not 0 < max(heights, default=0.0) < math.inf:
        return None
    return Plot(
        title=title,
        x=axis,
        y=from_zero(max(heights) * HEADROOM, text, what),
        series=tuple(
            Series(label=label, points=tuple(_point(place, each, text) for place, each in enumerate(values)))
            for label, values in curves
        ),
        levels=tuple(levels),
    )


def _point(place: int, value: RunValue, text: Callable[[float], str]) -> Point:
    shown = text(value.value)
    return Point(
        x=float(place),
        y=value.value,
        low=value.value,
        high=value.value,
        x_text=value.date,
        y_text=shown,
        hover=f"{value.run}, {value.date}: {shown}",
    )
