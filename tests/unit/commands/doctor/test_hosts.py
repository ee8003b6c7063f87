"""What the doctor says of hosts without Slurm: logins, clocks, and hosts that have other names for themselves."""

from seatrial.commands.doctor import node_identity
from seatrial.commands.doctor.hosts import by_given_name, judge_logins
from seatrial.launch.contract import Hosts
from seatrial.launch.environments.report import TaskReport
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.run import NodeCause, NodeState
from seatrial.model.verdict import FindingKind, Verdict


def left_out(node: str, reason: str) -> NodeState:
    return NodeState(node=node, reason=reason, fault=True, cause=NodeCause.UNAVAILABLE)


def test_each_reason_is_an_obstacle_with_its_hosts() -> None:
    states = (left_out("n3", "it did not answer"), left_out("n4", "no orted"), left_out("n5", "it did not answer"))
    first, second, works = judge_logins(Hosts(nodes=("n1", "n2"), left_out=states, fabric=NO_FABRIC))
    assert (first.kind, first.verdict, first.subject.name) == (FindingKind.NODE_SILENT, Verdict.BLOCKED, "n3")
    assert first.statement == "n[3,5] cannot be measured: it did not answer."
    assert second.statement == "n4 cannot be measured: no orted."
    assert (works.verdict, works.statement) == (Verdict.PASS, "ssh logs in to 2 hosts (n[1-2]).")
    assert [one.verdict for one in judge_logins(Hosts(nodes=(), left_out=states, fabric=NO_FABRIC))] == [
        Verdict.BLOCKED
    ] * 2


def test_a_wrong_clock_prevents_no_launch_over_ssh() -> None:
    places = node_identity.parse_places("seatrial-place n1 n1 1000\nseatrial-place n2 n2 9000\n")
    (found,) = node_identity.judge_clocks(places, asked_s=1000, answered_s=1001, slurm=False)
    assert (found.kind, found.verdict) == (FindingKind.CLOCK_DIFFERS, Verdict.NOTE)
    assert "munge" not in found.remedy
    (by_slurm,) = node_identity.judge_clocks(places, asked_s=1000, answered_s=1001)
    assert by_slurm.verdict is Verdict.BLOCKED and "munge" in by_slurm.remedy


def test_reports_come_under_the_names_that_were_given() -> None:
    reports = [TaskReport(host="node-a", variables=frozenset()), TaskReport(host="n2", variables=frozenset())]
    named = by_given_name(reports, {"node-a": "10.0.0.1", "n2": "n2"})
    assert [one.host for one in named] == ["10.0.0.1", "n2"]
    (missing,) = node_identity.judge_programs(named, ("10.0.0.1", "n2"), "/probe")[:1]
    assert "10.0.0.1" in missing.statement
