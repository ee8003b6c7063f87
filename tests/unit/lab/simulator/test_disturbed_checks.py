"""Simulated checks see faults that begin, come and go or lose packets, ranks that wait, and lost cables."""

import math
import random
from pathlib import Path

import pytest
from bench.ablation import MECHANISMS, owner
from bench.ablation_classes import classes, without_member

from seatrial.commands.check.run import CheckOutcome
from seatrial.lab.simulator.disturbances import SPELL_SHARES, SimulatedConditions, Spells, Starved
from seatrial.lab.simulator.faults import FaultCourse, parse_fault
from seatrial.lab.simulator.launcher import RETRANSMISSION_S
from seatrial.lab.simulator.score import Match, Truth
from seatrial.lab.simulator.topology import fat_tree, parse_topology
from seatrial.lab.simulator.trial import FabricTrial, SimulatedFabric, TrialSettings, run_trial
from seatrial.locate.evidence import run_value, waits_of
from seatrial.model.errors import UsageError
from seatrial.model.measurement import Kernel
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import FindingKind, Verdict


def _values(outcome: CheckOutcome, kernel: Kernel, *, at: str = "", without: str = "") -> list[float]:
    """Runs with one kernel, of pairs with one node or without another."""
    every = [one for one in outcome.recorded.measurements if one.shape.kernel is kernel]
    return [run_value(one) for one in every if (not at or at in one.pair) and without not in one.pair]


def checked(
    folder: Path, topology: str, *faults: str, seed: int = 1, conditions: SimulatedConditions | None = None
) -> tuple[FabricTrial, CheckOutcome]:
    fabric = SimulatedFabric(parse_topology(topology))
    settings = TrialSettings(
        specs=tuple(map(parse_fault, faults)), conditions=conditions or SimulatedConditions(noise=0.0005)
    )
    return run_trial(fabric, settings, fabric.plant(settings, seed), seed=seed, archive=folder)


def test_a_fault_may_begin_late_and_come_and_go() -> None:
    late = FaultCourse(since_s=30.0)
    assert [late.acts(at_s) for at_s in (0.0, 29.9, 30.0, 1e6)] == [False, False, True, True]
    swings = FaultCourse(since_s=1.0, period_s=4.0)
    assert [swings.acts(at_s) for at_s in (0.9, 1.0, 2.9, 3.1, 4.9, 5.1)] == [False, True, True, False, False, True]
    assert parse_fault("node:0.5:in,since=30,period=4").course == FaultCourse(since_s=30.0, period_s=4.0)
    assert parse_fault("link:0.9,lost=0.01").course == FaultCourse(lost=0.01)
    assert parse_fault("pair:1,late=3e-7").course == FaultCourse(late_s=3e-7)


def test_a_late_node_delays_round_trips_only_and_the_check_names_it(tmp_path: Path) -> None:
    trial, outcome = checked(tmp_path, "fat-tree:6,per-leaf=6", "node:1:both,late=1e-6")
    (fault,) = trial.score.faults
    name, trip, stream = fault.subject.name, Kernel.PINGPONG, Kernel.ONEWAY
    assert min(_values(outcome, trip, at=name)) > max(_values(outcome, trip, without=name)) + 0.5e-6
    assert min(_values(outcome, stream, at=name)) > 0.97 * max(_values(outcome, stream, without=name))
    assert [(one.kind, one.subject) for one in outcome.judgement.findings] == [
        (FindingKind.HIGH_LATENCY, fault.subject)
    ]


def test_a_part_is_slow_from_the_time_on_at_which_its_fault_begins(tmp_path: Path) -> None:
    trial, outcome = checked(tmp_path, "fat-tree:6,per-leaf=6", "node:0.5:both,since=0.3")
    (fault,) = trial.score.faults
    own = [
        one
        for one in outcome.recorded.measurements
        if fault.subject.name in one.pair and one.shape.kernel is Kernel.ONEWAY
    ]
    usual = max(map(run_value, own))
    before = [run_value(one) / usual for one in own if one.at_s is not None and one.at_s < 0.29]
    after = [run_value(one) / usual for one in own if one.at_s is not None and one.at_s > 0.32]
    assert min(before) > 0.9
    assert max(after) < 0.6


