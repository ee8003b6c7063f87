"""Planted bandwidth faults are named, each with its direction, and nothing else is."""

import msgspec
import pytest
from msgspec.structs import replace

from seatrial.commands.check.headline import headline
from seatrial.commands.check.judge import judge, judge_nodes
from seatrial.model.errors import ExitCode
from seatrial.model.judgement import Judgement
from seatrial.model.measurement import Phase
from seatrial.model.subject import Direction, node, pair, uplink
from seatrial.model.verdict import Finding, FindingKind, Verdict
from tests.support.builders import BOTH, HEALTHY, Cluster, info_of, leaves, names, sail, slow_once, slow_part

OUT, IN = Direction.OUT, Direction.IN


def the_finding(judgement: Judgement) -> Finding:
    assert len(judgement.findings) == 1, [one.statement for one in judgement.findings]
    return judgement.findings[0]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("megabits", [1000, None])
def test_a_healthy_cluster_has_no_finding_whatever_the_noise_does(count: int, megabits: int | None) -> None:
    """Two nodes are not peers of each other: without a limit they are compared with nothing."""
    compared = count > 2 or megabits is not None
    for seed in range(5):
        judgement = judge(sail(Cluster(nodes=names(count), seed=seed, megabits=megabits, noise=0.01)))
        assert judgement.findings == ()
        assert judgement.verdict is (Verdict.PASS if compared else Verdict.MEASURED)
        assert judgement.exit_code is ExitCode.PASS
        assert len(judgement.pairs) == count * (count - 1)
        assert len(judgement.nodes) == count


@pytest.mark.parametrize("count", [3, 4, 5, 8])
@pytest.mark.parametrize(
    ("ways", "direction"), [(BOTH, Direction.BOTH), ((OUT,), Direction.OUT), ((IN,), Direction.IN)]
)
def test_one_node_at_60_percent(count: int, ways: tuple[Direction, ...], direction: Direction) -> None:
    for seed in range(2):
        cluster = Cluster(nodes=names(count), parts=slow_part("node", "n3", 0.6, ways), seed=seed)
        judgement = judge(sail(cluster))
        finding = the_finding(judgement)
        assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n3"))
        assert (finding.verdict, finding.direction) == (Verdict.SLOW, direction)
        assert finding.ambiguous_with == ()
        assert finding.measured is not None
        assert finding.measured.value == pytest.approx(0.6 * HEALTHY, rel=0.02)
        assert judgement.exit_code is ExitCode.FINDINGS
        assert {one.node for one in judgement.nodes if one.verdict is not Verdict.PASS} == {"n3"}
        slow = {one.source if one.target == "n3" else one.target for one in judgement.pairs if one.verdict != "PASS"}
        assert slow == set(names(count)) - {"n3"}


@pytest.mark.parametrize(("source", "target"), [("n1", None), (None, "n1")])
@pytest.mark.parametrize("undecided", [3, 2])
def test_a_node_passes_only_if_a_pair_of_each_direction_passed(
    source: str | None, target: str | None, undecided: int
) -> None:
    """Three of three outgoing (or incoming) pairs of n1 are not decided, and just below that two of three."""
    recorded = sail(Cluster(nodes=names(4)))
    pairs = list(judge(recorded).pairs)
    open_places = [place for place, one in enumerate(pairs) if source == one.source or target == one.target]
    for place in open_places[:undecided]:
        pairs[place] = replace(pairs[place], verdict=Verdict.INCONCLUSIVE)
    verdicts = {one.node: one.verdict for one in judge_nodes(recorded, pairs, ())}
    expected = Verdict.INCONCLUSIVE if undecided == 3 else Verdict.PASS
    assert verdicts == {"n1": expected, "n2": Verdict.PASS, "n3": Verdict.PASS, "n4": Verdict.PASS}


def test_a_fact_that_the_slow_nodes_alone_have_is_named() -> None:
    """Two of sixteen nodes: one of 120 ways to choose them."""
    slow = {**slow_part("node", "n2", 0.6), **slow_part("node", "n9", 0.6)}
    recorded = sail(Cluster(nodes=names(16), parts=slow))
    facts = {
        name: replace(known, kernel="6.9.1" if name in ("n2", "n9") else "6.1.0")
        for name, known in recorded.facts.items()
    }
    findings = [one for one in judge(replace(recorded, facts=facts)).findings if one.kind is FindingKind.SLOW_LINK]
    sentence = "n2 and n9, and no other of 16 nodes, have kernel 6.9.1 (usually 6.1.0; p = 0.008)."
    assert [sentence in one.statement for one in findings] == [True, True]


