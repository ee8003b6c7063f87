"""A curve in words and rows, for every form of its report alike."""

import math
from collections.abc import Sequence

from seatrial.diagnosis.curve import Curve, CurvePoint
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.statistics.segments import Break, Segment

Row = tuple[str, ...]

PIECES_HEAD: Row = ("from", "to", "start-up", "95 %", "rate", "95 %", "error")
POINTS_HEAD: Row = ("size", "latency", "range", "bandwidth", "range")


def headline(curve: Curve) -> tuple[str, str]:
    """The verdict's word, and the sentence."""
    way = f"{curve.pair[0]} to {curve.pair[1]}"
    if curve.plateau is None:
        return curve.word, f"{way}: {curve.reason}"
    return curve.word, f"{way}: {units.estimate(curve.plateau.bandwidth_bytes_per_s, units.BANDWIDTH)}: {curve.reason}"


def summary(curve: Curve) -> list[tuple[str, str]]:
    """Label and text of each line."""
    rows = []
    if isinstance(curve.limit, Limit):
        rows.append(("limit", f"{units.bandwidth(curve.limit.limit_bytes_per_s)}, set by {curve.limit.binding}"))
    first = next((point for point in curve.points if point.latency_s), None)
    if first:
        least = units.estimate(first.latency_s, units.LATENCY)
        rows.append(("latency", f"{least}, at {units.size(first.message_bytes)}"))
    if curve.plateau:
        rows.append(("plateau", f"from {units.size(curve.plateau.from_bytes)} up"))
        for label, half in (("stream", curve.plateau.half_bytes), ("alone", curve.plateau.half_alone_bytes)):
            rows.append((f"n½ {label}", units.size(round(half)) if half else "not within these sizes"))
    rows += [("switch" if place == 0 else "", switch(one)) for place, one in enumerate(_switches(curve))]
    if curve.latency and not curve.latency.switches:
        rows.append(("switch", "none found in the latency"))
    return rows + [("note", note) for note in curve.notes]


def switch(one: Break) -> str:
    """protocol switch at 4100 B (above 4096 B, at or below 4104 B): latency +52 %."""
    low, high = (f"{size} B" for size in (one.last_bytes, one.first_bytes))
    widest = ""
    if (one.low_bytes, one.high_bytes) != (one.last_bytes, one.first_bytes):
        widest = f"; over the resamples {one.low_bytes} to {one.high_bytes} B"
    place = f"{round(one.at_bytes)} B (above {low}, at or below {high}{widest})"
    return f"protocol switch at {place}: latency {one.jump * 100:+.0f} %"


def _switches(curve: Curve) -> tuple[Break, ...]:
    return curve.latency.switches if curve.latency else ()


def pieces(curve: Curve) -> list[Row]:
    """One row a piece of the latency, under `PIECES_HEAD`."""
    return [_piece(one) for one in (curve.latency.segments if curve.latency else ())]


def _piece(one: Segment) -> Row:
    return (
        f"{one.first_bytes} B",
        f"{one.last_bytes} B",
        units.duration(one.startup_s.value),
        f"{units.duration(one.startup_s.low)}–{units.duration(one.startup_s.high)}",
        _rate(one.bytes_per_s.value),
        f"{_rate(one.bytes_per_s.low)}–{_rate(one.bytes_per_s.high)}",
        units.share(one.relative_error),
    )


def _rate(bytes_per_s: float) -> str:
    """A piece that does not rise has no rate that could be told."""
    return units.bandwidth(bytes_per_s) if math.isfinite(bytes_per_s) else "flat"


def points(curve: Curve) -> list[Row]:
    """One row a size, under `POINTS_HEAD`."""
    return point_rows(curve.points)


def point_rows(points_of_curve: Sequence[CurvePoint]) -> list[Row]:
    """The same of points alone."""
    rows = []
    for point in points_of_curve:
        row: tuple[str, ...] = (f"{point.message_bytes} B",)
        for found, say in ((point.latency_s, units.duration), (point.bandwidth_bytes_per_s, units.bandwidth)):
            row += (say(found.value), f"{say(found.low)}–{say(found.high)}") if found else ("", "")
        rows.append(row)
    return rows
