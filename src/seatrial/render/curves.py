"""Several curves over each other in one plot, with their intervals and limits, both axes logarithmic."""

from collections.abc import Callable, Mapping, Sequence

from seatrial.model.measurement import Estimate
from seatrial.model.units import LEAST_CONFIDENCE
from seatrial.model.words import count
from seatrial.render.escape import shorten
from seatrial.render.plots import Axis, Plot, Point, Series, from_zero, log_steps, powers

MOST_LETTERS = 14
"""Characters of a name beside its curve."""
FEWEST_SIZES = 2
HEADROOM = 1.1
"""How far an axis from zero goes beyond the highest value, for the label of a limit."""
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
    quantities: tuple[str, str] = ("", ""),
    levels: Sequence[tuple[float, str]] = (),
    marks: Sequence[float] = (),
    mark_text: str = "",
    linear: bool = False,
) -> Plot | None:
    """The plot of all curves of two sizes or more; None: nothing to draw.

    `ends_text`: an interval in words; `over`: what a size counts, behind it. `quantities`: what both axes are, without
    a unit, which each tick has; `mark_text`: what `marks` are. `linear`: the axis of values is linear, from zero on.
    """
    drawn = [(name, points) for name, points in curves if len([size for size in points if size > 0]) >= FEWEST_SIZES]
    values = [value for _, points in drawn for value in points.values()]
    heights = [*(value.low for value in values), *(value.high for value in values), *(level for level, _ in levels)]
    if not drawn or not 0 < min(heights) < max(heights):
        return None
    title_of_y = "; ".join(filter(None, (quantities[1], runs_text(values))))
    sizes = sorted({size for _, points in drawn for size in points if size > 0})
    ticks = powers(max(sizes[0], 1), max(sizes[-1], 2), 2)
    return Plot(
        title=title,
        x=Axis(
            low=sizes[0],
            high=sizes[-1],
            logarithmic=True,
            ticks=tuple((size, size_text(size)) for size in ticks),
            title=quantities[0] or over,
        ),
        y=from_zero(max(heights) * HEADROOM, value_text, title_of_y)
        if linear
        else _logarithmic(heights, levels, value_text, title_of_y),
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
        mark_text=mark_text,
    )


def _logarithmic(
    heights: Sequence[float], levels: Sequence[tuple[float, str]], value_text: Callable[[float], str], title: str
) -> Axis:
    least, most = min(heights), max(*heights, *(level * ABOVE_LIMIT for level, _ in levels))
    ticks = tuple((value, value_text(value)) for value in log_steps(least, most))
    return Axis(low=least, high=most, logarithmic=True, ticks=ticks, title=title)


def runs_text(values: Sequence[Estimate]) -> str:
    """`n = 4 to 6 runs, bars: 95 % confidence`: how often points were measured, and what their intervals are."""
    fewest, most = min(value.runs for value in values), max(value.runs for value in values)
    text = f"n = {count(most, 'run')}" if fewest == most else f"n = {fewest} to {most} runs"
    if all(value.low == value.high for value in values):
        return text
    sure = all(value.confidence >= LEAST_CONFIDENCE for value in values)
    return f"{text}, bars: {'95 % confidence' if sure else 'range'}"
