"""A curve as one page without scripts: the plots are drawn here."""

import math
from collections.abc import Sequence
from typing import Any

from seatrial.commands.curve import rows
from seatrial.commands.curve.judge import Curve
from seatrial.commands.curve.points import CurvePoint
from seatrial.model import units
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.render.curve_plot import BOTTOM, HEIGHT, LEFT, MOST_TICKS, RIGHT, TOP, WIDTH, curve_page
from seatrial.render.json_text import Json
from seatrial.statistics.segments import Break


def curve_as_html(run: RunInfo, curve: Curve) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    return curve_page(
        run,
        rows.headline(curve),
        rows.summary(curve),
        [_plot(curve, "Latency"), _plot(curve, "Bandwidth")],
        [
            ("The latency in straight pieces", rows.PIECES_HEAD, rows.pieces(curve)),
            (f"All sizes. {rows.TOOLS_TITLE}", rows.POINTS_HEAD, rows.points(curve)),
        ],
    )


def _plot(curve: Curve, title: str) -> Json | None:
    return plot_of(curve.points, title, curve.latency.switches if curve.latency else ())


def plot_of(
    points_of_curve: Sequence[CurvePoint], what: str, switches: Sequence[Break] = (), over: str = ""
) -> Json | None:
    """Places in the drawing of "Latency" or "Bandwidth"; both axes logarithmic. None for fewer than two points."""
    latency = what == "Latency"
    known = [
        (point.message_bytes, point.latency_s if latency else point.bandwidth_bytes_per_s) for point in points_of_curve
    ]
    points = [(size, found) for size, found in known if found is not None]
    if len(points) < 2:
        return None
    least, most = min(found.low for _, found in points), max(found.high for _, found in points)
    first, last = points[0][0], points[-1][0]
    say = units.duration if latency else units.bandwidth

    def x(size: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * math.log(size / first) / math.log(last / first), 1)

    def y(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * math.log(value / least) / max(math.log(most / least), 1e-9), 1)

    def dot(size: int, found: Estimate) -> Json:
        said = f"{units.size(size)}: {say(found.value)} [{say(found.low)}–{say(found.high)}]"
        return {"x": x(size), "y": y(found.value), "low": y(found.low), "high": y(found.high), "title": said}

    dots = [dot(size, found) for size, found in points]
    return {
        "title": f"{what} over message size{over}",
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": RIGHT,
        "bottom": BOTTOM,
        "x_ticks": [{"at": x(size), "label": units.size(size)} for size in _powers(first, last, 2)],
        "y_ticks": [{"at": y(value), "label": say(value)} for value in _powers(least, most, 10)],
        "switches": [x(one.at_bytes) for one in switches],
        "levels": [],
        "curves": [
            {"class": "c0", "label": "", "line": " ".join(f"{each['x']},{each['y']}" for each in dots), "dots": dots}
        ],
    }


def _powers(low: float, high: float, base: int) -> list[Any]:
    """Powers of `base` from `low` to `high`, thinned where they are many; whole numbers for base 2."""
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(math.ceil((last - first + 1) / MOST_TICKS), 1)
    return [base**power if base == 2 else float(base) ** power for power in range(first, last + 1, step)]
