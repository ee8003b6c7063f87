"""What is judged of rounds under load: an uplink below its peers is named, a shared fabric is described."""

import pytest

from seatrial.commands.check.leaf_comparison import LeafRate, compared, expected, lacks, shares
from seatrial.commands.check.leaf_loads import Key, Load
from seatrial.model.measurement import Phase
from seatrial.model.subject import Direction
from seatrial.model.verdict import FindingKind
from tests.support.shared_links import NODE, Shared, even, judged, sailed, sizes

BOTH = ("out", "in")


def slow_leaf(leaf: str, bytes_per_s: float, ways: tuple[str, ...] = BOTH) -> dict[tuple[str, str], float]:
    return {(leaf, way): bytes_per_s for way in ways}


@pytest.mark.parametrize("unfair", [1.0, 3.0])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_trunk_below_its_peers_is_named_whoever_gets_more_of_it(unfair: float, noise: float, share: float) -> None:
    cluster = Shared(
        leaf_of=even(4, 4), trunk=4 * NODE, slow=slow_leaf("leaf2", 4 * NODE * share), unfair=unfair, noise=noise
    )
    (finding,) = judged(cluster).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_UPLINK, "uplink:leaf2")
    assert finding.direction is Direction.BOTH
    assert finding.ambiguous_with == ()
    assert finding.measured is not None
    assert finding.measured.runs == 6
    assert finding.measured.value == pytest.approx(4 * NODE * share, rel=0.03)
    assert all(one.confirmed for one in finding.experiments)


def test_without_rounds_under_load_the_same_trunk_is_not_seen() -> None:
    cluster = Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow_leaf("leaf2", 2 * NODE))
    recorded, _ = sailed(cluster, rounds_in_time=0)
    assert all(one.phase is Phase.SURVEY for one in recorded.measurements)
    assert judged(cluster, rounds_in_time=0).findings == ()
    assert judged(cluster, rounds_in_time=0).loaded is None


@pytest.mark.parametrize("way", ["out", "in"])
def test_one_way_alone_is_named_as_such(way: str) -> None:
    (finding,) = judged(
        Shared(leaf_of=even(3, 2), trunk=2 * NODE, slow=slow_leaf("leaf2", NODE, (way,)), noise=0.01)
    ).findings
    assert (finding.subject.text, finding.direction.value) == ("uplink:leaf2", way)


@pytest.mark.parametrize(("leaf_count", "over"), [(3, 1), (4, 2), (5, 4), (8, 2), (12, 4)])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_over_subscription_of_all_alike_is_a_number_and_no_finding(leaf_count: int, over: int, noise: float) -> None:
    verdict = judged(Shared(leaf_of=even(leaf_count, 4), trunk=4 * NODE / over, noise=noise))
    assert verdict.findings == ()
    assert verdict.loaded is not None
    assert verdict.loaded.oversubscription == pytest.approx(over, rel=0.05)


@pytest.mark.parametrize(("leaf_count", "noise"), [(5, 0.05), (8, 0.0), (12, 0.05)])
def test_of_many_leaves_the_partners_of_the_slow_one_are_not_named(leaf_count: int, noise: float) -> None:
    cluster = Shared(leaf_of=even(leaf_count, 4), trunk=2 * NODE, slow=slow_leaf("leaf3", NODE, ("out",)), noise=noise)
    verdict = judged(cluster)
    assert [(one.subject.text, one.direction.value) for one in verdict.findings] == [("uplink:leaf3", "out")]
    assert verdict.notes == ()


def test_two_slow_trunks_are_both_named() -> None:
    slow = slow_leaf("leaf1", NODE) | slow_leaf("leaf4", 1.6 * NODE)
    verdict = judged(Shared(leaf_of=even(8, 4), trunk=2 * NODE, slow=slow, noise=0.01))
    assert [one.subject.text for one in verdict.findings] == ["uplink:leaf1", "uplink:leaf4"]


def test_with_two_leaves_the_other_uplink_may_be_the_slow_one() -> None:
    cluster = Shared(leaf_of=even(2, 4), trunk=4 * NODE, slow=slow_leaf("leaf1", 2 * NODE, ("out",)), noise=0.01)
    (finding,) = judged(cluster).findings
    assert finding.subject.text == "uplink:leaf1"
    assert [one.text for one in finding.ambiguous_with] == ["uplink:leaf2"]
    assert "or the uplink of leaf2" in finding.statement


def test_with_two_leaves_alike_there_is_nothing_to_compare() -> None:
    verdict = judged(Shared(leaf_of=even(2, 4), trunk=NODE, noise=0.01))
    assert verdict.findings == ()
    assert verdict.loaded is not None
    assert verdict.loaded.oversubscription == pytest.approx(4, rel=0.03)


