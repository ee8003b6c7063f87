"""Several slow uplinks at once: each is named, or the run is no PASS. Static routes of a healthy fabric are silent."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.leaf_comparison import AGREE, LeafRatio, may_hide, slower_group
from seatrial.commands.check.uplink_verdicts import LoadedVerdict, judge_loaded
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial
from seatrial.locate.thresholds import EFFECT
from seatrial.model.judgement import Loaded
from seatrial.model.measurement import Estimate, Phase
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from tests.support.shared_links import NODE, Shared, even, judged, sailed, sizes


def with_slow(leaf_count: int, slow: int, share: float = 0.5, *, per_leaf: int = 4, ways: str = "out in") -> Shared:
    """The uplinks of the first leaves carry less than all of their nodes send."""
    trunk = per_leaf * NODE
    lower = {(f"leaf{number}", way): share * trunk for number in range(1, slow + 1) for way in ways.split()}
    return Shared(leaf_of=even(leaf_count, per_leaf), trunk=trunk, slow=lower, noise=0.01)


def first(count: int) -> set[str]:
    return {f"leaf{number}" for number in range(1, count + 1)}


def named(verdict: LoadedVerdict) -> set[str]:
    return {finding.subject.name for finding in verdict.findings}


def loaded(verdict: LoadedVerdict) -> Loaded:
    assert verdict.loaded is not None
    return verdict.loaded


@pytest.mark.parametrize(
    ("leaf_count", "slow", "share", "ways"),
    [
        (5, 2, 0.8, "out"),
        (5, 2, 0.8, "in"),
        (8, 3, 0.5, "out in"),
        (9, 4, 0.8, "in"),
        (12, 5, 0.5, "out"),
        (12, 5, 0.5, "out in"),
        (16, 7, 0.8, "out in"),
    ],
)
def test_of_fewer_than_half_each_slow_uplink_is_named(leaf_count: int, slow: int, share: float, ways: str) -> None:
    verdict = judged(with_slow(leaf_count, slow, share, ways=ways))
    assert named(verdict) == first(slow)
    assert loaded(verdict).undecided == ()


def test_more_slow_uplinks_than_are_measured_again_are_named_or_undecided() -> None:
    verdict = judged(with_slow(40, 16))
    assert len(named(verdict)) >= 6
    assert named(verdict) | {*loaded(verdict).undecided} == first(16)
    assert any("was not measured again" in note for note in verdict.notes)


@pytest.mark.parametrize(("leaf_count", "slow"), [(8, 4), (12, 6), (16, 8)])
def test_half_of_the_uplinks_is_never_a_pass(leaf_count: int, slow: int) -> None:
    verdict = judged(with_slow(leaf_count, slow))
    assert named(verdict) | {*loaded(verdict).undecided} == first(slow)


@pytest.mark.parametrize(("leaf_count", "slow"), [(6, 4), (8, 5), (8, 6), (12, 8), (16, 10)])
def test_more_than_half_are_one_of_two_groups_and_no_pass(leaf_count: int, slow: int) -> None:
    verdict = judged(with_slow(leaf_count, slow))
    assert named(verdict) == set()
    assert {*loaded(verdict).undecided} == first(slow)
    (note,) = verdict.notes
    assert f"those of {slow} of {leaf_count} leaves carry" in note
    assert "50 % of what the others do (" in note
    assert note.endswith("Compare the cables and ports of leaf1 with those of " + f"leaf{slow + 1}.")


@pytest.mark.parametrize(("over", "leaf_count"), [(1, 5), (2, 8), (4, 12), (1, 16)])
def test_uplinks_that_are_all_alike_leave_nothing_open(leaf_count: int, over: int) -> None:
    verdict = judged(Shared(leaf_of=even(leaf_count, 8), trunk=8 * NODE / over, noise=0.03))
    assert (named(verdict), loaded(verdict).undecided, verdict.notes) == (set(), (), ())


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, 0.03, 0.031), (0.01, 0.03, 0.06), (0.1, 0.06, 0.3)])
def test_what_would_have_been_found_follows_the_noise(noise: float, least: float, most: float) -> None:
    verdict = judged(Shared(leaf_of=even(4, 4), trunk=4 * NODE, noise=noise))
    line = loaded(verdict).detectable_ratio
    assert line is not None
    assert least <= line <= most
    lossy = Shared(
        leaf_of=even(4, 4), trunk=4 * NODE, noise=noise, slow={("leaf2", "out"): (1 - 1.1 * line) * 4 * NODE}
    )
    assert named(judged(lossy)) == {"leaf2"}


@pytest.mark.parametrize("leaf", ["leaf1", "leaf4"])
def test_a_large_leaf_has_partners_for_all_its_nodes_in_every_run(leaf: str) -> None:
    """Two leaves have 16 nodes together, and runs with fewer of its nodes would not count. Its uplink carries less than
    those of leaves with 8 nodes do: what it should carry for 20 nothing says."""
    leaf_of = sizes(20, 8, 8, 8, 8, 8, 6)
    slow = {(leaf, way): 5 * NODE for way in ("out", "in")}
    verdict = judged(Shared(leaf_of=leaf_of, trunk=20 * NODE, slow=slow, noise=0.01))
    assert (named(verdict), loaded(verdict).undecided) == ({leaf}, ())


def test_leaves_of_unequal_sizes_are_not_two_groups() -> None:
    """Where the uplinks limit nobody, large leaves carry twice as much as small ones."""
    verdict = judged(Shared(leaf_of=sizes(*[8, 4] * 5), trunk=8 * NODE, noise=0.02))
    assert (named(verdict), loaded(verdict).undecided) == (set(), ())


def test_a_leaf_of_which_no_round_was_complete_is_no_pass() -> None:
    recorded, _ = sailed(with_slow(4, 2))
    left = [one for one in recorded.measurements if not (one.phase is Phase.LOADED and "n5" in one.pair)]
    short = msgspec.structs.replace(recorded, measurements=tuple(left))
    verdict = judge_loaded(short, Assessor().assess(short)[0])
    assert "leaf2" in loaded(verdict).undecided
    assert "leaf2" not in {leaf.leaf for leaf in loaded(verdict).leaves}
    assert any("leaf2 under load: not decided, pairs of every round failed" in note for note in verdict.notes)


# What decides whether each leaf is measured alone, and what follows from it.


def shares_of(*values: float) -> dict[tuple[str, Direction], float]:
    return {
        (f"leaf{number}", way): value for way in (Direction.OUT, Direction.IN) for number, value in enumerate(values)
    }


@pytest.mark.parametrize(
    ("values", "lack", "hidden"),
    [
        ((1.0, 1.0, 1.0, 1.0, 0.9), 0.03, False),
        ((1.0, 1.0, 1.0, 1.2, 1.2), 0.03, True),
        ((1.0, 1.0, 1.0, 1.0, 1.2), 0.03, False),
        ((1.0, 1.0, 1.0, 1.0, 1.0), 0.2, True),
        ((0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 1.0), 0.03, True),
    ],
)
def test_leaves_are_measured_alone_where_a_slow_one_may_hide(
    values: tuple[float, ...], lack: float, hidden: bool
) -> None:
    of_peers = shares_of(*values)
    assert may_hide(of_peers, dict.fromkeys(of_peers, lack)) is hidden


@pytest.mark.parametrize(
    ("values", "slower"),
    [
        ((0.5, 0.5, 0.5, 1.0, 1.0), 3),
        ((0.5, 0.5, 0.51, 1.0), 0),
        ((0.5, 0.5, 1.0, 1.0, 1.0), 0),
        ((0.8, 0.85, 0.9, 0.95, 1.0, 1.05), 0),
        ((0.9, 0.9, 0.9, 1.0, 1.0), 0),
        ((0.84, 0.84, 0.84, 1.0, 1.0), 3),
        ((0.5, 0.7, 0.6, 1.0, 1.01), 0),
    ],
)
def test_half_or_more_are_a_group_where_the_step_is_wider_than_either_scatters(
    values: tuple[float, ...], slower: int
) -> None:
    assert len(slower_group(shares_of(*values))) == 2 * slower


def test_leaves_that_are_slow_one_way_only_are_no_group() -> None:
    """Cables that are missing or narrower are so both ways; streams that meet inside the fabric, one way."""
    of_peers = shares_of(0.5, 0.5, 0.5, 1.0, 1.0)
    assert slower_group(of_peers | {key: 1.0 for key in of_peers if key[1] is Direction.OUT}) == []


def look(*rates: float, expected: float = 1.0) -> LeafRatio:
    ratio = Estimate(value=0.9, low=0.7, high=1.1, confidence=0.99, runs=6, method="t")
    return LeafRatio(
        key=("leaf1", Direction.OUT),
        ratio=ratio,
        rates=rates,
        expected_bytes_per_s=expected,
        best_expected_bytes_per_s=expected,
        peers=(),
    )


def test_an_uplink_that_is_slow_with_the_same_partners_each_time_meets_other_streams() -> None:
    earlier = look(1.0, 0.5, 1.0, 0.5, 0.75, 0.75)
    assert look(0.99, 0.51, 1.0, 0.52, 0.74, 0.76).by_partners(earlier, EFFECT)
    assert not look(0.5, 1.0, 1.0, 0.5, 0.75, 0.75).by_partners(earlier, EFFECT), "comes and goes"
    assert not look(0.9, 0.9, 0.9, 0.9, 0.9, 0.9).by_partners(look(*[0.9] * 6), EFFECT), "slow with all"
    assert not look(0.9, 0.5, 0.9, 0.5, 0.75, 0.75).by_partners(earlier, EFFECT), "never as good as others"
    assert 0 < AGREE < 0.5


USUAL = (("fat-tree:50", True), ("fat-tree:70,oversubscription=2", False), ("dragonfly:60", True))
LARGER = ("fat-tree:84", "fat-tree:110,oversubscription=3", "fat-tree:300", "fat-tree:600,oversubscription=2",
          "fat-tree:1000", "fat-tree3:100", "dragonfly:100")  # fmt: skip
SERIES = [
    *((topology, not routed) for topology, routed in USUAL),
    *((topology, routed) for topology in LARGER for routed in (False, True)),
]


@pytest.mark.parametrize(
    ("topology", "routed"), [*USUAL, *(pytest.param(*case, marks=pytest.mark.series) for case in SERIES)]
)
def test_streams_that_meet_on_static_routes_of_a_healthy_fabric_are_no_slow_uplinks(
    topology: str, routed: bool, tmp_path: Path
) -> None:
    """In rounds with many at once its leaves carry between a half of what others do and twice as much.

    Healthy uplinks of the first four were named when all runs of a leaf had partners in the same order.
    """
    fabric = SimulatedFabric(parse_topology(topology))
    _, outcome = run_trial(fabric, TrialSettings(routed=routed), (), seed=2, archive=tmp_path, run="healthy")
    assert outcome.judgement.findings == ()
    assert outcome.judgement.verdict is Verdict.PASS
    assert outcome.judgement.loaded is not None
    assert outcome.judgement.loaded.rounds > 5


def test_an_uplink_that_was_slow_in_the_only_look_is_no_finding_and_no_pass() -> None:
    """The second look, of both ways of it and three others, came too late."""
    whole = len(sailed(with_slow(4, 1))[1].rounds)
    verdict = judged(with_slow(4, 1), rounds_in_time=whole - 6 * 8)
    assert (named(verdict), loaded(verdict).undecided) == (set(), ("leaf1",))
    assert named(judged(with_slow(4, 1))) == {"leaf1"}