def test_the_retest_is_the_proof_and_is_told() -> None:
    finding = the_finding(judge(sail(Cluster(nodes=names(6), parts=slow_part("node", "n2", 0.6)))))
    assert finding.measured is not None
    assert finding.measured.runs == 6
    assert finding.measured.confidence == 0.96875
    assert finding.experiments[0].outcome == "70.2 MB/s again, while control pairs beside it gave 117.0 MB/s"
    assert finding.limit == pytest.approx(117.67e6, rel=1e-3)
    assert finding.limit_name.startswith("n2 eth0: TCP payload at 1000 Mb/s")
    assert finding.peers == pytest.approx(HEALTHY, rel=0.01)


@pytest.mark.parametrize("count", [4, 5, 8])
@pytest.mark.parametrize("share", [0.2, 0.85, 0.93, 0.95])
def test_what_lacks_more_than_the_practical_effect_is_slow_and_its_share_is_right(count: int, share: float) -> None:
    cluster = Cluster(nodes=names(count), parts=slow_part("node", "n1", share), megabits=None)
    finding = the_finding(judge(sail(cluster)))
    assert (finding.subject, finding.verdict) == (node("n1"), Verdict.SLOW)
    assert finding.of_peers is not None
    assert finding.of_peers.low <= share * 1.003
    assert finding.of_peers.high >= share * 0.997


def test_at_the_practical_effect_nothing_passes() -> None:
    for seed in range(10):
        cluster = Cluster(nodes=names(4), parts=slow_part("node", "n1", 0.97), megabits=None, seed=seed, noise=0.002)
        judgement = judge(sail(cluster))
        assert judgement.exit_code is not ExitCode.PASS
        assert {one.subject for one in judgement.findings} <= {node("n1")}


def test_what_lacks_less_than_the_practical_effect_is_no_fault() -> None:
    for seed in range(5):
        cluster = Cluster(nodes=names(4), parts=slow_part("node", "n1", 0.985), megabits=None, seed=seed)
        assert judge(sail(cluster)).findings == ()


def test_with_two_leaves_their_uplinks_cannot_be_told_apart_and_both_are_named() -> None:
    cluster = Cluster(nodes=names(4), leaf_of=leaves(4, 2), parts=slow_part("uplink", "leaf2", 0.5))
    finding = the_finding(judge(sail(cluster)))
    assert finding.kind is FindingKind.SLOW_UPLINK
    assert {finding.subject, *finding.ambiguous_with} == {uplink("leaf1"), uplink("leaf2")}
    assert finding.direction is Direction.BOTH
    assert len(finding.pairs) == 8
    assert "cannot show which" in finding.statement


@pytest.mark.parametrize(
    ("ways", "direction"), [(BOTH, Direction.BOTH), ((OUT,), Direction.OUT), ((IN,), Direction.IN)]
)
def test_with_three_leaves_the_uplink_is_named_exactly(ways: tuple[Direction, ...], direction: Direction) -> None:
    cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 2), parts=slow_part("uplink", "leaf2", 0.5, ways))
    finding = the_finding(judge(sail(cluster)))
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_UPLINK, uplink("leaf2"))
    assert (finding.ambiguous_with, finding.direction) == ((), direction)


def test_one_way_of_an_uplink_between_two_leaves_is_the_other_way_of_the_other() -> None:
    cluster = Cluster(nodes=names(4), leaf_of=leaves(4, 2), parts=slow_part("uplink", "leaf1", 0.5, (OUT,)))
    finding = the_finding(judge(sail(cluster)))
    assert (finding.subject, finding.direction) == (uplink("leaf1"), Direction.OUT)
    assert finding.ambiguous_with == (uplink("leaf2"),)


def test_two_faults_at_once_are_two_findings() -> None:
    parts = slow_part("node", "n1", 0.6) | slow_part("uplink", "leaf3", 0.5)
    cluster = Cluster(nodes=names(9), leaf_of=leaves(9, 3), parts=parts)
    findings = judge(sail(cluster)).findings
    assert {(one.kind, one.subject) for one in findings} == {
        (FindingKind.SLOW_LINK, node("n1")),
        (FindingKind.SLOW_UPLINK, uplink("leaf3")),
    }


def test_two_slow_nodes_are_two_findings() -> None:
    parts = slow_part("node", "n1", 0.6) | slow_part("node", "n4", 0.7, (IN,))
    findings = judge(sail(Cluster(nodes=names(6), parts=parts))).findings
    assert {(one.subject, one.direction) for one in findings} == {
        (node("n1"), Direction.BOTH),
        (node("n4"), Direction.IN),
    }


@pytest.mark.parametrize("back", [False, True])
def test_a_single_bad_pair_blames_no_node(back: bool) -> None:
    pairs = {("n1", "n4"): 0.5} | ({("n4", "n1"): 0.5} if back else {})
    judgement = judge(sail(Cluster(nodes=names(5), pairs=pairs)))
    finding = the_finding(judgement)
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_PAIR, pair("n1", "n4"))
    assert finding.direction is (Direction.BOTH if back else Direction.OUT)
    assert {one.verdict for one in judgement.nodes} == {Verdict.PASS}


