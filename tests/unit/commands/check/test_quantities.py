"""One definition of latency and of bandwidth, and medians that are what they are called."""

from pathlib import Path

import pytest

from seatrial.commands.check.judge import judge
from seatrial.model.judgement import Judgement
from tests.support.builders import HEALTHY, Cluster, names, record, sail, slow_part
from tests.support.command_line import Seatrial
from tests.support.reports import check_json, check_page, check_text

NEAR_S = 20e-6
SLOW = 0.6
LATE = 1.5
CLUSTER = Cluster(
    nodes=names(5),
    parts=slow_part("node", "n1", SLOW) | slow_part("node", "n2", SLOW),
    late={"n1": LATE, "n2": LATE},
    near_s=NEAR_S,
    far_s=NEAR_S,
    noise=0.001,
)
"""Two of five nodes are slow and late: 14 of 20 ordered pairs, while three nodes have a good partner."""


def judged() -> Judgement:
    return judge(sail(CLUSTER, retest=False))


def test_the_median_of_all_pairs_is_the_median_of_all_pairs() -> None:
    found = judged()
    assert found.median_bandwidth_bytes_per_s == pytest.approx(SLOW * HEALTHY, rel=0.01)
    assert found.median_latency_s == pytest.approx(LATE * NEAR_S, rel=0.01)
    assert found.peers_bandwidth_bytes_per_s == pytest.approx(HEALTHY, rel=0.01)
    assert found.peers_latency_s == pytest.approx(NEAR_S, rel=0.01)


def test_every_form_of_the_report_names_both() -> None:
    recorded = sail(CLUSTER, retest=False)
    found = judge(recorded)
    text = check_text(recorded.info, found, recorded.facts, width=200)
    assert "all pairs  median: 70." in text
    assert "median of the pairs that are not slow: 117.0 MB/s, 20.0 µs one way" in text
    assert "median of all pairs" not in text
    page = check_page(recorded.info, found, recorded.facts)
    assert "All pairs, median: 70." in page
    assert "Peers, median of the pairs that are not slow: 117.0 MB/s" in page
    content = check_json(recorded.info, found)
    assert content["median_bandwidth_bytes_per_s"] == found.median_bandwidth_bytes_per_s
    assert content["median_latency_s"] == found.median_latency_s


def test_a_finding_names_what_its_peers_are() -> None:
    recorded = sail(Cluster(nodes=names(5), parts=slow_part("node", "n1", SLOW)))
    (finding,) = judge(recorded).findings
    text = check_text(recorded.info, judge(recorded), recorded.facts, width=200)
    assert f"(measured: 60 % of it); {finding.peers_name}\n" in text
    assert finding.peers_name == "median of the pairs that are not slow"
    assert check_json(recorded.info, judge(recorded))["findings"][0]["peers_name"] == finding.peers_name


def test_the_report_and_runs_show_have_one_latency_and_one_bandwidth(tmp_path: Path, seatrial: Seatrial) -> None:
    record(CLUSTER, tmp_path, recorded=sail(CLUSTER, retest=False))
    report = seatrial("report", "--archive", str(tmp_path), "--json", code=None).data
    ran = seatrial("runs", "show", "--archive", str(tmp_path), "--json", code=None)
    kernels = {one["kernel"]: one for one in ran.data["kernels"] if one["phase"] == "survey"}
    assert kernels["pingpong"]["latency_s"] == pytest.approx(report["median_latency_s"], rel=1e-9)
    assert kernels["oneway"]["bandwidth_bytes_per_s"] == pytest.approx(report["median_bandwidth_bytes_per_s"], rel=1e-9)
    assert kernels["pingpong"]["median_time_s"] == pytest.approx(2 * report["median_latency_s"], rel=0.01)
    assert kernels["oneway"]["latency_s"] is kernels["pingpong"]["bandwidth_bytes_per_s"] is None


def test_runs_show_names_the_one_way_latency(tmp_path: Path, seatrial: Seatrial) -> None:
    record(CLUSTER, tmp_path, recorded=sail(CLUSTER, retest=False))
    shown = seatrial("runs", "show", "--archive", str(tmp_path), code=None).out
    (latency,) = (line for line in shown.splitlines() if "survey" in line and "pingpong" in line)
    assert "one-way latency" in shown
    assert "median_time" not in shown
    assert latency.split()[-2:] == ["30.0", "µs"]


def test_a_run_that_measured_nothing_has_no_medians() -> None:
    recorded = sail(CLUSTER, skipped=tuple((a, b) for a in CLUSTER.nodes for b in CLUSTER.nodes if a != b))
    found = judge(recorded)
    assert (found.median_bandwidth_bytes_per_s, found.median_latency_s) == (None, None)
    assert "all pairs" not in check_text(recorded.info, found, recorded.facts)