def test_a_slow_node_is_left_out_and_its_uplink_not_blamed() -> None:
    """It is named by its single pairs; with it, its leaf would carry 15 % less than others."""
    slow = {("n5", "out"): 0.4 * NODE, ("n5", "in"): 0.4 * NODE}
    _, bench = sailed(Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow, noise=0.01))
    assert all("n5" not in pair for one in bench.rounds for pair in one.pairs)
    verdict = judged(Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow, noise=0.01))
    assert verdict.findings == ()
    assert verdict.loaded is not None
    assert {one.leaf: one.nodes for one in verdict.loaded.leaves} == {"leaf1": 4, "leaf2": 3, "leaf3": 4, "leaf4": 4}


def test_leaves_of_unequal_sizes_are_compared_by_what_their_nodes_can_send() -> None:
    """Non-blocking for 2, over-subscribed 2:1 for 8: neither is a fault."""
    assert judged(Shared(leaf_of=sizes(8, 8, 4, 2), trunk=4 * NODE, noise=0.01)).findings == ()
    assert judged(Shared(leaf_of=sizes(8, 2, 2, 2), trunk=4 * NODE, noise=0.01)).findings == ()


def test_a_slow_trunk_among_leaves_of_unequal_sizes() -> None:
    cluster = Shared(leaf_of=sizes(8, 8, 8, 4), trunk=8 * NODE, slow=slow_leaf("leaf1", 4 * NODE), noise=0.01)
    assert [one.subject.text for one in judged(cluster).findings] == ["uplink:leaf1"]
    cluster = Shared(leaf_of=sizes(8, 8, 8, 4), trunk=8 * NODE, slow=slow_leaf("leaf4", 2 * NODE), noise=0.01)
    assert [one.subject.text for one in judged(cluster).findings] == ["uplink:leaf4"]


def test_a_loss_below_the_practical_effect_is_no_finding() -> None:
    cluster = Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow_leaf("leaf2", 4 * NODE * 0.98), noise=0.01)
    assert judged(cluster).findings == ()


def test_healthy_clusters_with_noise_are_silent() -> None:
    for seed in range(8):
        for noise in (0.01, 0.05):
            cluster = Shared(leaf_of=even(4, 3), trunk=1.5 * NODE, noise=noise, seed=seed)
            assert judged(cluster).findings == ()


def test_what_was_not_measured_again_is_said() -> None:
    cluster = Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow_leaf("leaf2", 2 * NODE))
    verdict = judged(cluster, rounds_in_time=20)
    assert verdict.findings == ()
    assert len(verdict.notes) == 2
    assert verdict.loaded is not None
    assert verdict.loaded.undecided == ("leaf2",)
    assert "uplink of leaf2 carried 50 %" in verdict.notes[0]
    assert "--budget" in verdict.notes[0]


def test_an_uplink_that_other_jobs_share_for_some_seconds_is_not_named() -> None:
    """One burst fills its first look; the second one, of 24 rounds with those of three other leaves, finds it good."""
    slow = slow_leaf("leaf2", 2 * NODE, ("out",))
    rounds = len(sailed(Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow, noise=0.01))[1].rounds)
    cluster = Shared(leaf_of=even(4, 4), trunk=4 * NODE, slow=slow, noise=0.01, until=rounds - 24)
    verdict = judged(cluster)
    assert verdict.findings == ()
    assert verdict.loaded is not None
    assert verdict.loaded.undecided == ("leaf2",)
    (note,) = verdict.notes
    assert "carried 50 % of what its peers did" in note
    assert "100 % in another 6: not decided, traffic of other jobs" in note


def test_the_bisection_of_nodes_without_known_leaves() -> None:
    """Nothing is known of leaf2, so its trunk shows in the bisection alone."""
    verdict = judged(Shared(leaf_of=dict.fromkeys(even(1, 8), "leaf1"), trunk=NODE))
    assert verdict.loaded is not None
    assert verdict.loaded.leaves == ()
    assert verdict.loaded.bisection_pairs == 4
    assert verdict.loaded.bisection_share == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(("over", "share"), [(1, 1.0), (2, 0.5), (4, 0.25)])
def test_the_bisection_is_what_half_of_the_nodes_send_to_the_other_half(over: int, share: float) -> None:
    loaded = judged(Shared(leaf_of=even(8, 4), trunk=4 * NODE / over)).loaded
    assert loaded is not None
    assert loaded.bisection_pairs == 16
    assert loaded.bisection_bytes_per_s is not None
    assert loaded.bisection_bytes_per_s.value == pytest.approx(16 * NODE * share, rel=0.02)
    assert loaded.bisection_share == pytest.approx(share, rel=0.02)


def test_fewer_than_four_nodes_are_not_loaded() -> None:
    _, bench = sailed(Shared(leaf_of=even(3, 1), trunk=NODE))
    assert bench.rounds == []
    assert judged(Shared(leaf_of=even(3, 1), trunk=NODE)).loaded is None


