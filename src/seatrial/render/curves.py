"""Several curves over each other in one plot, with their intervals and limits, both axes logarithmic."""

from collections.abc import Callable, Mapping, Sequence

from seatrial.model.measurement import Estimate
from seatrial.render.escape import shorten
from seatrial.render.plots import Axis, Plot, Point, Series, log_steps, powers

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
