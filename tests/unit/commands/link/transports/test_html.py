"""The page of a run of `seatrial link --transports`."""

from pathlib import Path

from tests.support.reports import transports_page
from tests.support.transport_launcher import Launcher, by_rail, carry_out, plain, two_rails


def test_every_setting_is_drawn_with_its_interval(tmp_path: Path) -> None:
    outcome = carry_out(Launcher(), tmp_path)
    page = transports_page(outcome.recorded.info, outcome.result)
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
    page = transports_page(outcome.recorded.info, by_rail(outcome))
    assert page.index("<h2>Rail eth0: PASS</h2>") < page.index("<h2>Rail eth1: PASS</h2>")
