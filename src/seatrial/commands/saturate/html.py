"""How many ranks drive a port, as one page without scripts: bandwidth over ranks, a line for each message size."""

import math
from collections.abc import Callable, Sequence

from seatrial.commands.saturate.judge import AtSize, Saturation
from seatrial.commands.saturate.text import rank_count, summary
from seatrial.model import units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo
from seatrial.render.curve_plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, curve_page
from seatrial.render.escape import shorten
from seatrial.render.json_text import Json

HEAD = ("size", "ranks at once", "bandwidth", "range")
LATENCY_HEAD = ("ranks at once", "latency", "range")
MOST_LETTERS = 90
STEPS = 5
"""Lines across the drawing, about."""


def saturation_as_html(run: RunInfo, found: Saturation) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    tables = [
        ("All sizes", HEAD, [_row(one) for one in found.by_size]),
        ("Latency while so many talk at once", LATENCY_HEAD, list(_latencies(found))),
    ]
    return curve_page(
        run,
        (found.word, f"{found.pair[0]} to {found.pair[1]}: {found.reason}"),
        [*([("finding", found.finding)] if found.finding else []), *summary(found)],
        [drawing(found)],
        [table for table in tables if table[2]],
    )


def drawing(found: Saturation) -> Json | None:
    """Places in the drawing: ranks by their logarithm, bandwidth from zero; None where there are no points."""
    if not found.by_size:
        return None
    limit = found.limit.limit_bytes_per_s if isinstance(found.limit, Limit) else 0.0
    top = max(limit, *(one.bandwidth_bytes_per_s.high for one in found.by_size)) * 1.1
    counts = sorted({one.ranks for one in found.by_size})
    span = math.log(max(counts[-1] / counts[0], 2))

    def x(ranks: int) -> float:
        return round(LEFT + 20 + (RIGHT - LEFT - 130) * math.log(ranks / counts[0]) / span, 1)

    def y(bytes_per_s: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * bytes_per_s / top, 1)

    sizes = sorted({one.message_bytes for one in found.by_size}, reverse=True)
    curves = [
        _curve([one for one in found.by_size if one.message_bytes == size], number, x, y)
        for number, size in enumerate(sizes)
    ]
    return {
        "title": "Bandwidth over ranks at once",
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": RIGHT,
        "bottom": BOTTOM,
        "x_ticks": [{"at": x(ranks), "label": rank_count(ranks)} for ranks in counts],
        "y_ticks": [{"at": y(value), "label": units.bandwidth(value)} for value in ticks(top)],
        "switches": [],
        "levels": _levels(found.limit, y),
        "curves": _apart(curves),
    }


def _levels(limit: Limit | NoLimit, y: Callable[[float], float]) -> list[Json]:
    if isinstance(limit, NoLimit):
        return []
    said = f"limit {units.bandwidth(limit.limit_bytes_per_s)}, set by {limit.binding}"
    return [{"at": y(limit.limit_bytes_per_s), "label": shorten(said, MOST_LETTERS)}]


def _curve(points: Sequence[AtSize], number: int, x: Callable[[int], float], y: Callable[[float], float]) -> Json:
    dots: list[Json] = []
    for one in points:
        value = one.bandwidth_bytes_per_s
        said = f"{units.size(one.message_bytes)}, {rank_count(one.ranks)}: {units.estimate(value, units.BANDWIDTH)}"
        dots.append({"x": x(one.ranks), "y": y(value.value), "low": y(value.low), "high": y(value.high), "title": said})
    return {
        "class": f"c{number % 4}",
        "line": " ".join(f"{dot['x']},{dot['y']}" for dot in dots),
        "dots": dots,
        "label": units.size(points[0].message_bytes),
        "label_x": dots[-1]["x"] + 8,
        "label_y": dots[-1]["y"] + 4,
    }


def _apart(curves: list[Json]) -> list[Json]:
    """Labels behind the lines' ends, moved down where they would lie over each other."""
    lowest = -math.inf
    for curve in sorted(curves, key=lambda one: float(one["label_y"])):
        curve["label_y"] = lowest = max(curve["label_y"], lowest + 16)
    return curves


def ticks(top: float) -> list[float]:
    """Round numbers from zero to `top`: 1, 2 or 5 times a power of ten apart."""
    if not 0 < top < math.inf:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(top / STEPS))
    step = next((factor * power for factor in (1, 2, 5) if top / (factor * power) <= STEPS), 10 * power)
    return [number * step for number in range(int(top / step) + 1)]


def _row(one: AtSize) -> tuple[str, ...]:
    value = one.bandwidth_bytes_per_s
    spread = f"{units.bandwidth(value.low)}–{units.bandwidth(value.high)}"
    return units.size(one.message_bytes), str(one.ranks), units.bandwidth(value.value), spread


def _latencies(found: Saturation) -> list[tuple[str, ...]]:
    return [
        (str(one.ranks), units.duration(took.value), f"{units.duration(took.low)}–{units.duration(took.high)}")
        for one in found.by_ranks
        if (took := one.latency_s) is not None
    ]
