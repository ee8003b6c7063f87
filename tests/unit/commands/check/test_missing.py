"""What was planned and not measured is never taken for good."""

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.commands.check.unmeasured_pairs import without_unnamed
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import Fabric
from seatrial.model.judgement import PairVerdict
from seatrial.model.run import Ending, NodeState, RecordedRun
from seatrial.model.subject import FABRIC, Subject, SubjectKind, node, pair, uplink
from seatrial.model.verdict import Finding, FindingKind, Verdict
from tests.support.builders import Cluster, info_of, names, sail, slow_part

DOWN = NodeState(node="n4", reason="Slurm says down (kernel panic)", fault=True)
DRAINED = NodeState(node="n4", reason="Slurm says drained (memory upgrade)", fault=False)


def test_a_node_that_is_down_is_a_finding() -> None:
    judgement = judge(sail(Cluster(nodes=names(4)), lost=(DOWN,)))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.NODE_DOWN, node("n4"))]
    assert judgement.findings[0].verdict is Verdict.DOWN
    assert judgement.exit_code is ExitCode.FINDINGS
    assert judgement.complete
    verdicts = {one.node: one.verdict for one in judgement.nodes}
    assert verdicts == {"n1": "PASS", "n2": "PASS", "n3": "PASS", "n4": "DOWN"}


def test_a_node_taken_out_on_purpose_is_no_finding_and_is_not_forgotten() -> None:
    recorded = sail(Cluster(nodes=names(3)))
    recorded = msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, lost=(DRAINED,)))
    judgement = judge(recorded)
    assert judgement.findings == ()
    assert judgement.exit_code is ExitCode.PASS
    assert [(one.node, one.verdict, one.reason) for one in judgement.nodes][-1] == ("n4", "NOT_RUN", DRAINED.reason)


def test_a_pair_that_hangs_is_a_finding_and_the_rest_is_judged() -> None:
    judgement = judge(sail(Cluster(nodes=names(4)), hung=(("n1", "n3"),)))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.PAIR_HANGS, pair("n1", "n3"))]
    assert judgement.exit_code is ExitCode.FINDINGS
    missing = {(one.source, one.target) for one in judgement.pairs if one.verdict is Verdict.NOT_RUN}
    assert missing == {("n1", "n3"), ("n3", "n1")}
    assert judgement.complete


def test_planned_and_never_measured_is_not_run_and_incomplete() -> None:
    judgement = judge(sail(Cluster(nodes=names(4)), skipped=(("n1", "n2"),)))
    reasons = {(one.source, one.target): one.reason for one in judgement.pairs if one.verdict is Verdict.NOT_RUN}
    assert reasons[("n1", "n2")] == "planned, never measured"
    assert set(reasons) <= {("n1", "n2"), ("n2", "n1")}
    assert not judgement.complete
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert judgement.verdict is Verdict.NOT_RUN


def test_a_hanging_pair_excuses_no_other_pair() -> None:
    judgement = judge(sail(Cluster(nodes=names(4)), hung=(("n1", "n3"),), skipped=(("n1", "n2"),)))
    assert not judgement.complete


def test_a_pair_without_latency_is_not_called_good() -> None:
    recorded = sail(Cluster(nodes=names(3)))
    left = tuple(one for one in recorded.measurements if one.shape.window > 1 or "n1" not in one.pair)
    judgement = judge(msgspec.structs.replace(recorded, measurements=left))
    assert {one.verdict for one in judgement.pairs if "n1" in (one.source, one.target)} == {Verdict.NOT_RUN}
    assert judgement.exit_code is ExitCode.INCOMPLETE


def test_a_run_of_which_nothing_was_measured_says_so() -> None:
    recorded = RecordedRun(info=info_of(Cluster(nodes=names(3))), planned=(), facts={}, facts_after={}, measurements=())
    judgement = judge(recorded)
    assert (judgement.pairs, judgement.findings, judgement.complete) == ((), (), False)
    assert {one.verdict for one in judgement.nodes} == {Verdict.NOT_RUN}
    assert judgement.exit_code is ExitCode.INCOMPLETE


