"""Data that arrive wrong: the part that corrupts them is named, and their times are no evidence of speed."""

from collections.abc import Iterable

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.judgement.corrupt_data import (
    after_corruption,
    corrupt_flows,
    corruption_findings,
    corruption_reason,
    flows_of,
    sound,
)
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import Component
from seatrial.model.measurement import Corruption, Kernel, Measurement, Phase
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction, Subject, node, uplink
from seatrial.model.verdict import Finding, FindingKind, Verdict
from tests.support.builders import BOTH, Cluster, leaves, names, sail


def corrupting(kind: str, name: str, share: float = 1.0, ways: Iterable[Direction] = BOTH) -> dict[Component, float]:
    return {Component(kind=kind, name=name, direction=way): share for way in ways}


def found(recorded: RecordedRun) -> list[Finding]:
    return corruption_findings(recorded.measurements, recorded.fabric)


def named(recorded: RecordedRun) -> list[tuple[Subject, Direction]]:
    return [(one.subject, one.direction) for one in found(recorded)]


@pytest.mark.parametrize(
    ("ways", "direction", "words"),
    [
        ((Direction.OUT,), Direction.OUT, "Data that n3 sends arrive corrupted: "),
        ((Direction.IN,), Direction.IN, "Data arrive at n3 corrupted: "),
        (BOTH, Direction.BOTH, "Data are corrupted on their way to and from n3: "),
    ],
)
def test_a_node_is_named_by_what_it_corrupts(ways: tuple[Direction, ...], direction: Direction, words: str) -> None:
    (finding,) = found(sail(Cluster(nodes=names(8), corrupt=corrupting("node", "n3", ways=ways))))
    assert (finding.kind, finding.subject, finding.direction) == (FindingKind.DATA_CORRUPT, node("n3"), direction)
    assert finding.verdict is Verdict.INVALID
    assert finding.ambiguous_with == ()
    assert finding.statement.startswith(words)
    assert len(finding.pairs) == 7 * len(ways)
    assert "n3" in finding.remedy


@pytest.mark.parametrize("seed", range(20))
def test_a_node_is_named_though_many_measurements_are_clean(seed: int) -> None:
    cluster = Cluster(nodes=names(8), corrupt=corrupting("node", "n5", 0.3), seed=seed)
    assert [subject for subject, _ in named(sail(cluster))] == [node("n5")]


def test_two_nodes_are_named() -> None:
    parts = corrupting("node", "n2", ways=[Direction.OUT]) | corrupting("node", "n7", ways=[Direction.IN])
    recorded = sail(Cluster(nodes=names(8), corrupt=parts))
    assert set(named(recorded)) == {(node("n2"), Direction.OUT), (node("n7"), Direction.IN)}


def test_an_uplink_is_named() -> None:
    cluster = Cluster(nodes=names(9), leaf_of=leaves(9, 3), corrupt=corrupting("uplink", "leaf2"))
    assert named(sail(cluster)) == [(uplink("leaf2"), Direction.BOTH)]


def test_one_pair_alone_leaves_open_which_of_its_nodes_it_is() -> None:
    recorded = sail(Cluster(nodes=names(5)))
    recorded = with_wrong(recorded, ("n2", "n4"))
    (finding,) = found(recorded)
    assert {finding.subject, *finding.ambiguous_with} == {node("n2"), node("n4")}
    assert "n2 or n4 (these pairs cannot show which)" in finding.statement


def with_wrong(recorded: RecordedRun, way: tuple[str, str]) -> RecordedRun:
    """The same run, with one wrong byte in all messages of one ordered pair."""
    wrong = (Corruption(source=way[0], target=way[1], wrong_bytes=1, first_byte=9),)
    changed = [
        msgspec.structs.replace(one, errors=1, corruptions=wrong)
        if one.pair == way and one.shape.kernel is Kernel.ONEWAY
        else one
        for one in recorded.measurements
    ]
    return msgspec.structs.replace(recorded, measurements=tuple(changed))


def test_a_healthy_cluster_and_one_without_comparison_have_no_finding() -> None:
    healthy = sail(Cluster(nodes=names(4)))
    assert found(healthy) == []
    assert flows_of(healthy.measurements).keys() == {(a, b) for a in names(4) for b in names(4) if a != b}
    blind = tuple(msgspec.structs.replace(one, verified=0) for one in healthy.measurements)
    assert flows_of(blind) == {}


