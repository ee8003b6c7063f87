"""Plots as records, which a terminal draws with characters and a page as SVG."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import msgspec

from seatrial.render.escape import shorten
from seatrial.render.report import Block

WIDTH, HEIGHT = 960, 396
LEFT, RIGHT, TOP, BOTTOM = 90, WIDTH - 20, 28, HEIGHT - 48
INSET, LABEL_ROOM = 20, 110
"""Room beside the first points, and for the labels behind the last ones; only where series have labels."""
LABEL_HEIGHT = 16
MOST_LETTERS = 90
MOST_TICKS, LEAST_TICKS = 12, 3
STEPS = 5
"""Ticks of a linear axis, about."""
ROWS = 12
LEAST_COLUMNS = 20
COLOURS = 8


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its interval, and all three in words."""

    x: float
    y: float
    low: float
    high: float
    x_text: str
    y_text: str
    hover: str = ""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Points that a line joins; at least one. The label is behind the last one, or the one at `label_at`."""

    points: tuple[Point, ...]
    label: str = ""
    label_at: int = -1


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis from `low` to `high`, with a line at each tick (value, and label with its unit)."""

    low: float
    high: float
    logarithmic: bool
    ticks: tuple[tuple[float, str], ...] = ()
    title: str = ""
    """The quantity, how often it was measured, and what its intervals are."""

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return math.log(value / self.low) / max(math.log(self.high / self.low), 1e-9)


class Plot(Block, frozen=True, kw_only=True):
    """Curves over one quantity."""

    kind: ClassVar[str] = "plot"
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[float, ...] = ()
    """Values of x with a vertical line."""
    mark_text: str = ""
    """What the vertical lines are; beside the first one."""
    levels: tuple[tuple[float, str], ...] = ()
    """Values of y with a horizontal line, and its label."""

    @property
    def svg(self) -> "PlotPlaces":
        """The places of everything on the page."""
        return places(self)


class Dot(msgspec.Struct, frozen=True, kw_only=True):
    """A point on the page."""

    x: float
    y: float
    low: float
    high: float
    hover: str


class DrawnCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A series on the page; `colour`: the number of its colour."""

    colour: int
    dots: tuple[Dot, ...]
    label: str
    label_x: float
    label_y: float

    @property
    def line(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{dot.x},{dot.y}" for dot in self.dots)


class PlotPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """A plot in the coordinates of its SVG."""

    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    marks: tuple[float, ...]
    levels: tuple[tuple[float, str], ...]
    curves: tuple[DrawnCurve, ...]
    x_title: str
    y_title: str
    mark_text: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM


def places(plot: Plot) -> PlotPlaces:
    """The plot in the coordinates of its SVG."""
    labelled = any(series.label for series in plot.series)
    left, room = (LEFT + INSET, RIGHT - LEFT - INSET - LABEL_ROOM) if labelled else (LEFT, RIGHT - LEFT)

    def x(value: float) -> float:
        return round(left + room * plot.x.place(value), 1)

    def y(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * plot.y.place(value), 1)

    curves = []
    for number, series in enumerate(plot.series):
        dots = tuple(
            Dot(x=x(point.x), y=y(point.y), low=y(point.low), high=y(point.high), hover=point.hover)
            for point in series.points
        )
        last = dots[series.label_at]
        curves.append(
            DrawnCurve(colour=number % COLOURS, dots=dots, label=series.label, label_x=last.x + 8, label_y=last.y + 4)
        )
    return PlotPlaces(
        x_ticks=tuple((x(value), label) for value, label in plot.x.ticks),
        y_ticks=tuple((y(value), label) for value, label in plot.y.ticks),
        marks=tuple(x(value) for value in plot.marks),
        levels=tuple(_levels([(y(value), label) for value, label in plot.levels])),
        curves=_labels_apart(curves),
        x_title=plot.x.title,
        y_title=plot.y.title,
        mark_text=plot.mark_text if plot.marks else "",
    )


def _levels(levels: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The lines from above; those that are too close for a label each share one, at the first of them."""
    near: list[tuple[float, str]] = []
    for height, label in sorted(levels):
        if near and height - near[-1][0] >= LABEL_HEIGHT:
            yield from _with_one_label(near)
            near = []
        near.append((height, label))
    yield from _with_one_label(near)


