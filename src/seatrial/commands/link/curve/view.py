"""Latency and bandwidth over message sizes: the report of `seatrial link`."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from seatrial.commands.link.curve.judge import FEW_TICKS, OVERHEAD_SHARE, ClockReading, CurvePoint, LinkCurve, Plateau
from seatrial.commands.link.curve.rank_places import CurvePlaces, Spots
from seatrial.model import units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.words import ranges
from seatrial.render.curves import overlaid
from seatrial.render.json import filled
from seatrial.render.pair_view import PairOutcome, limit_levels, limit_text, pair_report, range_text, value_text
from seatrial.render.plots import Plot, characters
from seatrial.render.report import Block, Cells, Drawing, Report, Table, record_table, rows_table
from seatrial.statistics.estimates import CONFIDENCE, FEWEST_ALIKE
from seatrial.statistics.segments import Break, Interval, Segment, Segmentation

Row = tuple[str, ...]
PIECES_HEAD = ("#from", "#to", "#start-up", "#95 %", "#rate", "#95 %", "#error")
POINTS_HEAD = (
    *("#size", "#median latency", "#range", "#mean latency", "#range", "#P99 latency"),
    *("#median bandwidth", "#range", "#mean bandwidth"),
)
TOOLS_TITLE = "To compare: osu_latency, IMB PingPong and osu_bw print the mean; osu_latency -z also P50 and P99"
PIECES_TITLE = "The latency in straight pieces, start-up + size / rate"
MOST_COLUMNS = 100
NOT_POSITIVE = "none"
"""Instead of a start-up time below zero, which the straight line of a piece can have, and no message."""


class SegmentationFields(Segmentation, frozen=True, kw_only=True):
    """Pieces of a curve of latency, and the breaks between them that are protocol switches."""

    switches: tuple[Break, ...]


class CurveFields(PairOutcome, frozen=True, kw_only=True):
    """Latency and bandwidth of one pair over message sizes; docs/link.md describes each field."""

    launcher: str
    limit: Limit | NoLimit
    plateau: Plateau | None
    latency: SegmentationFields | None
    points: tuple[CurvePoint, ...]
    places: CurvePlaces | None = msgspec.field(name="ranks")
    clock: ClockReading | None


def curve_report(run: RunInfo, curve: LinkCurve) -> Report:
    """The whole report."""
    plateau = f"{units.estimate(curve.plateau.bandwidth_bytes_per_s, units.BANDWIDTH)}: " if curve.plateau else ""
    return pair_report(
        run,
        curve,
        f"{plateau}{curve.reason}",
        payload=lambda: filled(CurveFields, curve, run),
        rows=_summary(curve),
        page=lambda: _page(curve),
        terminal=lambda width: _terminal(curve, min(width, MOST_COLUMNS)),
    )


def _terminal(curve: LinkCurve, width: int) -> Iterator[Block]:
    for plot in _plots(curve):
        title = f"{plot.title} (┊ {plot.mark_text})" if plot.marks else plot.title
        yield Drawing(title=title, lines=tuple(((line, ""),) for line in characters(plot, width)))
    yield record_table(TOOLS, (one for one in curve.points if one.message_bytes.bit_count() == 1), None, TOOLS_TITLE)
    yield _pieces(curve)


def _page(curve: LinkCurve) -> Iterator[Block]:
    yield from _plots(curve)
    yield _pieces(curve)
    yield points_table(curve.points, f"All sizes. {TOOLS_TITLE}")


def _plots(curve: LinkCurve) -> Iterator[Plot]:
    """Latency and bandwidth, each where two sizes have it, with the switches of protocol and the limit."""
    switches = [one.at_bytes for one in curve.latency.switches] if curve.latency else []
    latency = {point.message_bytes: point.latency_s for point in curve.points}
    rate = {point.message_bytes: point.bandwidth_bytes_per_s for point in curve.points}
    plots = (
        sizes_plot("Latency over message size", [("", latency)], (), switches, latency=True),
        sizes_plot("Bandwidth over message size", [("", rate)], limit_levels([("limit", curve.limit)]), switches),
    )
    yield from filter(None, plots)


def sizes_plot(
    title: str,
    curves: Sequence[tuple[str, Mapping[int, Estimate | None]]],
    levels: Sequence[tuple[float, str]],
    switches: Sequence[float] = (),
    *,
    latency: bool = False,
) -> Plot | None:
    """Curves over message sizes; values that are missing, or not above 0, are left out."""
    text = units.duration if latency else units.bandwidth
    return overlaid(
        title,
        [
            (name, {size: value for size, value in values.items() if value is not None and value.low > 0})
            for name, values in curves
        ],
        size_text=lambda size: units.size(int(size)),
        value_text=text,
        ends_text=lambda value: f"{text(value.low)}–{text(value.high)}",
        quantities=("message size", "one-way latency" if latency else "bandwidth"),
        levels=levels,
        marks=switches,
        mark_text="protocol switch",
    )


def _summary(curve: LinkCurve) -> list[tuple[str, str]]:
    """Label and text of each line."""
    rows = []
    if isinstance(curve.limit, Limit):
        rows.append(("limit", limit_text(curve.limit)))
    first = next((point for point in curve.points if point.latency_s), None)
    if first:
        least = units.estimate(first.latency_s, units.LATENCY)
        rows.append(("latency", f"{least}, at {units.size(first.message_bytes)} (median of each run's round trips)"))
        rows += _iterations(first)
    if curve.plateau:
        rows.append(("plateau", f"from {units.size(curve.plateau.from_bytes)} up"))
        for label, half in (("stream", curve.plateau.half_bytes), ("alone", curve.plateau.half_alone_bytes)):
            rows.append((f"n½ {label}", units.size(round(half)) if half else "not within these sizes"))
    rows += switches(curve)
    rows += [("ranks", ranks(curve.places))] if curve.places else []
    return rows + [("clock", line) for line in clock_lines(curve.clock)]


def _iterations(point: CurvePoint) -> list[tuple[str, str]]:
    """Mean and 99th percentile of the same latency."""
    rows = [("mean", f"{units.estimate(point.latency_mean_s, units.LATENCY)}, of {point.round_trips} round trips")]
    if point.latency_p99_s:
        rows.append(("P99", f"{units.estimate(point.latency_p99_s, units.LATENCY)}, of the same"))
    return rows


def ranks(places: CurvePlaces) -> str:
    """The places of the ranks, and those that the MPI's own launcher would have chosen."""
    here = "; both nodes are one machine" if places.one_machine else ""
    waits = "; they share a core, so each waits for the other" if places.measured.share else ""
    said = f"{_spots(places.measured)}, started by {places.measured.line}{here}{waits}"
    default = places.default
    if default is None:
        return said
    if default.failure:
        return f"{said}. Where {default.line} puts ranks is not known: it did not start"
    if not places.differ:
        return f"{said}. {default.line} would put them there, too"
    shared = ", where they share a core and each waits for the other" if default.share else ""
    return f"{said}. {default.line} puts {_spots(default)}{shared}: pin the ranks of other benchmarks before comparing"


