"""The time left on a terminal."""

import io
import math
import re

import pytest

from seatrial.cli.progress import progress_on, time_left_s
from seatrial.driver.clock import monotonic_s


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("estimated_s", "deadline_s", "left_s"),
    [(26.0, 106.0, 6.0), (3.0, 106.0, 3.0), (None, 106.0, 6.0), (26.0, 90.0, 0.0), (26.0, math.inf, 26.0)],
)
def test_no_more_time_is_left_than_the_budget_permits(
    estimated_s: float | None, deadline_s: float, left_s: float
) -> None:
    assert time_left_s(estimated_s, deadline_s, 100.0) == left_s


def test_without_a_pace_and_a_budget_the_time_is_not_known() -> None:
    assert time_left_s(None, math.inf, 100.0) is None


def test_the_bar_shows_the_rest_of_the_budget() -> None:
    stream = Terminal()
    with progress_on(stream) as bar:
        bar.stage("Measuring")
        bar.rounds(1000)
        bar.until(monotonic_s() + 5000)
        bar.advance()
    assert re.search(r"1:2[0-3]:\d\d", stream.getvalue())
