"""Values over runs: an axis from zero, a line before each run at which they changed, nothing for one run."""

import math

from seatrial.model import units
from seatrial.render.run_plot import RunValue, over_runs


def values(*numbers: float) -> list[RunValue]:
    return [RunValue(run=f"r{place}", date=f"2026-11-{place + 1:02d}", value=n) for place, n in enumerate(numbers)]


def test_each_run_has_a_point_and_each_change_a_line_before_its_run() -> None:
    plot = over_runs("share", values(1.0, 1.0, 0.6, 0.6), units.share, [2])
    assert plot is not None
    (series,) = plot.series
    assert [point.y for point in series.points] == [1.0, 1.0, 0.6, 0.6]
    assert series.points[2].hover == "r2, 2026-11-03: 60 %"
    assert plot.marks == (1.5,)
    assert (plot.y.low, plot.y.high > 1.0) == (0.0, True)
    assert len(plot.svg.curves[0].dots) == 4


def test_nothing_is_drawn_where_there_is_nothing_to_see() -> None:
    for numbers in ((), (1.0,), (0.0, 0.0), (1.0, math.inf)):
        assert over_runs("", values(*numbers), units.share) is None
