"""Latency: two distances are no fault, a late node is, and lost packets are told from slowness."""

import random
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import run_check
from seatrial.model.errors import ExitCode
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.judgement import Doubt
from seatrial.model.measurement import Kernel, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import SubjectKind, node
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, leaves, names, sail, slow_part
from tests.support.scripted import ScriptedLauncher


def test_two_distances_are_no_fault() -> None:
    for seed in range(5):
        cluster = Cluster(nodes=names(8), leaf_of=leaves(8, 2), near_s=10e-6, far_s=60e-6, seed=seed)
        judgement = judge(sail(cluster))
        assert judgement.findings == ()
        assert judgement.verdict is Verdict.PASS


def test_two_distances_are_no_fault_where_no_topology_is_known() -> None:
    recorded = sail(Cluster(nodes=names(8), leaf_of=leaves(8, 4), near_s=10e-6, far_s=25e-6))
    blind = msgspec.structs.replace(recorded.info, fabric=NO_FABRIC)
    assert judge(msgspec.structs.replace(recorded, info=blind)).findings == ()


@pytest.mark.parametrize("count", [3, 4, 7])
def test_a_late_node_is_named(count: int) -> None:
    judgement = judge(sail(Cluster(nodes=names(count), late={"n2": 3.0})))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.HIGH_LATENCY, node("n2"))]
    assert judgement.findings[0].measured is not None
    assert judgement.findings[0].measured.value == pytest.approx(60e-6, rel=0.02)
    assert judgement.findings[0].peers == pytest.approx(20e-6, rel=0.02)
    assert judgement.exit_code is ExitCode.FINDINGS


def test_a_late_node_is_named_across_two_distances() -> None:
    cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 2), near_s=10e-6, far_s=30e-6, late={"n5": 4.0})
    assert [one.subject for one in judge(sail(cluster)).findings] == [node("n5")]


@pytest.mark.parametrize(
    ("near_s", "late", "named"), [(1e-6, 1.2, 0), (1e-6, 1.5, 1), (20e-6, 1.05, 0), (20e-6, 1.15, 1)]
)
def test_late_is_ten_percent_and_a_third_of_a_microsecond(near_s: float, late: float, named: int) -> None:
    for seed in range(2):
        cluster = Cluster(nodes=names(6), near_s=near_s, far_s=near_s, late={"n2": late}, seed=seed)
        assert [one.subject for one in judge(sail(cluster)).findings] == [node("n2")] * named


def test_where_nodes_share_a_kernel_a_few_microseconds_are_its_schedulers() -> None:
    cluster = Cluster(nodes=names(4), near_s=5e-6, far_s=5e-6, late={"n2": 1.8}, boot_id="one")
    assert judge(sail(cluster)).findings == ()


def test_no_bandwidth_is_blamed_for_latency() -> None:
    judgement = judge(sail(Cluster(nodes=names(4), late={"n2": 3.0}, parts=slow_part("node", "n4", 0.5))))
    assert {(one.kind, one.subject) for one in judgement.findings} == {
        (FindingKind.HIGH_LATENCY, node("n2")),
        (FindingKind.SLOW_LINK, node("n4")),
    }


@pytest.mark.parametrize("count", [3, 4, 8])
@pytest.mark.parametrize("probability", [0.02, 0.1])
def test_lost_packets_are_packet_loss_and_no_slow_link_beside_it(count: int, probability: float) -> None:
    cluster = Cluster(nodes=names(count), loss={"n2": probability}, parts=slow_part("node", "n2", 0.6))
    judgement = judge(sail(cluster))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.PACKET_LOSS, node("n2"))]
    assert judgement.findings[0].ambiguous_with == ()
    assert judgement.exit_code is ExitCode.FINDINGS