def _with_one_label(near: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    joined = shorten("; ".join(label for _, label in near), MOST_LETTERS)
    yield from ((height, "" if number else joined) for number, (height, _) in enumerate(near))


def _labels_apart(curves: Sequence[DrawnCurve]) -> tuple[DrawnCurve, ...]:
    """The curves with labels moved down that would cover each other."""
    lowest = -math.inf
    moved = list(curves)
    for place in sorted(range(len(curves)), key=lambda each: curves[each].label_y):
        lowest = max(curves[place].label_y, lowest + LABEL_HEIGHT)
        moved[place] = msgspec.structs.replace(curves[place], label_y=lowest)
    return tuple(moved)


def powers(low: float, high: float, base: int) -> list[float]:
    """Powers of `base` from `low` to `high`, fewer where there are many; whole numbers for base 2."""
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(math.ceil((last - first + 1) / MOST_TICKS), 1)
    return [base**power if base == 2 else float(base) ** power for power in range(first, last + 1, step)]


def log_steps(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`; where there are fewer than three, also 2 and 5 times them; else the ends."""
    found = powers(low, high, 10)
    if len(found) >= LEAST_TICKS:
        return found
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5))
    return [step for step in steps if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)] or [low, high]


def from_zero(top: float, text: Callable[[float], str], title: str) -> Axis:
    """A linear axis from zero to `top`, with round numbers in words."""
    ticks = tuple((value, text(value)) for value in round_steps(top))
    return Axis(low=0.0, high=top, logarithmic=False, ticks=ticks, title=title)


def round_steps(top: float) -> list[float]:
    """Round numbers from zero to `top`: 1, 2 or 5 times a power of ten apart."""
    if not 0 < top < math.inf:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(top / STEPS))
    step = next((factor * power for factor in (1, 2, 5) if top / (factor * power) <= STEPS), 10 * power)
    return [number * step for number in range(int(top / step) + 1)]


def characters(plot: Plot, columns: int) -> list[str]:
    """The first series of a plot as lines of text, both axes as they are; marks are vertical lines behind the points.

    On the left the highest and the lowest value, below the first and the last x.
    """
    points = plot.series[0].points
    highest, lowest = max(points, key=lambda point: point.y), min(points, key=lambda point: point.y)
    margin = max(len(highest.y_text), len(lowest.y_text))
    width = max(columns - margin - 2, LEAST_COLUMNS)
    xs, ys = [plot.x.place(point.x) for point in points], [plot.y.place(point.y) for point in points]
    grid = [[" "] * width for _ in range(ROWS)]
    for mark in map(plot.x.place, plot.marks):
        if min(xs) <= mark <= max(xs):
            for row in grid:
                row[_cell(mark, xs, width)] = "┊"
    for x, y in zip(xs, ys, strict=True):
        grid[ROWS - 1 - _cell(y, ys, ROWS)][_cell(x, xs, width)] = "•"
    labels = [highest.y_text, *[""] * (ROWS - 2), lowest.y_text]
    lines = [f"{label:>{margin}} │{''.join(row).rstrip()}" for label, row in zip(labels, grid, strict=True)]
    lines.append(f"{'':>{margin}} └{'─' * width}")
    first, last = points[0].x_text, points[-1].x_text
    room = max(width - len(first), 1)
    lines.append(f"{'':>{margin}}  {first}{last:>{room}}")
    return lines


def _cell(value: float, values: Sequence[float], count: int) -> int:
    low, high = min(values), max(values)
    return round((value - low) / (high - low) * (count - 1)) if high > low else 0


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A bar from zero with its interval, in per cent of the width."""

    name: str
    low: float
    value: float
    high: float
    text: str


class Bars(Block, frozen=True, kw_only=True):
    """A few numbers beside each other on one axis from zero."""

    kind: ClassVar[str] = "bars"
    caption: str
    bars: tuple[Bar, ...]
    alike: bool = False
    """All in one colour: parts of one whole, not two things that are compared."""


def plain_bars(caption: str, rows: Sequence[tuple[str, float, str]]) -> Bars:
    """Bars without intervals, all in one colour: name, value and text of each."""
    return bars_of(caption, [(name, (value, value, value), text) for name, value, text in rows], alike=True)


def bars_of(
    caption: str, rows: Sequence[tuple[str, tuple[float, float, float], str]], *, title: str = "", alike: bool = False
) -> Bars:
    """Bars to the scale of the greatest end: name, interval (lower end, value, upper end) and text of each."""
    scale = 100 / (max(high for _, (_, _, high), _ in rows) or 1.0)
    bars = []
    for name, ends, text in rows:
        low, value, high = (round(scale * max(end, 0.0), 2) for end in ends)
        bars.append(Bar(name=name, low=low, value=value, high=high, text=text))
    return Bars(title=title, caption=caption, alike=alike, bars=tuple(bars))


class DrawnCore(msgspec.Struct, frozen=True, kw_only=True):
    """A core with the ranks on it; `style`: the class by which page.css colours it."""

    core: int
    style: str
    text: str
    hover: str


class CoreBox(msgspec.Struct, frozen=True, kw_only=True):
    """The cores of one NUMA node; `near`: the adapter is attached to it."""

    title: str
    near: bool
    cells: tuple[DrawnCore, ...]


class CoreSide(msgspec.Struct, frozen=True, kw_only=True):
    """All sockets of a node with the ranks of one placement."""

    title: str
    sockets: tuple[tuple[CoreBox, ...], ...]


class CoreMap(Block, frozen=True, kw_only=True):
    """The cores of a node, with the ranks as they are and as advised."""

    kind: ClassVar[str] = "cores"
    heading: str
    notes: tuple[str, ...]
    sides: tuple[CoreSide, ...]


class CoreKey(Block, frozen=True, kw_only=True):
    """What the colours of core maps mean."""

    kind: ClassVar[str] = "corekey"