def _spots(spots: Spots) -> str:
    """n1 on CPU 0, n2 on CPUs 0-1 (not bound)."""
    return ", ".join(
        f"{rank.place} on CPU{'s' if len(rank.cpus) > 1 else ''} {ranges(rank.cpus)}"
        + ("" if rank.bound else " (not bound)")
        for rank in spots.ranks
    )


def clock_lines(clock: ClockReading | None) -> list[str]:
    """Lines on a clock that is too coarse for percentiles, or too slow to read; empty if it suffices."""
    if clock is None:
        return []
    lines = []
    if clock.coarse_up_to_bytes is not None:
        lines.append(
            f"round trips of up to {units.size(clock.coarse_up_to_bytes)} last fewer than {FEW_TICKS} of the clock's "
            f"smallest steps ({units.duration(clock.resolution_s)}): their median and P99 move in such steps; "
            f"compare the mean"
        )
    if clock.overhead_share >= OVERHEAD_SHARE:
        lines.append(
            f"reading the clock takes {units.duration(clock.overhead_s)}, {units.share(clock.overhead_share)} of the "
            f"shortest round trip; a benchmark that reads it once for all iterations reports that much less"
        )
    return lines


def switches(curve: LinkCurve) -> list[tuple[str, str]]:
    """Label and text of each protocol switch; of none, and of steps that resampling did not confirm, that."""
    if curve.latency is None:
        return []
    confirmed = [switch(one) for one in curve.latency.switches]
    doubtful = [_doubtful(one) for one in curve.latency.steps if not one.switch]
    rows = [*(confirmed or ["none confirmed in the latency" if doubtful else "none found in the latency"]), *doubtful]
    return [("switch" if place == 0 else "", row) for place, row in enumerate(rows)]