def test_round_trips_over_a_lossy_part_stall_and_the_check_names_it(tmp_path: Path) -> None:
    trial, outcome = checked(tmp_path, "fat-tree:6,per-leaf=6", "node:0.97:both,lost=0.03")
    (fault,) = trial.score.faults
    stalled = [one for one in outcome.recorded.measurements if max(one.times_s) > RETRANSMISSION_S]
    assert stalled
    assert all(fault.subject.name in one.pair and one.shape.kernel is Kernel.PINGPONG for one in stalled)
    assert [(found.kind, found.subject) for found in outcome.judgement.findings] == [
        (FindingKind.PACKET_LOSS, fault.subject)
    ]


@pytest.mark.parametrize(
    ("topology", "share", "seed"), [("fat-tree:6,per-leaf=3", 0.9, 4), ("fat-tree:8,per-leaf=4", 0.7, 16)]
)
def test_a_cable_between_switches_that_leads_to_one_node_is_not_blamed_on_its_link(
    topology: str, share: float, seed: int, tmp_path: Path
) -> None:
    """Static routes take all that other leaves send to a node over one cable: only a pair within its leaf shows that
    the node's link is good."""
    _, outcome = checked(tmp_path, topology, f"link:{share}", seed=seed)
    assert {one.kind for one in outcome.judgement.findings} <= {FindingKind.SLOW_PAIR}
    assert outcome.judgement.verdict in (Verdict.SLOW, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("topology", "lost", "seed", "kind"),
    [
        ("fat-tree:6,per-leaf=3", 0.03, 14, SubjectKind.PAIR),  # a single pair accuses no uplink
        ("fat-tree:24,per-leaf=8", 0.02, 30, SubjectKind.UPLINK),
        ("fat-tree:24,per-leaf=4", 0.03, 32, SubjectKind.UPLINK),
    ],
)
def test_loss_on_a_cable_that_nobody_knows_is_that_of_its_uplink_and_of_no_node(
    topology: str, lost: float, seed: int, kind: SubjectKind, tmp_path: Path
) -> None:
    """Other pairs of the uplink, and the node's pairs within its leaf, measured again, lose nothing."""
    trial, outcome = checked(tmp_path, topology, f"link:0.99,lost={lost}", seed=seed)
    assert [(one.kind, one.subject.kind) for one in outcome.judgement.findings] == [(FindingKind.PACKET_LOSS, kind)]
    of_pair = kind is SubjectKind.PAIR
    assert {claim.truth for claim in trial.score.claims} == {Truth.PARTIAL if of_pair else Truth.TRUE}
    (finding,) = outcome.judgement.findings
    assert finding.statement.startswith("A cable of ") is ("--routes" in finding.remedy) is not of_pair


@pytest.mark.parametrize(("topology", "seed"), [("fat-tree3:31", 2), ("fat-tree3:48", 2)])
def test_two_pairs_that_have_a_leaf_in_common_may_lose_packets_behind_it(
    topology: str, seed: int, tmp_path: Path
) -> None:
    """The cable lies one level higher, and pairs of several leaves cross it."""
    trial, outcome = checked(tmp_path, topology, "link:0.97,lost=0.02", seed=seed)
    assert len(outcome.judgement.findings) > 1
    assert {claim.truth for claim in trial.score.claims} == {Truth.PARTIAL}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("topology", ["fat-tree:8,per-leaf=4", "fat-tree:12,per-leaf=6"])
def test_a_node_that_loses_packets_does_so_within_its_leaf_and_is_named(
    topology: str, seed: int, tmp_path: Path
) -> None:
    trial, outcome = checked(tmp_path, topology, "node:0.99:both,lost=0.01", seed=seed)
    (fault,) = trial.score.faults
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.PACKET_LOSS, fault.subject, ())


@pytest.mark.parametrize("seed", [1, 3])
def test_a_late_cable_that_nobody_knows_is_not_blamed_on_a_node(seed: int, tmp_path: Path) -> None:
    _, outcome = checked(tmp_path, "fat-tree:16", "link:1:both,late=1e-6", seed=seed)
    assert outcome.judgement.findings == ()


