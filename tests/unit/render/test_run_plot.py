"""Values over runs: an axis from zero, a line before each run at which they changed, nothing for one run."""

import math

from seatrial.model import units
from seatrial.render.run_plot import RunValue, bars, over_runs


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


def test_small_bars_go_from_the_least_to_the_greatest_of_the_newest_values() -> None:
    ((drawn, text),) = bars([9.0, *[1.0, 2.0] * 17, 0.5, 1.0], units.share, 100)
    assert (len(drawn[0]), drawn[0][-2:], text[0]) == (36, "▁▃", "  50 % to 200 %")
    assert bars([1.0, 2.0], units.share, 60) == bars([1.0, 1.0], units.share, 100) == ()