def test_pairs_are_invalid_and_the_exit_code_is_that_of_a_finding() -> None:
    recorded = sail(Cluster(nodes=names(5), corrupt=corrupting("node", "n3", ways=[Direction.OUT])))
    judgement = judge(recorded)
    wrong = {(one.source, one.target) for one in judgement.pairs if one.verdict is Verdict.INVALID}
    assert wrong == {("n3", other) for other in names(5) if other != "n3"}
    reasons = {one.reason for one in judgement.pairs if one.verdict is Verdict.INVALID}
    assert reasons == {"9 bytes arrived wrong in 3 of 3 measurements, first at byte 168 of a message of 1048576 B"}
    assert {one.kind for one in judgement.findings} == {FindingKind.DATA_CORRUPT}
    assert {one.node: one.verdict for one in judgement.nodes}["n3"] is Verdict.INVALID
    assert {one.verdict for one in judgement.nodes if one.node != "n3"} == {Verdict.PASS}
    assert judgement.exit_code is ExitCode.FINDINGS


def test_times_of_corrupted_data_are_no_evidence_of_speed() -> None:
    """A pair at a third of its speed is slow, unless its data arrived wrong: then its times mean nothing."""
    slow = Cluster(nodes=names(5), pairs={("n1", "n2"): 0.3})
    assert Verdict.SLOW in {one.verdict for one in judge(sail(slow)).pairs}
    judgement = judge(with_wrong(sail(slow), ("n1", "n2")))
    assert {one.verdict for one in judgement.pairs if (one.source, one.target) != ("n1", "n2")} == {Verdict.PASS}
    (one,) = [one for one in judgement.pairs if (one.source, one.target) == ("n1", "n2")]
    assert (one.verdict, one.bandwidth_bytes_per_s) == (Verdict.INVALID, None)


def test_commands_on_one_pair_leave_such_measurements_out_and_say_so() -> None:
    recorded = sail(Cluster(nodes=names(2), corrupt=corrupting("node", "n2", ways=[Direction.OUT])))
    assert corruption_reason(recorded) == (
        "data arrived corrupted: from n2 to n1 9 bytes arrived wrong in 3 of 3 measurements, first at byte 168 of a "
        "message of 1048576 B"
    )
    assert after_corruption(recorded, Verdict.PASS, "fine") == (Verdict.INVALID, corruption_reason(recorded))
    left = sound(recorded)
    assert {one.pair for one in left.measurements if one.shape.kernel is Kernel.ONEWAY} == {("n1", "n2")}
    assert corruption_reason(left) == ""
    assert after_corruption(left, Verdict.PASS, "fine") == (Verdict.PASS, "fine")
    assert sound(left) is left


def test_the_variant_in_which_data_were_corrupted_is_named() -> None:
    recorded = sail(Cluster(nodes=names(2), corrupt=corrupting("node", "n2", ways=[Direction.OUT])))
    variants = tuple(msgspec.structs.replace(one, variant="eth1", phase=Phase.VARIANT) for one in recorded.measurements)
    reason = corruption_reason(msgspec.structs.replace(recorded, measurements=variants))
    assert reason.startswith("data arrived corrupted: eth1, from n2 to n1 ")


def test_both_directions_of_a_kernel_that_answers_count() -> None:
    (one, *_) = sail(Cluster(nodes=names(2))).measurements
    answered = one_with(one, Kernel.PINGPONG, [("n2", "n1")])
    assert corrupt_flows([answered]).keys() == {("n2", "n1")}
    assert flows_of([answered])["n1", "n2"].corrupt == 0


def one_with(one: Measurement, kernel: Kernel, ways: list[tuple[str, str]]) -> Measurement:
    shape = msgspec.structs.replace(one.shape, kernel=kernel, message_bytes=1 << 20)
    wrong = tuple(Corruption(source=a, target=b, wrong_bytes=1, first_byte=0) for a, b in ways)
    return msgspec.structs.replace(one, shape=shape, verified=2, errors=len(wrong), corruptions=wrong)