@pytest.mark.parametrize("seed", [2, 13])
def test_noise_that_is_larger_than_the_effect_names_no_healthy_node(seed: int, tmp_path: Path) -> None:
    """Six runs with 10 % of noise all lie 3 % below their peers by chance, and were proof."""
    conditions = SimulatedConditions(noise=0.1)
    _, outcome = checked(tmp_path, "fat-tree:12,per-leaf=6", conditions=conditions, seed=seed)
    assert outcome.judgement.findings == ()
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("seed", [2, 3])
def test_traffic_of_other_jobs_on_the_way_to_a_node_does_not_make_its_link_unstable(seed: int, tmp_path: Path) -> None:
    """Of three pairs with the node two vary, and the third is good in all of six runs."""
    conditions = SimulatedConditions(jobs=6, noise=0.003)
    _, outcome = checked(tmp_path, "fat-tree:24,per-leaf=6,oversubscription=2", conditions=conditions, seed=seed)
    assert outcome.judgement.findings == ()


@pytest.mark.parametrize("seed", [2, 4, 7])
def test_what_may_be_a_cable_that_other_jobs_fill_is_not_unstable(seed: int, tmp_path: Path) -> None:
    """The pairs cannot distinguish a node from the cables to it: a node's port alone would be nobody else's."""
    fabric = SimulatedFabric(parse_topology("fat-tree3:8"))
    settings = TrialSettings(conditions=SimulatedConditions(noise=0.01, jobs=8), routed=True)
    _, outcome = run_trial(fabric, settings, [], seed=seed, archive=tmp_path)
    assert (outcome.judgement.findings, outcome.judgement.verdict) == ((), Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("topology", "starved", "noise", "seed"),
    [("fat-tree:4,per-leaf=2", Starved.ONE, 0.003, 8), ("fat-tree:16,per-leaf=8", Starved.ALL, 0.0005, 23)],
)
def test_no_link_is_unstable_while_nobody_knows_how_long_ranks_waited(
    topology: str, starved: Starved, noise: float, seed: int, tmp_path: Path
) -> None:
    conditions = SimulatedConditions(starved=starved, waits_known=False, noise=noise)
    judgement = checked(tmp_path, topology, conditions=conditions, seed=seed)[1].judgement
    assert (judgement.findings, judgement.verdict) == ((), Verdict.INCONCLUSIVE)
    assert any("lie on several levels" in note for note in judgement.notes)


@pytest.mark.parametrize("noise", [0.0008, 0.003])
def test_runs_are_not_bad_for_another_reason_since_others_lost_nothing_by_as_long_waits(
    noise: float, tmp_path: Path
) -> None:
    """No wait cost anything in six of ten runs, like on a lab at a load of eight: good nodes were named unstable."""
    conditions = SimulatedConditions(starved=Starved.ALL, idle_waits=0.6, noise=noise)
    judgement = checked(tmp_path, "fat-tree:10,per-leaf=10", conditions=conditions, seed=1)[1].judgement
    assert (judgement.findings, judgement.verdict) == ((), Verdict.INCONCLUSIVE)


ALWAYS = SimulatedConditions(starved=Starved.ALWAYS)


@pytest.mark.parametrize(
    ("topology", "faults", "seed"),
    [
        ("fat-tree:12", ["node:0.6"], 2),
        ("fat-tree:12", ["node:0.6"], 4),
        ("fat-tree:6,per-leaf=2", ["node:0.6:in", "node:0.7:in"], 3),
        ("fat-tree:16,per-leaf=16", ["node:0.6"], 9),
        ("fat-tree:24,per-leaf=12", ["node:0.8", "node:0.8"], 5),
        ("fat-tree:5,per-leaf=5", ["node:0.97,lost=0.03"], 1),
        ("fat-tree:12", [], 1),
    ],
)
def test_slow_nodes_are_named_where_all_ranks_wait_all_the_time(
    topology: str, faults: list[str], seed: int, tmp_path: Path
) -> None:
    """Every pair was below its limit, so each counted as bad, and none as good: innocent nodes were named."""
    trial, _ = checked(tmp_path, topology, *faults, seed=seed, conditions=ALWAYS)
    assert [fault.match is not Match.MISSED for fault in trial.score.faults] == [True] * len(faults)
    assert {claim.truth for claim in trial.score.claims} <= {Truth.TRUE}
    assert trial.verdict is not Verdict.PASS


