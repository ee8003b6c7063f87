"""How many pairs have which value: bars stacked by verdict, with the limit, the peers and the thresholds drawn in."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import structs

from seatrial.model import units
from seatrial.model.verdict import Verdict
from seatrial.render.matrix import Key, Words, counted_verdicts
from seatrial.render.plots import Axis, Plot, Point, Series, from_zero, round_steps
from seatrial.render.report import Block, Drawing

WIDTH, BARS_HEIGHT = 440, 130
LEFT, RIGHT, FOOT = 58, 12, 36
ROW = 16
"""Pixels of a line of text above the bars; each reference has its own."""
LETTER_WIDTH = 6.6
MOST_BINS = 36
LEAST_BAR = 3
"""Pixels of a bar of one pair, however many others there are."""
LOGARITHMIC = 20
"""The ratio of the greatest to the least value from which the axis is logarithmic."""
ROOM = 0.03
"""Share of the axis that stays empty on both sides."""


Line = tuple[tuple[str, str], ...]
"""Pieces of text with their styles, of a drawing in characters."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A vertical line: `style` is limit, peers or threshold; the text has the number."""

    value: float
    style: str
    text: str


class HistogramBar(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of one verdict in one bin."""

    x: float
    y: float
    width: float
    height: float
    style: str
    hover: str


class ReferenceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A reference on the drawing, with its text on a line of its own."""

    x: float
    top: float
    style: str
    words: Words


class DistributionPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution in the coordinates of its SVG."""

    width: int
    height: int
    left: int
    right: int
    bottom: float
    bars: tuple[HistogramBar, ...]
    references: tuple[ReferenceLine, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    y_title: Words


class Distribution(Block, frozen=True, kw_only=True):
    """Values above zero with the words of their verdicts, in the order in which verdicts are stacked."""

    kind: ClassVar[str] = "distribution"
    caption: str
    values: tuple[tuple[float, str], ...]
    order: tuple[str, ...]
    references: tuple[Reference, ...]
    say: Callable[[float], str]
    """A value in words."""
    counted: str = "pairs"
    """What has the values."""
    key: tuple[Key, ...] = ()

    @property
    def svg(self) -> DistributionPlaces:
        """The places of everything on the page."""
        return places(self)


def of_verdicts(
    caption: str,
    values: Sequence[tuple[float, Verdict]],
    references: Sequence[Reference],
    say: Callable[[float], str],
    counted: str = "pairs",
) -> Distribution:
    """The distribution of values with verdicts, and a key that counts these; the gravest are last in both."""
    return Distribution(
        caption=caption,
        values=tuple((value, verdict.value) for value, verdict in values),
        order=tuple(verdict.value for verdict in Verdict),
        references=tuple(references),
        say=say,
        counted=counted,
        key=counted_verdicts(verdict for _, verdict in values),
    )


def over_each_other(
    title: str, values: Mapping[str, Sequence[float]], say: Callable[[float], str], what: str, counted: str = "pairs"
) -> Plot:
    """Distributions of several sets of values above zero over each other: the share of each set in each bin.

    `what`: the quantity; `counted`: what has the values.
    """
    axis = _axis([value for each in values.values() for value in each])
    shares = {name: _shares(each, axis) for name, each in values.items()}
    most = max(share for each in shares.values() for share in each)
    fewest = min(len(each) for each in values.values())
    return Plot(
        title=title,
        x=structs.replace(axis, ticks=tuple(_ticks(axis, say)), title=f"{what}, n = {fewest} {counted} or more each"),
        y=from_zero(most * 1.05, units.share, f"share of {counted}"),
        series=tuple(
            Series(
                label=name, points=points, label_at=max(range(len(points)), key=[one.y for one in points].__getitem__)
            )
            for name, each in shares.items()
            for points in (tuple(_share_points(name, each, axis, say)),)
        ),
    )


LEAST_COLUMNS = 64
"""Columns of a terminal that has room for bars."""
BLOCKS = " ▁▂▃▄▅▆▇█"
"""Heights of a bar of one character, rising."""


def strips(values: Mapping[str, Sequence[float]], say: Callable[[float], str]) -> tuple[Line, ...]:
    """Distributions of several sets of values above zero below each other for a terminal, and the ends of their axis.

    The highest bar of each line is its most frequent bin, and a bin with any value has a bar.
    """
    axis, room = _axis([value for each in values.values() for value in each]), max(map(len, values))
    lines = []
    for name, each in values.items():
        shares = _shares(each, axis)
        heights = (math.ceil(part / max(shares) * (len(BLOCKS) - 1)) for part in shares)
        lines.append(((f"{name:>{room}} ", "dim"), ("".join(BLOCKS[height] for height in heights), "")))
    ends = say(axis.low), say(axis.high)
    return (*lines, ((" " * (room + 1) + ends[0] + f"{ends[1]:>{MOST_BINS - len(ends[0])}}", "dim"),))


def small(pictures: Iterable[Block], width: int) -> Iterator[Drawing]:
    """The distributions among pictures as a line of bars each; none for a terminal with too few columns (`width`)."""
    for block in pictures if width >= LEAST_COLUMNS else ():
        if isinstance(block, Distribution) and len({value for value, _ in block.values}) > 1:
            values = [value for value, _ in block.values]
            yield Drawing(title=block.caption, lines=strips({block.counted: values}, block.say))


def _shares(values: Sequence[float], axis: Axis) -> list[float]:
    """The share of the values in each bin."""
    counts = Counter(_bin(axis, value) for value in values)
    return [counts[number] / len(values) for number in range(MOST_BINS)]


def _share_points(name: str, shares: Sequence[float], axis: Axis, say: Callable[[float], str]) -> Iterator[Point]:
    """The middle of each bin from the one before the first value to the one behind the last."""
    filled = [number for number, part in enumerate(shares) if part]
    for number in range(max(filled[0] - 1, 0), min(filled[-1] + 2, MOST_BINS)):
        value, part = _value(axis, (number + 0.5) / MOST_BINS), shares[number]
        text = units.share(part)
        hover = f"{name}, about {say(value)}: {text}"
        yield Point(x=value, y=part, low=part, high=part, x_text=say(value), y_text=text, hover=hover)


def places(block: Distribution) -> DistributionPlaces:
    """The distribution in the coordinates of its SVG."""
    axis = _axis([value for value, _ in block.values] + [one.value for one in block.references])
    top = ROW * len(block.references) + 8
    bottom = top + BARS_HEIGHT
    counts = _counts(block, axis)
    most = max((sum(by_style.values()) for by_style in counts.values()), default=1)

    def x(part: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * part, 1)

    return DistributionPlaces(
        width=WIDTH,
        height=bottom + FOOT,
        left=LEFT,
        right=WIDTH - RIGHT,
        bottom=bottom,
        bars=_bars(block, counts, most, x, bottom, axis),
        references=_references(block.references, axis, x),
        x_ticks=tuple((x(axis.place(value)), label) for value, label in _ticks(axis, block.say)),
        y_ticks=tuple(
            (round(bottom - BARS_HEIGHT * value / most, 1), f"{value:.0f}")
            for value in round_steps(most)
            if value % 1 == 0
        ),
        y_title=Words(
            x=LETTER_WIDTH * 2, y=bottom - BARS_HEIGHT / 2, text=block.counted, style="axis-name", turned=True
        ),
    )


def _axis(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    if low > 0 and high / low >= LOGARITHMIC:
        room = (high / low) ** ROOM
        return Axis(low=low / room, high=high * room, logarithmic=True)
    room = max((high - low) * ROOM, high * ROOM / 4)
    return Axis(low=max(low - room, 0.0), high=high + room, logarithmic=False)


def _counts(block: Distribution, axis: Axis) -> Mapping[int, Counter[str]]:
    """Pairs by bin and verdict; bins without any are absent."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for value, style in block.values:
        counts[_bin(axis, value)][style] += 1
    return counts


def _bin(axis: Axis, value: float) -> int:
    return min(int(axis.place(value) * MOST_BINS), MOST_BINS - 1)


def _bars(
    block: Distribution,
    counts: Mapping[int, Counter[str]],
    most: int,
    x: Callable[[float], float],
    bottom: float,
    axis: Axis,
) -> tuple[HistogramBar, ...]:
    bars = []
    for number, by_style in sorted(counts.items()):
        low, high = (_value(axis, at / MOST_BINS) for at in (number, number + 1))
        base = bottom
        for style in block.order:
            if not by_style[style]:
                continue
            height = round(max(BARS_HEIGHT * by_style[style] / most, LEAST_BAR), 1)
            base = round(base - height, 1)
            bars.append(
                HistogramBar(
                    x=x(number / MOST_BINS),
                    y=base,
                    width=round(x(1 / MOST_BINS) - x(0) - 1, 1),
                    height=height,
                    style=style,
                    hover=f"{block.say(low)} to {block.say(high)}: {by_style[style]} {style}",
                )
            )
    return tuple(bars)


def _value(axis: Axis, part: float) -> float:
    if axis.logarithmic:
        return axis.low * math.exp(part * math.log(axis.high / axis.low))
    return axis.low + part * (axis.high - axis.low)


def _references(references: Sequence[Reference], axis: Axis, x: Callable[[float], float]) -> tuple[ReferenceLine, ...]:
    """The rightmost has the highest text, so that no line crosses the text of another."""
    drawn = []
    for row, line in enumerate(sorted(references, key=lambda line: -line.value)):
        at = x(axis.place(line.value))
        before = at - LEFT > len(line.text) * LETTER_WIDTH + 8
        words = Words(
            x=at - 5 if before else at + 5,
            y=ROW * (row + 1) - 4,
            text=line.text,
            style=f"reference {line.style}",
            anchor="end" if before else "start",
        )
        drawn.append(ReferenceLine(x=at, top=ROW * row + 4, style=line.style, words=words))
    return tuple(drawn)


def _ticks(axis: Axis, say: Callable[[float], str]) -> list[tuple[float, str]]:
    """Round values; on a logarithmic axis its ends and middles."""
    if axis.logarithmic:
        return [(value, say(value)) for value in (_value(axis, part / 4) for part in range(5))]
    span = axis.high - axis.low
    step = round_steps(span)
    width = step[1] if len(step) > 1 else span
    first = math.ceil(axis.low / width)
    return [(n * width, say(n * width)) for n in range(first, int(axis.high / width) + 1)]
