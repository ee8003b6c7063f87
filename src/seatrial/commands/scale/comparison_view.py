"""Series in the report of `seatrial bench scale`: two curves side by side, and what a series would cost."""

from collections.abc import Iterator, Sequence

import msgspec

from seatrial.commands.scale.comparison import CurveComparison, Difference, Pair
from seatrial.commands.scale.judge import JudgedCurve
from seatrial.commands.scale.measured import ScaleSeries
from seatrial.commands.scale.series import CurvePlace, Planned
from seatrial.model.measurement import Estimate
from seatrial.model.node_list import node_list
from seatrial.model.units import prefixed, share
from seatrial.model.words import count
from seatrial.render.curves import FEWEST_SIZES, overlaid
from seatrial.render.escape import shorten
from seatrial.render.json import filled
from seatrial.render.plots import Plot
from seatrial.render.report import Block, Items, Lines, Paragraph, Report, Table, columns, rows_table

MOST_ROWS = 40


class ScalingRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run that was made for a curve."""

    run: str
    place: CurvePlace
    node_hours: float
    earlier: bool


class PlannedRun(Planned, frozen=True, kw_only=True):
    """One run that would be made, by its name."""

    run: str


class SeriesPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that would be made for a curve; docs/scale.md describes each field."""

    series: str
    node_hours: float
    runs: tuple[PlannedRun, ...]


def series_blocks(series: ScaleSeries) -> Iterator[Block]:
    """What could not be run, and where the runs are."""
    yield Items(title="Not measured", items=series.left)
    earlier = sum(run.earlier for run in series.runs)
    before = f", {earlier} of them earlier" if earlier else ""
    rows = [
        ("runs", f"{len(series.runs)} of {series.planned}{before}; seatrial report {series.name}-..."),
        ("node-hours", f"{series.node_hours:.3g}"),
    ]
    yield Lines(title="Series", rows=tuple(rows))


def preview_report(name: str, planned: Sequence[Planned], node_hours: float) -> Report:
    """The runs in their order, and what they take together."""
    takes = f"at most {node_hours:.2f} node-hours" if node_hours else "no allocation"

    def blocks(_: int = 0) -> Iterator[Block]:
        yield Lines(rows=(("series", name), ("runs", count(len(planned), "run")), ("takes", takes)))
        rows = (
            (
                item.name(name),
                node_list(item.place.nodes) or "this machine",
                str(item.place.ranks or "all cores"),
                f"{item.grown:g}",
            )
            for item in planned
        )
        yield rows_table(("run", "nodes", "#ranks", "#work"), rows, MOST_ROWS, "Runs in order")

    return Report(
        kind="dry-run",
        payload=lambda: filled(
            SeriesPreview,
            series=name,
            node_hours=node_hours,
            runs=[filled(PlannedRun, item, run=item.name(name)) for item in planned],
        ),
        terminal=blocks,
        page=blocks,
    )


MOST_IN_HEADINGS = 20
OF_OWN = "of own rates"
"""The curve of shares of the sum of what the nodes reach alone."""


class ScalingBeside(msgspec.Struct, frozen=True, kw_only=True):
    """Two curves side by side."""

    first: str
    second: str
    pairs: tuple[Pair, ...]
    only: tuple[tuple[str, tuple[float, ...]], ...]


def beside_sentence(both: CurveComparison) -> str:
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
    return f"{change} ({_interval(pair)})."


def beside_blocks(both: CurveComparison) -> Iterator[Block]:
    """The table of both, and what cannot be compared."""
    names = [shorten(item.curve.name, MOST_IN_HEADINGS) for item in (both.first, both.second)]
    over, metric = both.first.curve.over, both.first.curve.metric
    yield Paragraph(text=f"{both.first.curve.name} and {both.second.curve.name}: {metric}", strong=True)
    repeated = any(pair.difference is not Difference.NOT_JUDGED for pair in both.pairs)
    interval = ["#95 % CI", "difference"] * repeated
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
    yield Items(items=tuple(sentences))


def _interval(pair: Pair) -> str:
    return f"{pair.ratio.low:.3g}–{pair.ratio.high:.3g}"


def beside_fields(both: CurveComparison) -> ScalingBeside:
    """What programs read of two curves side by side."""
    return filled(ScalingBeside, both, first=both.first.curve.name, second=both.second.curve.name)


def curve_plots(judged: Sequence[JudgedCurve]) -> Iterator[Plot]:
    """Curves over the same sizes: their values where all are of one metric, and their efficiencies.

    Efficiencies are beside the line of perfect scaling and, of the first curve, the share of the nodes' own rates.
    """
    drawn = [item for item in judged if len(item.points) >= FEWEST_SIZES]
    if not drawn or len({item.curve.over for item in drawn}) > 1:
        return
    first, over, metric = drawn[0], drawn[0].curve.over, drawn[0].curve.metric
    values = [(item.curve.name, {point.size: point.value for point in item.points}) for item in drawn]
    efficiencies = [(item.curve.name, {point.size: point.efficiency for point in item.points}) for item in drawn]
    by_values = overlaid(
        f"{metric} over {over}",
        values if all(item.curve.metric == metric for item in drawn) else [],
        size_text="{:g}".format,
        value_text=prefixed,
        ends_text=lambda value: prefixed(value.value, value.low, value.high),
        over=over,
        quantities=(over, metric),
    )
    by_efficiencies = overlaid(
        f"Efficiency over {over}",
        [*efficiencies, (OF_OWN, _of_own(first))],
        size_text="{:g}".format,
        value_text=share,
        ends_text=lambda value: f"{share(value.low)} to {share(value.high)}",
        over=over,
        quantities=(over, f"efficiency, {'weak' if first.weak else 'strong'} scaling"),
        levels=((1.0, f"100 %: in proportion to {over}, from {first.points[0].size:g} on"),),
        linear=True,
    )
    yield from filter(None, (by_values, by_efficiencies))


def _of_own(item: JudgedCurve) -> dict[float, Estimate]:
    """Shares of the sum of what the nodes reach alone, by size."""
    return {
        point.size: msgspec.structs.replace(point.value, value=point.of_own, low=point.of_own, high=point.of_own)
        for point in item.points
        if point.of_own is not None
    }