@pytest.mark.parametrize("seed", [1, 3, 4, 7])
def test_an_absent_node_makes_no_uplink_slow(seed: int, tmp_path: Path) -> None:
    """Nodes behind an absent one moved up by a place, so that streams of others met on half of their cables."""
    trial, _ = checked(tmp_path, "fat-tree:24,per-leaf=8", "node:0.6", seed=seed)
    assert [(claim.kind, claim.truth) for claim in trial.score.claims] == [(FindingKind.SLOW_LINK, Truth.TRUE)]


def test_ranks_of_a_starved_node_wait_and_say_so() -> None:
    spells = Spells(Starved.ONE, ["n1", "n2", "n3"], seed=3)
    (starved,) = spells.nodes
    seen = set()
    for _ in range(3000):
        spells.advance(0.03)
        seen.add(spells.kept(starved))
        assert {spells.kept(name) for name in {"n1", "n2", "n3"} - spells.nodes} == {1.0}
    low = seen - {1.0}
    assert SPELL_SHARES[0] <= min(low) <= max(low) <= SPELL_SHARES[1]
    assert len(low) > 10  # each spell has a share of its own
    assert Spells(Starved.NOBODY, ["n1"], seed=3).nodes == frozenset()


@pytest.mark.parametrize("known", [True, False])
def test_measurements_of_starved_ranks_take_longer_and_have_their_waits(tmp_path: Path, known: bool) -> None:
    conditions = SimulatedConditions(starved=Starved.ALL, waits_known=known, noise=0.0005)
    _, outcome = checked(tmp_path, "fat-tree:6,per-leaf=6", conditions=conditions, seed=2)
    rates = [one for one in outcome.recorded.measurements if one.shape.kernel is Kernel.ONEWAY]
    usual = max(map(run_value, rates))
    slow = [one for one in rates if run_value(one) < 0.9 * usual]
    assert slow
    for one in slow:
        waited = max(waits_of(one))
        assert waited == (pytest.approx(1 - run_value(one) / usual, abs=0.03) if known else 0.0)


def test_nodes_of_one_kernel_are_measured_one_pair_at_a_time(tmp_path: Path) -> None:
    _, outcome = checked(tmp_path, "fat-tree:6,per-leaf=6", conditions=SimulatedConditions(one_kernel=True))
    assert {one.pairs_at_once for one in outcome.recorded.measurements} == {1}


def test_a_lost_member_leaves_its_leaf_fewer_cables() -> None:
    whole = fat_tree(24, {"per-leaf": 8, "oversubscription": 2})
    less, leaf = without_member(whole, random.Random(1))
    (lost,) = set(whole.links) - set(less.links)
    assert leaf in {lost.one.device, lost.other.device}
    again, other = without_member(less, random.Random(1), [leaf])
    assert (len(again.links), other != leaf) == (len(whole.links) - 2, True)
    with pytest.raises(UsageError, match="No leaf"):
        without_member(fat_tree(4, {"per-leaf": 4}), random.Random(1))


def test_each_mechanism_of_the_ablation_exists() -> None:
    names = [mechanism.name for mechanism in MECHANISMS]
    assert len(names) == len({*names})
    for place in [place for one in MECHANISMS for place in (one.place, one.acts) if place]:
        where, name = owner(place)
        assert name in where.__dict__, place


def test_each_class_of_the_ablation_can_be_built() -> None:
    kinds = list(classes())
    assert len({kind.name for kind in kinds}) == len(kinds)
    for kind in kinds:
        specs = [parse_fault(text) for text in kind.faults]
        assert all(0 <= spec.share <= 1 and math.isfinite(spec.course.since_s) for spec in specs)
        parse_topology(kind.topology)
