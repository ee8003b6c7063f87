"""The axis of forest plots: 1 in its middle, all intervals on it within reason."""

import math

from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.measurement import Estimate
from seatrial.render.forest import MOST_SPAN, axis_span, place

LEAST = 2.0


def test_one_is_in_the_middle_and_the_span_at_the_end() -> None:
    assert (place(1, 2), place(2, 2), place(0.5, 2), place(9, 2), place(0.01, 2)) == (50, 100, 0, 100, 0)
    assert place(math.sqrt(2), 2) == 75
    assert (place(math.inf, 2), place(0, 2), place(math.nan, 2)) == (100, 0, 0)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3))
def test_an_axis_holds_all_intervals_within_reason(ends: list[float]) -> None:
    low, value, high = sorted(ends)
    span = axis_span([Estimate(value=value, low=low, high=high, confidence=0.99, runs=4, method="made up")], LEAST)
    assert LEAST <= span <= MOST_SPAN
    assert 0 <= place(low, span) <= place(value, span) <= place(high, span) <= 100
