"""What rounds under load showed, in each form of the report."""

import msgspec

from seatrial.commands.check.headline import headline
from seatrial.commands.check.judge import judge
from seatrial.commands.check.tables import leaves_table, loaded_rows
from seatrial.model.errors import ExitCode
from seatrial.model.judgement import LeafLoad, Loaded
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import median_estimate
from tests.support.builders import Cluster, leaves, names, sail
from tests.support.reports import check_json, check_page, check_text

LOADED = Loaded(
    rounds=20,
    leaves=(
        LeafLoad(
            leaf="leaf1",
            direction=Direction.OUT,
            nodes=2,
            bytes_per_s=median_estimate([100e6, 102e6]),
            alone_bytes_per_s=202e6,
            share=0.5,
            of_peers=1.01,
        ),
        LeafLoad(
            leaf="<b>\x1b[31mleaf2",
            direction=Direction.IN,
            nodes=2,
            bytes_per_s=median_estimate([50e6, 50e6]),
            alone_bytes_per_s=200e6,
            share=0.25,
            of_peers=0.5,
        ),
    ),
    bisection_bytes_per_s=median_estimate([150e6] * 6),
    bisection_pairs=4,
    bisection_share=0.75,
    oversubscription=2.04,
    design_oversubscription=2.0,
    detectable_ratio=0.041,
)
RECORDED = sail(Cluster(nodes=names(4), leaf_of=leaves(4, 2)))
JUDGED = msgspec.structs.replace(judge(RECORDED), loaded=LOADED)


def test_the_terminal_says_what_the_fabric_carries() -> None:
    text = check_text(RECORDED.info, JUDGED, RECORDED.facts, width=200)
    assert "bisection" in text
    assert "150.0 MB/s while half of the nodes send to the other half (4 pairs at once), 75 %" in text
    assert "over-subscription 2.0:1 under load; by its cables 2.0:1; one that carries 4.1 % less than its peers" in text


def test_the_page_lists_the_leaf_that_carries_least_first() -> None:
    page = check_page(RECORDED.info, JUDGED, RECORDED.facts)
    assert '<section id="loaded">' in page
    assert "<b>" not in page.partition('<section id="loaded">')[2].partition("</section>")[0]
    assert page.index('leaf2</td><td data-label="way">receives') < page.index('leaf1</td><td data-label="way">sends')
    first, second = leaves_table(LOADED).rows
    assert (first[6], second[6]) == ("50 %", "101 %")
    assert second[5] == "50 %"


def test_json_has_base_units_and_shares() -> None:
    loaded = check_json(RECORDED.info, JUDGED)["loaded"]
    assert loaded["rounds"] == 20
    assert loaded["bisection_bytes_per_s"]["value"] == 150e6
    assert [one["share"] for one in loaded["leaves"]] == [0.5, 0.25]
    assert loaded["leaves"][1]["direction"] == "in"


def test_a_pass_is_withheld_where_an_uplink_is_not_decided() -> None:
    judged = msgspec.structs.replace(JUDGED, loaded=msgspec.structs.replace(LOADED, undecided=("leaf2",)))
    assert JUDGED.verdict is Verdict.PASS
    assert (judged.verdict, judged.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCOMPLETE)
    first = headline(RECORDED.info, judged)
    assert first.word == "INCONCLUSIVE"
    assert first.what.startswith("no finding on 4 nodes, but the uplink of leaf2 may be slow under load")


def test_without_load_nothing_is_said() -> None:
    judged = msgspec.structs.replace(JUDGED, loaded=None)
    assert loaded_rows(None) == []
    assert leaves_table(None).rows == ()
    assert "bisection" not in check_text(RECORDED.info, judged, RECORDED.facts)
    assert '<section id="loaded">' not in check_page(RECORDED.info, judged, RECORDED.facts)
    assert check_json(RECORDED.info, judged)["loaded"] is None
