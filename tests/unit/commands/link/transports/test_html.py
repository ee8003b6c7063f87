"""The page of a run of `seatrial link --transports`."""

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from seatrial.commands.link.transports.view import LEAST_SPAN, MOST_SPAN, axis_span, place
from seatrial.model.measurement import Estimate
from tests.support.reports import transports_page
from tests.support.transport_launcher import Launcher, by_rail, carry_out, plain, two_rails


def test_every_setting_is_drawn_with_its_interval(tmp_path: Path) -> None:
    outcome = carry_out(Launcher(), tmp_path)
    page = transports_page(outcome.run, outcome.found)
    ran = [one for one in plain(outcome).effects if one.latency_times is not None and not one.failure]
    failed = [one for one in plain(outcome).effects if one.failure]
    assert ran
    assert failed
    assert page.count('class="value"') >= len(ran)
    assert page.count('<span class="invalid">INVALID</span>') == 2 * len(failed)
    assert "OFI carried the data" in page
    assert "default-src 'none'" in page


def test_each_rail_has_a_part_of_its_own(tmp_path: Path) -> None:
    outcome = carry_out(two_rails(), tmp_path, rails=())
    page = transports_page(outcome.run, by_rail(outcome))
    assert page.index("<h2>Rail eth0: PASS</h2>") < page.index("<h2>Rail eth1: PASS</h2>")


def test_what_comes_from_outside_is_escaped(tmp_path: Path) -> None:
    outcome = carry_out(Launcher(), tmp_path)
    evil = "<script>alert(1)</script>"
    offers = tuple(replace(offer, devices=(evil,)) for offer in plain(outcome).offers)
    page = transports_page(replace(outcome.run, mpi_library=evil), replace(plain(outcome), offers=offers, reason=evil))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_default_is_in_the_middle_and_twice_as_long_at_the_end() -> None:
    assert (place(1, 2), place(2, 2), place(0.5, 2), place(9, 2), place(0.01, 2)) == (50, 100, 0, 100, 0)
    assert place(math.sqrt(2), 2) == 75
    assert (place(math.inf, 2), place(0, 2), place(math.nan, 2)) == (100, 0, 0)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3))
def test_an_axis_holds_all_intervals_within_reason(ends: list[float]) -> None:
    low, value, high = sorted(ends)
    span = axis_span([Estimate(value=value, low=low, high=high, confidence=0.99, runs=4, method="made up")])
    assert LEAST_SPAN <= span <= MOST_SPAN
    assert 0 <= place(low, span) <= place(value, span) <= place(high, span) <= 100