# What one leaf is expected to carry by what others do.


def key(leaf: str) -> Key:
    return leaf, Direction.IN


def rates(**leaves: tuple[float, int, int]) -> dict[Key, LeafRate]:
    """`leaves`: bytes per second, nodes that took part, and nodes that did not; each node sends 48.5."""
    return {
        key(leaf): LeafRate(bytes_per_s=rate, offered_bytes_per_s=48.5 * nodes, nodes=nodes, absent=absent)
        for leaf, (rate, nodes, absent) in leaves.items()
    }


def test_a_leaf_with_fewer_nodes_may_use_fewer_cables() -> None:
    """From a simulated fabric, 10 nodes and 5 cables a leaf: 3 nodes left out, and a cable without a destination."""
    whole = {"leaf2": (242.5, 10, 0), "leaf3": (242.5, 10, 0)}
    assert expected(key("leaf1"), rates(leaf1=(194.0, 7, 3), **whole)) == 194.0
    assert expected(key("leaf1"), rates(leaf1=(100.0, 7, 3), **whole)) == pytest.approx(0.97 * 0.7 * 242.5)
    assert expected(key("leaf1"), rates(leaf1=(194.0, 10, 0), **whole)) == 242.5


def test_a_leaf_with_fewer_nodes_may_use_fewer_cables_than_another_of_which_as_many_took_part() -> None:
    """From a simulated fabric, 10 nodes and 5 cables a leaf: both that leaf1 left out shared a cable; leaf9's did not.

    It was named as an uplink that is 3.6 % slow.
    """
    whole = {"leaf1": (242.5, 10, 0), "leaf2": (242.5, 10, 0), "leaf4": (242.3, 9, 1)}
    both = rates(leaf7=(194.1, 8, 2), leaf9=(242.5, 8, 2), **whole)
    assert expected(key("leaf7"), both) == pytest.approx(194.1)
    assert expected(key("leaf9"), both) == pytest.approx(242.4, abs=0.2)
    slow = rates(leaf7=(170.0, 8, 2), leaf9=(242.5, 8, 2), **whole)
    assert expected(key("leaf7"), slow) == pytest.approx(0.97 * 0.8 * 242.5)


def test_one_absent_node_of_two_that_share_a_cable_leaves_no_cable_idle() -> None:
    """So the leaf carries as much as others do, or its uplink is slow."""
    whole = {"leaf2": (242.5, 10, 0), "leaf3": (242.5, 10, 0)}
    alike = {"leaf4": (242.5, 9, 1), "leaf5": (242.5, 9, 1)}
    assert expected(key("leaf1"), rates(leaf1=(218.0, 9, 1), **alike)) == 242.5
    assert expected(key("leaf1"), rates(leaf1=(218.0, 8, 2), **whole)) == 218.0


def load(leaf: str, nodes: int, bytes_per_s: float, *, apart: bool, number: int = 0) -> Load:
    members = tuple(f"{leaf}-{number}" for number in range(nodes))
    return Load(leaf=leaf, way=Direction.IN, bytes_per_s=bytes_per_s, nodes=members, apart=apart, number=number)


def test_a_run_is_compared_with_those_of_the_same_minutes() -> None:
    """All leaves carry half as much in the second look; leaf3 was measured in the first one only."""
    both = ((0, 500.0), (100, 250.0))
    looks = {"leaf1": both, "leaf2": both, "leaf3": both[:1]}
    loads = {
        key(leaf): [
            load(leaf, 5, rate, apart=True, number=first + 3 * turn + place)
            for first, rate in its_looks
            for turn in range(6)
        ]
        for place, (leaf, its_looks) in enumerate(looks.items())
    }
    offered = dict.fromkeys(loads, 500.0)
    assert [leaf.ratio.value for leaf in compared(loads, offered, {})] == [1.0, 1.0, 1.0]
    assert [leaf.ratio.value for leaf in compared(loads, offered, {}, ago=1)] == [1.0, 1.0]


def test_a_leaf_of_which_more_nodes_took_part_later_is_judged_by_those_rounds() -> None:
    """Its first rounds do not count, so that it is in no comparison of first rounds."""
    later = {leaf: [load(leaf, 5, rate, apart=True)] * 6 for leaf, rate in (("leaf1", 300.0), ("leaf2", 500.0))}
    first = {leaf: [load(leaf, 5, 500.0, apart=False)] for leaf in ("leaf2", "leaf3", "leaf4")}
    leaves = sorted({*later, *first})
    found = {key(leaf): [*first.get(leaf, ()), *later.get(leaf, ())] for leaf in leaves}
    offered = dict.fromkeys(found, 500.0)
    lack = lacks(shares(found, offered))
    assert key("leaf1") not in lack
    assert [leaf.key for leaf in compared(found, offered, lack) if leaf.slow(0.03)] == [key("leaf1")]