@pytest.mark.parametrize("ways", [BOTH, (OUT,)])
def test_of_two_nodes_alone_neither_can_be_named_alone(ways: tuple[Direction, ...]) -> None:
    cluster = Cluster(nodes=names(2), parts=slow_part("node", "n1", 0.6, ways))
    judgement = judge(sail(cluster))
    finding = the_finding(judgement)
    assert {finding.subject, *finding.ambiguous_with} == {node("n1"), node("n2")}
    assert judgement.exit_code is ExitCode.FINDINGS
    assert Verdict.PASS not in {one.verdict for one in judgement.nodes}


def test_a_fabric_that_is_slow_all_over_is_found_by_its_limit() -> None:
    judgement = judge(sail(Cluster(nodes=names(5), everything=0.6)))
    finding = the_finding(judgement)
    assert (finding.kind, finding.verdict) == (FindingKind.SLOW_FABRIC, Verdict.SLOW)
    assert finding.subject.text == "fabric:all"
    assert judgement.exit_code is ExitCode.FINDINGS


def test_without_a_limit_it_passes_and_the_note_says_what_was_not_seen() -> None:
    judgement = judge(sail(Cluster(nodes=names(5), everything=0.6, megabits=None)))
    assert judgement.findings == ()
    assert judgement.verdict is Verdict.PASS
    assert any("No limit is known for any pair" in note and "speed is unknown" in note for note in judgement.notes)
    assert any("uniformly slow would not be detected" in note for note in judgement.notes)


def test_a_slow_node_in_a_slow_fabric_is_not_lost_in_it() -> None:
    cluster = Cluster(nodes=names(6), everything=0.9, parts=slow_part("node", "n2", 0.5))
    assert the_finding(judge(sail(cluster))).subject == node("n2")


def test_faster_than_physics_is_invalid_and_never_excellent() -> None:
    judgement = judge(sail(Cluster(nodes=names(4), everything=1.5)))
    assert judgement.verdict is Verdict.INVALID
    assert {one.kind for one in judgement.findings} == {FindingKind.FASTER_THAN_PHYSICS}
    assert len(judgement.findings) == 12
    assert judgement.exit_code is ExitCode.INCOMPLETE


@pytest.mark.parametrize("count", [3, 4, 6])
def test_one_impossible_pair_does_not_make_its_peers_slow(count: int) -> None:
    fast = {("n1", "n2"): 8.0, ("n2", "n1"): 8.0}
    judgement = judge(sail(Cluster(nodes=names(count), pairs=fast)))
    assert {(one.kind, one.subject) for one in judgement.findings} == {
        (FindingKind.FASTER_THAN_PHYSICS, pair("n1", "n2")),
        (FindingKind.FASTER_THAN_PHYSICS, pair("n2", "n1")),
    }
    assert judgement.exit_code is ExitCode.INCOMPLETE


def test_no_node_is_called_good_by_numbers_that_cannot_be_trusted() -> None:
    judgement = judge(sail(Cluster(nodes=names(4), everything=1.5)))
    assert Verdict.PASS not in {one.verdict for one in judgement.nodes}


def test_a_real_fault_beside_an_impossible_number_is_still_a_finding() -> None:
    cluster = Cluster(nodes=names(6), pairs={("n1", "n2"): 3.0}, parts=slow_part("node", "n6", 0.6))
    judgement = judge(sail(cluster))
    assert {one.subject for one in judgement.findings} == {pair("n1", "n2"), node("n6")}
    assert judgement.exit_code is ExitCode.FINDINGS


def test_equal_values_do_no_harm() -> None:
    healthy = judge(sail(Cluster(nodes=names(4), noise=0.0)))
    assert (healthy.findings, healthy.verdict) == ((), Verdict.PASS)
    sick = judge(sail(Cluster(nodes=names(4), noise=0.0, parts=slow_part("node", "n2", 0.6))))
    assert the_finding(sick).subject == node("n2")


def test_slow_once_and_good_again_is_a_note_and_no_finding() -> None:
    judgement = judge(sail(Cluster(nodes=names(4), mood=slow_once)))
    assert judgement.findings == ()
    assert judgement.exit_code is ExitCode.PASS
    noted = [note for note in judgement.notes if "was slow once" in note]
    assert noted
    assert all("contention, no fault" in note for note in noted)


