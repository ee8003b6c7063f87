"""The gate drains no more nodes than the policy allows, whatever Slurm and slurmdbd say, and not fewer for ever."""

from pathlib import Path

import pytest

from tests.support.gate_cluster import SINFO, GateCluster, iso


@pytest.fixture
def cluster(tmp_path: Path) -> GateCluster:
    return GateCluster(tmp_path)


def test_gates_that_ask_at_the_same_time_keep_the_share_of_the_policy(tmp_path: Path) -> None:
    cluster = GateCluster(tmp_path, count=20)
    cluster.policy(share=150, hourly=100)
    cluster.state("n20", "down")
    cluster.leave("bad", *cluster.nodes[:8])
    for process in [cluster.start(node) for node in cluster.nodes[:8]]:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out.startswith("bad ")
    assert [node for node in cluster.nodes if cluster.reason(node)] == ["n01", "n02"]
    assert "4 of 20 nodes of main would be out of service" in cluster.ask("n03")


def test_the_share_is_kept_in_each_partition_of_the_node(cluster: GateCluster) -> None:
    cluster.policy(share=240, hourly=100)
    cluster.leave("bad", "n01")
    assert "1 of 4 nodes of main" in cluster.ask("n01")
    cluster.policy(share=250, hourly=100)
    assert cluster.ask("n01").endswith("; drained")


@pytest.mark.parametrize("accounting", [True, False])
def test_not_more_are_drained_in_an_hour_than_the_policy_says(cluster: GateCluster, accounting: bool) -> None:
    cluster.policy(share=1000, hourly=1)
    if not accounting:
        (cluster.slurm / "no-accounting").touch()
    cluster.state("n04", "drained", "seatrial: older, run r0", since=iso(7200))
    cluster.leave("bad", "n01", "n02")
    expected = ["n01", "n04"] if accounting else ["n04"]
    assert cluster.ask("n01").endswith("; drained") is accounting
    assert "it would be number 2 in an hour" in cluster.ask("n02")
    assert [node for node in cluster.nodes if cluster.reason(node)] == expected
    # A drain that is over counts as well: only slurmdbd knows of it.
    if accounting:
        cluster.leave("good", "n01")
        assert cluster.ask("n01").endswith("resumed")
        assert "it would be number 2 in an hour" in cluster.ask("n02")


def test_a_drain_in_force_for_longer_than_an_hour_is_none_of_this_hour(cluster: GateCluster) -> None:
    """slurmdbd shows events of any age that are not over."""
    cluster.policy(share=1000, hourly=1)
    cluster.state("n04", "drained", "seatrial: older, run r0", since=iso(7200))
    (cluster.slurm / "events").write_text(f"n04|{iso(7200)}|DRAIN|seatrial: older, run r0\n")
    cluster.leave("bad", "n01")
    assert cluster.ask("n01").endswith("; drained")


def test_the_hour_is_the_last_one_in_any_time_zone(cluster: GateCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.policy(share=1000, hourly=1)
    cluster.state("n04", "drained", "seatrial: older, run r0", since=iso(1800))
    cluster.leave("bad", "n01")
    monkeypatch.setenv("TZ", "XXX-14")
    assert "it would be number 2 in an hour" in cluster.ask("n01")


def test_the_hour_is_that_of_the_clock_as_it_is_now(cluster: GateCluster) -> None:
    """The clock was ahead when the node started, and `date` is asked once in an hour."""
    cluster.policy(share=1000, hourly=1, age_s=10**6)
    cluster.state("n04", "drained", "seatrial: older, run r0", since=iso(1800))
    cluster.leave("bad", "n01")
    cluster.ask("n01", "report")
    answers = cluster.folder / "answers" / "n01"
    words = answers.read_text().split()
    words[7] = str(int(words[7]) + 36000)
    answers.write_text(" ".join(words) + "\n")
    assert "it would be number 2 in an hour" in cluster.ask("n01")


def test_a_node_that_the_policy_keeps_in_service_holds_up_no_other(cluster: GateCluster) -> None:
    """n01 is the only node of its second partition."""
    cluster.policy(share=500, hourly=1)
    cluster.replace("sinfo", SINFO + '[ -n "$only" ] || { printf "n01|debug|"; cat "$CLUSTER/state/n01"; }\n')
    cluster.leave("bad", "n01", "n02")
    assert "1 of 1 nodes of debug" in cluster.ask("n01")
    assert cluster.ask("n02").endswith("; drained")


@pytest.mark.parametrize("state", ["idle$", "idle@", "idle^", "inval", "unknown", "future", "blocked", "mixed$"])
def test_what_takes_no_jobs_is_out_of_service(cluster: GateCluster, state: str) -> None:
    cluster.policy(share=250, hourly=100)
    cluster.state("n04", state)
    cluster.leave("bad", "n01")
    assert "2 of 4 nodes of main" in cluster.ask("n01")


def test_without_the_node_in_what_slurm_says_nothing_is_drained(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01")
    cluster.replace("sinfo", 'rm -f "$CLUSTER/../gate/nodes/n01"\n' + SINFO)
    assert cluster.ask("n01").startswith("error n01: ")
    assert not cluster.reason("n01")


def test_an_undone_drain_that_slurm_does_not_take_back_is_an_error(cluster: GateCluster) -> None:
    """Two gates that do not know of each other: n04 is drained while n01 is."""
    cluster.policy(share=250, hourly=100)
    scontrol = (cluster.slurm / "bin" / "scontrol").read_text()
    other = '[ "$state" != DRAIN ] || echo "drained|$now|fan broken" >"$CLUSTER/state/n04"\n'
    other += '[ "$state" != UNDRAIN ] || exit 1\n'
    cluster.replace("scontrol", scontrol.replace("case $state in\n", f"{other}case $state in\n"))
    cluster.leave("bad", "n01")
    answer = cluster.ask("n01")
    assert answer.startswith("error n01: ")
    assert answer.endswith("not resumed")
    assert cluster.reason("n01")


def test_the_gate_of_a_node_that_is_gone_holds_up_no_other(cluster: GateCluster) -> None:
    cluster.policy(share=1000, hourly=1, age_s=10**6)
    cluster.leave("bad", "n01", "n02", ago_s=90000)
    assert "the next call does" in cluster.ask("n02")
    assert cluster.ask("n02").endswith("; drained")