def switch(one: Break) -> str:
    """protocol switch at 4100 B (above 4096 B, at or below 4104 B): latency +52 %, in 100 % of the resamples."""
    low, high = (f"{size} B" for size in (one.last_bytes, one.first_bytes))
    widest = ""
    if (one.low_bytes, one.high_bytes) != (one.last_bytes, one.first_bytes):
        widest = f"; over the resamples {one.low_bytes} to {one.high_bytes} B"
    place = f"{round(one.at_bytes)} B (above {low}, at or below {high}{widest})"
    falls = "; a larger message is faster, which is rare for a protocol switch" if one.jump < 0 else ""
    share = units.share(one.found_share)
    return f"protocol switch at {place}: latency {_jump(one)}, in {share} of the resamples{falls}"


def _doubtful(one: Break) -> str:
    """not confirmed: latency -12 % at 152 B, in 61 % of the resamples (95 % are needed)."""
    said = f"not confirmed: latency {_jump(one)} at {round(one.at_bytes)} B"
    if one.found_share is None:
        return f"{said}; it takes {FEWEST_ALIKE} runs to confirm a switch by resampling"
    return f"{said}, in {units.share(one.found_share)} of the resamples ({units.share(CONFIDENCE)} are needed)"


def _jump(one: Break) -> str:
    return f"{one.jump * 100:+.0f} %"


def _pieces(curve: LinkCurve) -> Table:
    """One row a piece of the latency."""
    return rows_table(PIECES_HEAD, map(_piece, curve.latency.segments if curve.latency else ()), None, PIECES_TITLE)


def _piece(one: Segment) -> Row:
    return (
        f"{one.first_bytes} B",
        f"{one.last_bytes} B",
        units.duration(one.startup_s.value) if one.startup_s.value > 0 else NOT_POSITIVE,
        _ends(one.startup_s, lambda end: units.duration(max(end, 0.0))),
        _rate(one.bytes_per_s.value),
        _ends(one.bytes_per_s, _rate),
        units.share(one.relative_error),
    )


def _ends(interval: Interval, say: Callable[[float], str]) -> str:
    """The ends of an interval; of one run there is none."""
    if interval.low == interval.high:
        return ""
    low, high = say(interval.low), say(interval.high)
    return low if low == high else f"{low}–{high}"


def _rate(bytes_per_s: float) -> str:
    """A piece that does not rise has no rate."""
    return units.bandwidth(bytes_per_s) if math.isfinite(bytes_per_s) else "flat"


def points_table(points: Sequence[CurvePoint], title: str) -> Table:
    """One row a size."""
    return rows_table(POINTS_HEAD, map(_point_row, points), None, title)


def _point_row(point: CurvePoint) -> Row:
    latency, mean, rate = point.latency_s, point.latency_mean_s, point.bandwidth_bytes_per_s
    return (
        f"{point.message_bytes} B",
        *(value_text(latency, units.duration), range_text(latency, units.LATENCY)),
        *(value_text(mean, units.duration), range_text(mean, units.LATENCY)),
        value_text(point.latency_p99_s, units.duration),
        *(value_text(rate, units.bandwidth), range_text(rate, units.BANDWIDTH)),
        value_text(point.bandwidth_mean_bytes_per_s, units.bandwidth),
    )


TOOLS: Cells[CurvePoint] = {
    "#size": lambda point: units.size(point.message_bytes),
    "#median": lambda point: value_text(point.latency_s, units.duration),
    "#mean": lambda point: value_text(point.latency_mean_s, units.duration),
    "#P99": lambda point: value_text(point.latency_p99_s, units.duration),
    "#median bw": lambda point: value_text(point.bandwidth_bytes_per_s, units.bandwidth),
    "#mean bw": lambda point: value_text(point.bandwidth_mean_bytes_per_s, units.bandwidth),
}
"""The numbers that other tools print."""
