"""Plots: the same curve in characters and as SVG."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from seatrial.render.plots import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Axis,
    Plot,
    Point,
    Series,
    characters,
    log_steps,
    places,
    powers,
)


def curve(*values: float, label: str = "", marks: tuple[float, ...] = ()) -> Plot:
    points = tuple(
        Point(x=2.0**place, y=value, low=value, high=value, x_text=f"{2**place} B", y_text=f"{value:g} s")
        for place, value in enumerate(values)
    )
    high = max(*values, min(values) * 1.0)
    return Plot(
        x=Axis(low=1, high=2.0 ** (len(values) - 1), logarithmic=True),
        y=Axis(low=min(values), high=high, logarithmic=True),
        series=(Series(points=points, label=label),),
        marks=marks,
    )


def test_the_ends_of_a_curve_are_in_the_corners_of_both_forms() -> None:
    plot = curve(1.0, 10.0, 100.0)
    dots = places(plot).curves[0].dots
    assert [(dot.x, dot.y) for dot in dots] == [(LEFT, BOTTOM), ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2), (RIGHT, TOP)]
    lines = characters(plot, 40)
    assert lines[0].startswith("100 s │") and lines[0].endswith("•")
    assert lines[11].startswith("  1 s │•")
    assert lines[13].split() == ["1", "B", "4", "B"]
    assert {len(line) for line in lines if "•" in line} <= set(range(41))


def test_marks_are_behind_the_points_and_a_flat_curve_is_a_line() -> None:
    lines = characters(curve(1.0, 1.0, 1.0, marks=(2.0, 64.0)), 30)
    assert sum("┊" in line for line in lines) == 11
    assert sum("•" in line for line in lines) == 1


def test_labels_do_not_cover_each_other() -> None:
    one = curve(1.0, 2.0, label="a").series[0]
    plot = Plot(
        x=Axis(low=1, high=2, logarithmic=True), y=Axis(low=0, high=2, logarithmic=False), series=(one, one, one)
    )
    heights = sorted(drawn.label_y for drawn in places(plot).curves)
    assert [after - before for before, after in pairwise(heights)] == [16, 16]


@pytest.mark.parametrize(("low", "high", "base", "found"), [(1, 8, 2, [1, 2, 4, 8]), (0.5, 120, 10, [1, 10, 100])])
def test_powers(low: float, high: float, base: int, found: list[float]) -> None:
    assert powers(low, high, base) == found
    assert len(powers(1, 2.0**40, 2)) <= 12


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(1, 1e6, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]), (0.5, 12, [0.5, 1, 2, 5, 10]), (30, 40, [30, 40])],
)
def test_a_logarithmic_axis_has_ticks_also_within_a_decade(low: float, high: float, found: list[float]) -> None:
    assert log_steps(low, high) == pytest.approx(found)


def test_levels_that_are_close_share_one_label() -> None:
    plot = replace(curve(1.0, 10.0, 100.0), levels=((10.0, "b"), (99.0, "a"), (10.1, "c"), (9.9, "d")))
    drawn = places(plot).levels
    assert [label for _, label in drawn] == ["a", "c; b; d", "", ""]
    assert [height for height, _ in drawn] == sorted(height for height, _ in drawn)