@pytest.mark.parametrize("since", [True, False])
def test_only_what_was_measured_since_clears_a_node_that_began_to_lose_packets(*, since: bool) -> None:
    """One of its pairs was measured before in a recorded run, and 419 round trips of the others stalled."""
    good = [one for one in sail(Cluster(nodes=names(6))).measurements if {*one.pair} == {"n2", "n6"}]
    recorded = sail(Cluster(nodes=names(6), loss={"n2": 0.1}))
    lossy = [one for one in recorded.measurements if {*one.pair} != {"n2", "n6"}]
    measured = msgspec.structs.replace(recorded, measurements=tuple((*lossy, *good) if since else (*good, *lossy)))
    named = {(one.kind, one.subject) for one in judge(measured).findings}
    assert ((FindingKind.PACKET_LOSS, node("n2")) in named) is not since


def test_loss_so_heavy_that_even_the_median_stalls_is_not_called_latency() -> None:
    judgement = judge(sail(Cluster(nodes=names(5), loss={"n4": 0.7})))
    assert [(one.kind, one.subject) for one in judgement.findings] == [(FindingKind.PACKET_LOSS, node("n4"))]


def test_loss_at_one_node_and_a_slow_link_at_another_are_two_findings() -> None:
    cluster = Cluster(nodes=names(6), loss={"n1": 0.05}, parts=slow_part("node", "n5", 0.6))
    assert {(one.kind, one.subject) for one in judge(sail(cluster)).findings} == {
        (FindingKind.PACKET_LOSS, node("n1")),
        (FindingKind.SLOW_LINK, node("n5")),
    }


def test_round_trips_that_stall_are_counted() -> None:
    finding = judge(sail(Cluster(nodes=names(3), loss={"n1": 1.0}))).findings[0]
    assert finding.kind is FindingKind.PACKET_LOSS
    assert "(100 %)" in finding.statement


@pytest.mark.parametrize("waits", [0.0, 0.2])
def test_a_lossy_node_is_named_beside_short_waits(waits: float) -> None:
    cluster = Cluster(nodes=names(6), loss={"n5": 0.002}, waits=dict.fromkeys(names(6), waits), seed=1)
    assert [(one.kind, one.subject) for one in judge(sail(cluster)).findings] == [(FindingKind.PACKET_LOSS, node("n5"))]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_stall_for_which_a_rank_had_no_processor_convicts_nobody_and_withholds_pass(seed: int) -> None:
    """As recorded beside eight programs: a round trip of 0.24 s in a round in which the ranks waited for 0.86 s."""
    judgement = judge(sail(Cluster(nodes=names(6), loss={"n5": 0.002}, waits=dict.fromkeys(names(6), 0.5), seed=seed)))
    assert not judgement.findings
    (withheld,) = judgement.withheld
    assert withheld.doubt is Doubt.STALLS_IN_WAITS
    assert "n5-n6" in withheld.subjects
    assert all("n5" in name for name in withheld.subjects)
    assert judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("waits", [0.5, 0.84])
def test_many_stalls_of_a_node_whose_ranks_wait_no_longer_than_others_are_lost_packets(waits: float, seed: int) -> None:
    """As recorded beside eight programs, with 3 % of loss: all ranks waited for 84 % of the time, and 270 round trips
    with the node stalled, and none without it. Its loss of bandwidth was named a slow link."""
    everywhere = dict.fromkeys(names(6), waits)
    lossy = judge(sail(Cluster(nodes=names(6), loss={"n5": 0.02}, waits=everywhere, seed=seed)))
    assert [(one.kind, one.subject) for one in lossy.findings] == [(FindingKind.PACKET_LOSS, node("n5"))]
    starved = judge(sail(Cluster(nodes=names(6), loss={"n5": 0.02}, waits={**everywhere, "n5": 0.98}, seed=seed)))
    assert FindingKind.PACKET_LOSS not in {one.kind for one in starved.findings}
    assert starved.verdict is not Verdict.PASS


@pytest.mark.parametrize("seed", [1, 2])
def test_waits_before_the_first_round_trip_do_not_excuse_lost_packets(seed: int) -> None:
    """As recorded: where a packet was lost on the way to the start, ranks waited for 1.4 times as long as all round
    trips took, which made their pair's waits five times as long as others'."""
    recorded = sail(Cluster(nodes=names(6), loss={"n5": 0.02}, waits=dict.fromkeys(names(6), 0.84), seed=seed))
    longer = [
        msgspec.structs.replace(one, waited_s=tuple(1.68 * wait for wait in one.waited_s))
        if "n5" in one.pair and one.shape.kernel is Kernel.PINGPONG and place % 2
        else one
        for place, one in enumerate(recorded.measurements)
    ]
    (finding,) = judge(msgspec.structs.replace(recorded, measurements=longer)).findings
    assert (finding.kind, finding.subject) == (FindingKind.PACKET_LOSS, node("n5"))


