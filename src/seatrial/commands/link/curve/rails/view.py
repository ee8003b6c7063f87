"""Rails compared with each other: the report of `seatrial link --rails`."""

from collections.abc import Iterator

import msgspec

from seatrial.commands.link.curve.rails.judge import RailComparison, RailCurve, RailRatio
from seatrial.commands.link.curve.view import points_table, sizes_plot
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.model.run import RunInfo
from seatrial.render.json import filled
from seatrial.render.pair_view import PairOutcome, limit_levels, limit_text, pair_report, value_text
from seatrial.render.report import Block, Cells, Report, record_table


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
        payload=lambda: filled(RailsFields, comparison, run),
        rows=_summary(comparison),
        page=lambda: _page(comparison),
    )


def _page(comparison: RailComparison) -> Iterator[Block]:
    bandwidths = [
        (curve.variant, {point.message_bytes: point.bandwidth_bytes_per_s for point in curve.points})
        for curve in comparison.curves
    ]
    levels = limit_levels((f"limit of {curve.variant}:", curve.limit) for curve in comparison.curves)
    yield from filter(None, (sizes_plot("Bandwidth over message size", bandwidths, levels),))
    yield record_table(RAILS, comparison.curves, None, "The rails")
    for curve in comparison.curves:
        yield points_table(curve.points, f"All sizes, {curve.variant}")


def _summary(comparison: RailComparison) -> list[tuple[str, str]]:
    """Label and text of each line."""
    rows: list[tuple[str, str]] = []
    for curve in comparison.curves:
        latency = f"; latency {units.estimate(curve.latency_s, units.LATENCY)}" if curve.latency_s else ""
        measured = units.estimate(curve.bandwidth, units.BANDWIDTH) if curve.bandwidth else "not measured"
        rows.append((curve.variant, f"{measured}: {curve.reason}{latency}"))
    for ratio in (*comparison.ratios, *([comparison.gain] if comparison.gain else [])):
        one = ratio.ratio
        permitted = f"; physics permits {units.share(ratio.permitted)}" if ratio.permitted else ""
        said = f"{ratio.variant} carries {units.share_estimate(one)}, of what {ratio.beside} does{permitted}"
        rows.append(("gain" if ratio is comparison.gain else "ratio", said))
    for curve in comparison.curves:
        if isinstance(curve.limit, Limit):
            rows.append(("limit", f"{curve.variant}: {limit_text(curve.limit)}"))
    return rows


RAILS: Cells[RailCurve] = {
    "over": lambda curve: curve.variant,
    "#latency": lambda curve: value_text(curve.latency_s, units.duration),
    "#plateau": lambda curve: value_text(curve.bandwidth, units.bandwidth),
    "#of its limit": lambda curve: "" if curve.of_limit is None else units.share(curve.of_limit),
    "verdict": lambda curve: curve.verdict.value,
}
