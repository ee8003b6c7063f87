"""Rails compared with each other: the report of `seatrial link --rails`."""

from collections.abc import Iterator

import msgspec

from seatrial.commands.link.curve.rails.curves import RailCurve, RailRatio
from seatrial.commands.link.curve.rails.judge import RailComparison
from seatrial.commands.link.curve.view import points_table, sizes_plot
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.model.run import RunInfo
from seatrial.render.json import filled
from seatrial.render.pair_view import PairOutcome, limit_text, pair_report
from seatrial.render.plots import Plot
from seatrial.render.report import Block, Report, rows_table

HEAD = ("over", "#latency", "#plateau", "#of its limit", "verdict")


class RailsFields(PairOutcome, frozen=True, kw_only=True):
    """The rails of one pair compared with each other; docs/link.md describes each field."""

    launcher: str
    curves: tuple[RailCurve, ...] = msgspec.field(name="rails")
    ratios: tuple[RailRatio, ...]
    gain: RailRatio | None


def rails_report(run: RunInfo, comparison: RailComparison) -> Report:
    """The whole report."""
    return pair_report(
        run,
        comparison,
        comparison.reason,
        payload=lambda: filled(
            RailsFields,
            comparison,
            run,
        ),
        rows=summary(comparison),
        page=lambda: _page(comparison),
    )


def _page(comparison: RailComparison) -> Iterator[Block]:
    if (plot := _plot(comparison)) is not None:
        yield plot
    yield rows_table(HEAD, table(comparison), None, "The rails")
    for curve in comparison.curves:
        if curve.points:
            yield points_table(curve.points, f"All sizes, {curve.variant}")


def _plot(comparison: RailComparison) -> Plot | None:
    """The bandwidth of all rails over each other, with their limits."""
    return sizes_plot(
        "Bandwidth over message size",
        [
            (curve.variant, {point.message_bytes: point.bandwidth_bytes_per_s for point in curve.points})
            for curve in comparison.curves
        ],
        [
            (curve.limit.limit_bytes_per_s, f"limit of {curve.variant}: {limit_text(curve.limit)}")
            for curve in comparison.curves
            if isinstance(curve.limit, Limit)
        ],
    )


def summary(comparison: RailComparison) -> list[tuple[str, str]]:
    """Label and text of each line."""
    rows: list[tuple[str, str]] = []
    for curve in comparison.curves:
        latency = f"; latency {units.estimate(curve.latency_s, units.LATENCY)}" if curve.latency_s else ""
        measured = units.estimate(curve.bandwidth, units.BANDWIDTH) if curve.bandwidth else "not measured"
        rows.append((curve.variant, f"{measured}: {curve.reason}{latency}"))
    for ratio in (*comparison.ratios, *([comparison.gain] if comparison.gain else [])):
        one = ratio.ratio
        permitted = f"; physics permits {ratio.permitted:.2f}" if ratio.permitted else ""
        runs = f"{one.runs} runs, {units.share(one.confidence)}"
        said = f"{one.value:.2f} times [{one.low:.2f}-{one.high:.2f}] what {ratio.beside} carries, {runs}{permitted}"
        rows.append(("gain" if ratio is comparison.gain else ratio.variant, f"{ratio.variant}: {said}"))
    for curve in comparison.curves:
        if isinstance(curve.limit, Limit):
            rows.append(("limit", f"{curve.variant}: {limit_text(curve.limit)}"))
    return rows + [("note", note) for note in comparison.notes]


def table(comparison: RailComparison) -> list[tuple[str, ...]]:
    """One row a variant, under HEAD."""
    rows: list[tuple[str, ...]] = []
    for curve in comparison.curves:
        limit = curve.limit.limit_bytes_per_s if isinstance(curve.limit, Limit) else None
        part = units.share(curve.bandwidth.value / limit) if curve.bandwidth and limit else ""
        rows.append(
            (
                curve.variant,
                units.duration(curve.latency_s.value) if curve.latency_s else "",
                units.bandwidth(curve.bandwidth.value) if curve.bandwidth else "",
                part,
                curve.verdict.value if curve.verdict else "",
            )
        )
    return rows