@pytest.mark.parametrize("seed", [1, 3])
def test_a_slow_part_whose_round_trips_are_late_is_measured_again_with_round_trips(seed: int, tmp_path: Path) -> None:
    """Of its 15 round trips that were late beside busy programs the survey cannot say whether packets were lost, and
    transfers alone made the loss a slow link."""
    waits, slow = dict.fromkeys(names(4), 0.84), slow_part("node", "n4", 0.7)
    cluster = Cluster(nodes=names(4), parts=slow, loss={"n4": 0.01}, waits=waits, noise=0.02, boot_id="one", seed=seed)
    settings = CheckSettings(archive=tmp_path, run="trial", round_timeout_s=0.5)
    (finding,) = run_check(settings, launcher=ScriptedLauncher(cluster)).judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.PACKET_LOSS, node("n4"))


def test_waits_without_a_stall_withhold_nothing() -> None:
    assert judge(sail(Cluster(nodes=names(6), waits=dict.fromkeys(names(6), 0.5)))).verdict is Verdict.PASS


def test_stalls_that_do_not_come_again_are_noted() -> None:
    """Both pairs stalled in the survey, and not in the four times as many round trips of the retest."""
    judgement = judge(sail(Cluster(nodes=names(6), loss={"n5": 0.002}, seed=2)))
    assert judgement.verdict is Verdict.PASS
    assert any("n3-n5, n5-n6" in note for note in judgement.notes)


def test_waits_do_not_excuse_all_stalls_of_a_lossy_node() -> None:
    cluster = Cluster(nodes=names(6), loss={"n5": 0.1}, waits=dict.fromkeys(names(6), 0.2))
    assert [one.subject for one in judge(sail(cluster)).findings if one.kind is FindingKind.PACKET_LOSS] == [node("n5")]


class LatePairs(Cluster):
    """n2 and n5 reach each other late, and all others in time."""

    def _times(self, wanted: Round, pair: tuple[str, str], draw: random.Random) -> list[float]:
        slower = 4 if set(pair) == {"n2", "n5"} and wanted.shape.kernel is Kernel.PINGPONG else 1
        return [slower * time_s for time_s in super()._times(wanted, pair, draw)]


@pytest.mark.parametrize("count", [6, 12])
def test_a_single_pair_far_later_than_its_peers_is_measured_again_and_named(count: int, tmp_path: Path) -> None:
    """A pair at 110 µs among others at 16 to 40 was taken for a longer way."""
    launcher = ScriptedLauncher(LatePairs(nodes=names(count)))
    outcome = run_check(CheckSettings(archive=tmp_path, run="trial", round_timeout_s=0.5), launcher=launcher)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject.kind) == (FindingKind.HIGH_LATENCY, SubjectKind.PAIR)
    assert set(finding.subject.name.split(">")) == {"n2", "n5"}
    assert "4.0 times" in finding.statement


@pytest.mark.parametrize(
    ("leaf", "why"), [("", "consistent with topology distance"), ("leaf1", "unexplained, since they share a leaf")]
)
def test_a_distance_explains_no_late_pairs_of_one_leaf(leaf: str, why: str) -> None:
    recorded = sail(Cluster(nodes=names(8), leaf_of=leaves(8, 4), near_s=10e-6, far_s=25e-6))
    fabric = msgspec.structs.replace(NO_FABRIC, leaf_of=dict.fromkeys(names(8), leaf) if leaf else {})
    info = msgspec.structs.replace(recorded.info, fabric=fabric)
    notes = judge(msgspec.structs.replace(recorded, info=info)).notes
    assert [note for note in notes if "not reported as a fault" in note and f": {why};" in note]
