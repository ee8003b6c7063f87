"""The page's heat map as plain data for Plotly: one matrix of numbers for each view, one of hover texts for all."""

import itertools
import math
from collections.abc import Callable
from typing import Any

from seatrial.commands.check.heatmap import Cell, HeatMap
from seatrial.model import units
from seatrial.model.judgement import Judgement
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.escape import plot_text, shorten
from seatrial.render.json import Json

_MOST_TICKS = 48
_MOST_NUMBERED = 20
_MOST_LETTERED = 64
_LABEL_LENGTH = 24
_SIGNIFICANT = 5


def heat_map_data(heat: HeatMap, judgement: Judgement) -> Json:
    """Labels, leaf boundaries, hover texts and the views, ready for `script_json`; no NaN, all text escaped."""
    rows = len(heat.labels)
    step = math.ceil(rows / _MOST_TICKS)
    return {
        "rows": rows,
        "tick_positions": list(range(0, rows, step)),
        "tick_labels": [plot_text(shorten(label, _LABEL_LENGTH)) for label in heat.labels[::step]],
        "boundaries": [] if heat.by_leaf else [index - 0.5 for index in heat.boundaries],
        "leaves": [] if heat.by_leaf else _leaf_spans(heat),
        "invalid": sorted(list(place) for place, cell in heat.cells.items() if cell.verdict is Verdict.INVALID),
        "labels": [plot_text(label) for label in heat.labels] if rows > _MOST_LETTERED else [],
        "hover": _matrix(heat, lambda cell, row, column: _hover(cell, heat, row, column), ""),
        "views": [view for view in (_bandwidth(heat, judgement), _share(heat), _latency(heat, judgement)) if view],
    }


def _matrix(heat: HeatMap, value: Callable[[Cell, int, int], Any], absent: Any) -> list[list[Any]]:  # noqa: ANN401
    rows = range(len(heat.labels))
    cells = heat.cells
    return [
        [value(cells[row, column], row, column) if (row, column) in cells else absent for column in rows]
        for row in rows
    ]


def _leaf_spans(heat: HeatMap) -> list[Json]:
    """Name and middle of each leaf's block, for the leaves that are known and few enough to be named."""
    edges = [0, *heat.boundaries, len(heat.leaves)]
    spans = [
        {"name": plot_text(shorten(heat.leaves[start], _LABEL_LENGTH)), "middle": (start + end - 1) / 2}
        for start, end in itertools.pairwise(edges)
        if start < len(heat.leaves) and heat.leaves[start]
    ]
    return spans if len(spans) <= _MOST_NUMBERED else []


def _hover(cell: Cell, heat: HeatMap, row: int, column: int) -> str:
    """All that is known of a cell; where cells are many, of those that passed only their shares, names aside."""
    pair = cell.slowest
    if len(heat.labels) > _MOST_LETTERED and cell.verdict is Verdict.PASS:
        shares = [units.share(part) for part in (cell.median_share, cell.share) if part is not None]
        return " ".join([f"{count(cell.pairs, 'pair')}:", *shares[:1], *(f"(worst {part})" for part in shares[1:])])
    names = f"<b>{plot_text(heat.labels[row])} → {plot_text(heat.labels[column])}</b>"
    if heat.by_leaf:
        names += f", {count(cell.pairs, 'pair')}<br>slowest: {plot_text(pair.source)} → {plot_text(pair.target)}"
    bandwidth, latency = cell.bandwidth_bytes_per_s, cell.latency_s
    lines = [names, cell.verdict.value]
    if bandwidth is not None:
        lines.append(units.estimate(bandwidth, units.BANDWIDTH))
    if cell.share is not None:
        of = "the limit" if pair.limit else "the peers"
        middle = f", median {units.share(cell.median_share)}" if heat.by_leaf and cell.median_share is not None else ""
        lines.append(f"{units.share(cell.share)} of {of}{middle}")
    if latency is not None:
        lines.append(f"latency {units.estimate(latency, units.LATENCY)}")
    return "<br>".join(lines)


def _view(
    heat: HeatMap, title: str, unit: str, low: float, high: float, number: Callable[[Cell], float | None]
) -> Json:
    """`low` and `high` are where the colour scale ends, in the unit of the numbers."""
    return {
        "title": title,
        "unit": unit,
        "low": low,
        "high": high if high > low else low + 1,
        "z": _matrix(heat, lambda cell, _row, _column: _rounded(number(cell)), None),
        "text": _labels(heat, number),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{_SIGNIFICANT}g}")


def _labels(heat: HeatMap, number: Callable[[Cell], float | None]) -> list[list[str]] | None:
    """The text of the cells: numbers in a small map, letters for what did not pass in a larger one."""
    if len(heat.labels) > _MOST_LETTERED:
        return None

    def label(cell: Cell, _row: int, _column: int) -> str:
        odd = "" if cell.verdict is Verdict.PASS else cell.verdict.value
        value = number(cell)
        if len(heat.labels) > _MOST_NUMBERED:
            return odd[:1]
        return "<br>".join(filter(None, ["" if value is None else f"{value:.3g}", odd]))

    return _matrix(heat, label, "")


def _bandwidth(heat: HeatMap, judgement: Judgement) -> Json | None:
    """The scale spans half the highest limit (more, if it must), so that noise does not look like a fault."""
    measured = [cell.bandwidth_bytes_per_s.value for cell in heat.cells.values() if cell.bandwidth_bytes_per_s]
    if not measured:
        return None
    limits = [pair.limit.limit_bytes_per_s for pair in judgement.pairs if pair.limit]
    top = max(limits) if limits else max(measured)
    scale = units.bandwidth_scale(top)

    def number(cell: Cell) -> float | None:
        return cell.bandwidth_bytes_per_s.value / scale.per_unit if cell.bandwidth_bytes_per_s else None

    low = min(*measured, top / 2) / scale.per_unit
    return _view(heat, "Bandwidth", scale.unit, low, top / scale.per_unit, number)


def _share(heat: HeatMap) -> Json | None:
    shares = [cell.share for cell in heat.cells.values() if cell.share is not None]
    if not shares:
        return None

    def number(cell: Cell) -> float | None:
        return None if cell.share is None else cell.share * 100

    return _view(heat, "Share of limit or peers", "%", min(*shares, 0.5) * 100, 100.0, number)


def _latency(heat: HeatMap, judgement: Judgement) -> Json | None:
    """From zero to twice the peers' latency (or higher, where something is); here the high end is the bad one."""
    measured = [cell.latency_s.value for cell in heat.cells.values() if cell.latency_s]
    if not measured:
        return None
    top = max(*measured, 2 * (judgement.peers_latency_s or 0.0))
    scale = units.time_scale(top)

    def number(cell: Cell) -> float | None:
        return cell.latency_s.value / scale.per_unit if cell.latency_s else None

    return {**_view(heat, "Latency", scale.unit, 0.0, top / scale.per_unit, number), "high_is_bad": True}
