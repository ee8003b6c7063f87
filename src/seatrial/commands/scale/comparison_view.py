"""Two curves side by side in the report of `seatrial bench scale`: a table, a sentence, and both in one plot."""

from collections.abc import Iterator, Sequence

import msgspec

from seatrial.commands.scale.comparison import Beside, Difference, Pair
from seatrial.commands.scale.judge import Judged
from seatrial.model.measurement import Estimate
from seatrial.model.units import LEAST_CONFIDENCE, prefixed, share
from seatrial.render.escape import shorten
from seatrial.render.json import filled
from seatrial.render.plots import Axis, Plot, Point, Series, log_steps, powers
from seatrial.render.report import Block, Items, Paragraph, Table, columns

MOST_LETTERS = 14
"""Of a name beside its curve."""
MOST_IN_HEADINGS = 20
FEWEST_SIZES = 2


class ScalingPair(msgspec.Struct, frozen=True, kw_only=True):
    """One size that both curves have."""

    size: float
    first: Estimate
    second: Estimate
    ratio: Estimate
    difference: Difference


class ScalingOnly(msgspec.Struct, frozen=True, kw_only=True):
    """A curve, and the sizes that the other one lacks."""

    name: str
    sizes: tuple[float, ...]


class ScalingBeside(msgspec.Struct, frozen=True, kw_only=True):
    """Two curves side by side."""

    first: str
    second: str
    sizes: tuple[ScalingPair, ...]
    only: tuple[ScalingOnly, ...]


def beside_sentence(both: Beside) -> str:
    """The largest common size with repetitions, else the largest: which is faster, by how much, and whether that is
    shown.
    """
    repeated = [pair for pair in both.pairs if pair.difference is not Difference.NOT_JUDGED]
    pair = (repeated or both.pairs)[-1]
    first, second, over = both.first.curve.name, both.second.curve.name, both.first.curve.over
    at = f"at {pair.first.size:g} {over}"
    change = f"{second} is {pair.ratio.value:.3g} times as fast as {first} {at}"
    if pair.difference is Difference.NOT_JUDGED:
        return f"{change}; single runs, no interval."
    if pair.difference is Difference.NOT_SHOWN:
        return f"{first} and {second}: no difference shown {at} ({_interval(pair)} times as fast)."
    return f"{change} ({_interval(pair)}{'' if _enough(pair) else ', range of few runs'})."


def beside_blocks(both: Beside) -> Iterator[Block]:
    """The table of both, and what cannot be compared."""
    names = [shorten(item.curve.name, MOST_IN_HEADINGS) for item in (both.first, both.second)]
    over, metric = both.first.curve.over, both.first.curve.metric
    yield Paragraph(text=f"{both.first.curve.name} and {both.second.curve.name}: {metric}", strong=True)
    repeated = any(pair.difference is not Difference.NOT_JUDGED for pair in both.pairs)
    enough = all(_enough(pair) for pair in both.pairs)
    interval = ["#95 % CI" if enough else "#range", "difference"] * repeated
    rows = []
    for pair in both.pairs:
        cells = [f"{pair.first.size:g}", prefixed(pair.first.value.value), prefixed(pair.second.value.value)]
        cells.append(f"{pair.ratio.value:.3g}")
        judged = pair.difference is not Difference.NOT_JUDGED
        cells += [_interval(pair) if judged else "", pair.difference.value.replace("-", " ")] * repeated
        cells.append(f"{share(pair.first.efficiency.value)}, {share(pair.second.efficiency.value)}")
        rows.append(tuple(cells))
    titles = (f"#{over}", f"#{names[0]}", f"#{names[1]}", "#ratio", *interval, "#efficiencies")
    yield Table(columns=columns(*titles), rows=tuple(rows), tight=True)
    sentences = [f"Only {name} has {', '.join(f'{size:g}' for size in sizes)} {over}." for name, sizes in both.only]
    if not repeated:
        sentences.append("Single runs have no interval: repeat them to know whether a difference is one.")
    if sentences:
        yield Items(items=tuple(sentences))


def _interval(pair: Pair) -> str:
    return f"{pair.ratio.low:.3g}–{pair.ratio.high:.3g}"


def _enough(pair: Pair) -> bool:
    """Whether both have enough runs for intervals of 95 %."""
    return min(pair.first.value.confidence, pair.second.value.confidence) >= LEAST_CONFIDENCE


def beside_fields(both: Beside) -> ScalingBeside:
    """What programs read of two curves side by side."""
    sizes = [
        filled(ScalingPair, pair, size=pair.first.size, first=pair.first.value, second=pair.second.value)
        for pair in both.pairs
    ]
    only = [ScalingOnly(name=name, sizes=lacking) for name, lacking in both.only]
    return filled(ScalingBeside, first=both.first.curve.name, second=both.second.curve.name, sizes=sizes, only=only)


def curves_plot(judged: Sequence[Judged]) -> Plot | None:
    """Curves of the same metric over the same sizes in one plot, both axes logarithmic; None: nothing to draw."""
    drawn = [item for item in judged if len(item.points) >= FEWEST_SIZES]
    if not drawn or len({(item.curve.over, item.curve.metric) for item in drawn}) > 1:
        return None
    points = [point for item in drawn for point in item.points]
    least, most = min(point.value.low for point in points), max(point.value.high for point in points)
    if not 0 < least < most:
        return None
    over, metric = drawn[0].curve.over, drawn[0].curve.metric
    sizes = sorted({point.size for point in points})
    ticks = powers(max(sizes[0], 1), max(sizes[-1], 2), 2)
    return Plot(
        title=f"{metric} over {over}",
        x=Axis(low=sizes[0], high=sizes[-1], logarithmic=True, ticks=tuple((size, f"{size:g}") for size in ticks)),
        y=Axis(
            low=least,
            high=most,
            logarithmic=True,
            ticks=tuple((value, prefixed(value)) for value in log_steps(least, most)),
        ),
        series=tuple(_series(item, label=len(drawn) > 1) for item in drawn),
    )


def _series(item: Judged, *, label: bool) -> Series:
    points = []
    for point in item.points:
        value = point.value
        interval = f" [{prefixed(value.value, value.low, value.high)}]" if value.low != value.high else ""
        points.append(
            Point(
                x=point.size,
                y=value.value,
                low=value.low,
                high=value.high,
                x_text=f"{point.size:g}",
                y_text=prefixed(value.value),
                hover=f"{item.curve.name}, {point.size:g} {item.curve.over}: {prefixed(value.value)}{interval}",
            )
        )
    return Series(points=tuple(points), label=shorten(item.curve.name, MOST_LETTERS) if label else "")
