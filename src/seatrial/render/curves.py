"""Curves over each other in one plot, both axes logarithmic, and values over runs."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.render.escape import shorten
from seatrial.render.plots import Axis, Plot, Point, Series, log_steps, powers, round_steps

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


def over_runs(
    title: str,
    values: Sequence[RunValue],
    text: Callable[[float], str],
    changes: Sequence[int] = (),
) -> Plot | None:
    """The plot, with an axis from zero; None for fewer than two runs, or without a positive finite value.

    `values`: the oldest run first; `text`: a value with its unit. `changes`: numbers of the runs before which the
    values changed.
    """
    most = max((each.value for each in values), default=0.0)
    if len(values) < FEWEST_RUNS or not 0 < most < float("inf"):
        return None
    top = most * HEADROOM
    dated = range(0, len(values), max(round(len(values) / MOST_DATES), 1))
    return Plot(
        title=title,
        x=Axis(
            low=-EDGE * len(values),
            high=(1 + EDGE) * len(values) - 1,
            logarithmic=False,
            ticks=tuple((float(place), values[place].date) for place in dated),
        ),
        y=Axis(low=0.0, high=top, logarithmic=False, ticks=tuple((step, text(step)) for step in round_steps(top))),
        series=(Series(points=tuple(_point(place, each, text) for place, each in enumerate(values))),),
        marks=tuple(place - 0.5 for place in changes),
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


MOST_LETTERS = 14
"""Characters of a name beside its curve."""
FEWEST_SIZES = 2
ABOVE_LIMIT = 1.5
"""How far the axis goes beyond the highest limit, for its label."""

Named = tuple[str, Mapping[float, Estimate]]
"""A curve: its name, and its values by size."""


def overlaid(
    title: str,
    curves: Sequence[Named],
    *,
    size_text: Callable[[float], str],
    value_text: Callable[[float], str],
    ends_text: Callable[[Estimate], str],
    over: str = "",
    levels: Sequence[tuple[float, str]] = (),
    marks: Sequence[float] = (),
) -> Plot | None:
    """The plot of all curves of two sizes or more; None: nothing to draw.

    `ends_text`: an interval in words; `over`: what a size counts, behind it.
    """
    drawn = [(name, points) for name, points in curves if len([size for size in points if size > 0]) >= FEWEST_SIZES]
    values = [value for _, points in drawn for value in points.values()]
    heights = [*(value.low for value in values), *(value.high for value in values), *(level for level, _ in levels)]
    if not drawn or not 0 < min(heights) < max(heights):
        return None
    least, most = min(heights), max(*heights, *(level * ABOVE_LIMIT for level, _ in levels))
    sizes = sorted({size for _, points in drawn for size in points if size > 0})
    ticks = powers(max(sizes[0], 1), max(sizes[-1], 2), 2)
    return Plot(
        title=title,
        x=Axis(low=sizes[0], high=sizes[-1], logarithmic=True, ticks=tuple((size, size_text(size)) for size in ticks)),
        y=Axis(
            low=least,
            high=most,
            logarithmic=True,
            ticks=tuple((value, value_text(value)) for value in log_steps(least, most)),
        ),
        series=tuple(
            Series(
                points=tuple(
                    Point(
                        x=size,
                        y=value.value,
                        low=value.low,
                        high=value.high,
                        x_text=size_text(size),
                        y_text=value_text(value.value),
                        hover=f"{name and f'{name}, '}{size_text(size)}{over and ' '}{over}: {value_text(value.value)}"
                        + (f" [{ends_text(value)}]" if value.low != value.high else ""),
                    )
                    for size, value in sorted(points.items())
                    if size > 0
                ),
                label=shorten(name, MOST_LETTERS) if len(drawn) > 1 else "",
            )
            for name, points in drawn
        ),
        levels=tuple(levels),
        marks=tuple(marks),
    )