def test_an_interrupted_run_is_incomplete_even_where_all_was_measured() -> None:
    recorded = sail(Cluster(nodes=names(3)), reason="Interrupted.")
    cut = msgspec.structs.replace(recorded.info, ending=Ending.INTERRUPTED)
    judgement = judge(msgspec.structs.replace(recorded, info=cut))
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert "Interrupted." in judgement.notes


def test_a_finding_of_a_cut_off_run_is_still_a_finding() -> None:
    recorded = sail(Cluster(nodes=names(4), parts=slow_part("node", "n1", 0.5)))
    cut = msgspec.structs.replace(recorded.info, ending=Ending.RECOVERED)
    assert judge(msgspec.structs.replace(recorded, info=cut)).exit_code is ExitCode.FINDINGS


def test_without_facts_it_is_judged_by_peers_and_says_so() -> None:
    recorded = msgspec.structs.replace(sail(Cluster(nodes=names(4))), facts={})
    judgement = judge(recorded)
    assert judgement.verdict is Verdict.PASS
    assert any("facts of a node are missing" in note for note in judgement.notes)


def test_the_pilot_is_no_evidence() -> None:
    recorded = sail(Cluster(nodes=names(2)))
    pilot = tuple(one for one in recorded.measurements if one.phase == "pilot")
    assert pilot
    judgement = judge(msgspec.structs.replace(recorded, measurements=pilot))
    assert {one.verdict for one in judgement.pairs} == {Verdict.NOT_RUN}


def test_a_round_that_delivered_no_times_is_no_evidence() -> None:
    recorded = sail(Cluster(nodes=names(2)))
    empty = tuple(msgspec.structs.replace(one, times_s=()) for one in recorded.measurements)
    assert not judge(msgspec.structs.replace(recorded, measurements=empty)).complete


def test_a_differing_mtu_is_named_by_the_facts() -> None:
    recorded = sail(Cluster(nodes=names(4)))
    odd = recorded.facts["n2"]
    eth0 = msgspec.structs.replace(odd.interfaces[0], mtu_bytes=9000)
    facts = {**recorded.facts, "n2": msgspec.structs.replace(odd, interfaces=(eth0,))}
    found = judge(msgspec.structs.replace(recorded, facts=facts)).findings
    assert [(one.kind, one.subject) for one in found] == [(FindingKind.MTU_DIFFERS, node("n2"))]
    assert "MTU 9000" in found[0].statement


@pytest.mark.parametrize(
    ("subjects", "decided"),
    [
        ((), 0),
        ((node("n9"),), 0),
        ((node("n1"),), 2),
        ((uplink("leaf2"),), 2),
        ((FABRIC,), 3),
        ((pair("n3", "n4"),), 1),
    ],
)
def test_a_slow_pair_that_no_finding_names_is_not_decided(subjects: tuple[Subject, ...], decided: int) -> None:
    slow = [
        PairVerdict(source=source, target=target, verdict=Verdict.SLOW, reason="80 %", latency_verdict=Verdict.SLOW)
        for source, target in (("n1", "n2"), ("n1", "n3"), ("n3", "n4"))
    ]
    fabric = Fabric(leaf_of={"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf3"}, source="")
    findings = [
        Finding(
            kind=FindingKind.SLOW_LINK,
            subject=one,
            verdict=Verdict.SLOW,
            statement="",
            remedy="",
            pairs=("n3>n4",) if one.kind is SubjectKind.PAIR else (),
        )
        for one in subjects
    ]
    left = without_unnamed(slow, findings, fabric)
    assert sum(one.verdict is Verdict.SLOW for one in left) == decided
    assert {one.verdict for one in left} <= {Verdict.SLOW, Verdict.INCONCLUSIVE}
    assert all(one.latency_verdict is one.verdict for one in left)