def test_what_the_retest_left_out_is_neither_good_nor_a_fault_of_its_own() -> None:
    judgement = judge(sail(Cluster(nodes=names(6), mood=slow_once), retest_all=False))
    assert judgement.findings == ()
    undecided = [one for one in judgement.pairs if one.verdict is Verdict.INCONCLUSIVE]
    assert len(undecided) == 6
    assert all("n2" in (one.source, one.target) and not one.retested for one in undecided)
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert any("are not decided" in note and "not measured again" in note for note in judgement.notes)


def test_a_pair_with_a_fault_of_its_own_under_a_disturbed_node_is_found() -> None:
    for seed in range(4):
        cluster = Cluster(nodes=names(6), mood=slow_once, pairs={("n2", "n5"): 0.5}, seed=seed)
        finding = the_finding(judge(sail(cluster)))
        assert (finding.kind, finding.subject) == (FindingKind.SLOW_PAIR, pair("n2", "n5"))


def test_a_confirmed_way_out_does_not_convict_the_way_in() -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        return 0.6 if pair[0] == "n2" or (phase is Phase.SURVEY and pair[1] == "n2") else 1.0

    finding = the_finding(judge(sail(Cluster(nodes=names(6), mood=mood))))
    assert (finding.subject, finding.direction) == (node("n2"), OUT)


def test_a_retest_is_judged_by_its_runs_and_never_by_its_best() -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        bad = phase is Phase.SURVEY or repetition != 3
        return 0.5 if "n2" in pair and bad else 1.0

    finding = the_finding(judge(sail(Cluster(nodes=names(6), mood=mood))))
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n2"))


def test_good_and_bad_in_turn_is_unstable() -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        return 0.4 if "n2" in pair and (phase is Phase.SURVEY or repetition % 2) else 1.0

    judgement = judge(sail(Cluster(nodes=names(6), mood=mood)))
    finding = the_finding(judgement)
    assert (finding.kind, finding.subject) == (FindingKind.UNSTABLE_LINK, node("n2"))
    assert finding.verdict is Verdict.UNSTABLE
    assert judgement.exit_code is ExitCode.FINDINGS


def test_pairs_of_all_nodes_that_vary_name_no_node() -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        neighbours = abs(int(pair[0][1:]) - int(pair[1][1:])) == 1
        return 0.4 if neighbours and (phase is Phase.SURVEY or repetition % 2) else 1.0

    judgement = judge(sail(Cluster(nodes=names(8), mood=mood)))
    assert judgement.findings == ()
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert any("several levels" in note for note in judgement.notes)


def test_a_suspect_that_was_not_measured_again_is_no_finding_but_is_said() -> None:
    recorded = sail(Cluster(nodes=names(4), parts=slow_part("node", "n1", 0.5)), retest=False)
    judgement = judge(recorded)
    assert judgement.findings == ()
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert [note for note in judgement.notes if "not measured again: the link of node n1" in note]
    touching = {pair.verdict for pair in judgement.pairs if "n1" in (pair.source, pair.target)}
    assert touching == {Verdict.INCONCLUSIVE}


def test_a_pass_says_what_it_would_have_seen() -> None:
    for noise, most in ((0.001, 0.035), (0.03, 0.10)):
        judgement = judge(sail(Cluster(nodes=names(8), noise=noise)))
        power = next(one for one in judgement.powers if one.metric == "bandwidth_bytes_per_s")
        assert power.enough
        assert power.effect_ratio < power.detectable_ratio < most


def test_where_noise_would_have_hidden_a_tenth_nothing_passes() -> None:
    judgement = judge(sail(Cluster(nodes=names(4), noise=0.3, seed=3)))
    assert judgement.findings == ()
    assert not all(power.enough for power in judgement.powers)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert any("would not be detected, so nothing passes" in note for note in judgement.notes)
    passed = tuple(one for one in judgement.pairs if one.verdict is Verdict.PASS)
    said = headline(info_of(Cluster(nodes=names(4))), msgspec.structs.replace(judgement, pairs=passed))
    assert said.what == "no finding on 4 nodes, but noise would hide a node that is 10 % slow"


def test_the_averages_name_a_node_that_no_pair_shows() -> None:
    for seed in range(3):
        cluster = Cluster(nodes=names(16), parts=slow_part("node", "n3", 0.9), noise=0.08, megabits=None, seed=seed)
        assert [one.subject for one in judge(sail(cluster)).findings] == [node("n3")]


def test_the_other_direction_of_a_slow_part_is_slow_if_its_runs_do_not_refute_it() -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        if phase is not Phase.RETEST:
            return 0.95 if "n1" in pair else 1.0
        return {"n1": 0.96}.get(
            pair[0], 0.972 if pair[1] == "n1" and repetition % 2 else 0.968 if pair[1] == "n1" else 1.0
        )

    finding = the_finding(judge(sail(Cluster(nodes=names(5), mood=mood, megabits=None, noise=0.001))))
    assert (finding.subject, finding.direction) == (node("n1"), Direction.BOTH)
