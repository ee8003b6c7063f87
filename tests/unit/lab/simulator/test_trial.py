"""Trials of the real driver on a simulated fabric: independent streams, random faults, scores and their totals."""

import itertools
import random
from pathlib import Path

import msgspec
import pytest

from seatrial.driver.clock import clock
from seatrial.fabric.parts import FabricPart, PartKind, Way
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.disturbances import SimulatedConditions, Stream, stream_seed
from seatrial.lab.simulator.faults import FaultSpec, SimulatedFault, draw_faults, parse_fault, random_faults
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.score import Match, Namer, Truth, score
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import FabricTrial, SimulatedFabric, TrialSettings, run_trial, totals, wilson
from seatrial.model.errors import UsageError
from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.pairs.survey import DesignChoice, plan_survey


def fabric_of(topology: str) -> SimulatedFabric:
    return SimulatedFabric(parse_topology(topology))


def trial_of(topology: str, archive: Path, *faults: str, seed: int = 1, **settings: object) -> FabricTrial:
    fabric = fabric_of(topology)
    chosen = msgspec.structs.replace(TrialSettings(specs=tuple(map(parse_fault, faults))), **settings)
    return run_trial(fabric, chosen, fabric.plant(chosen, seed), seed=seed, archive=archive, run=f"run-{seed}")[0]


def test_every_stream_of_a_trial_has_a_seed_of_its_own() -> None:
    seeds = {stream_seed(seed, stream) for seed in range(50) for stream in Stream}
    assert len(seeds) == 50 * len(Stream)
    assert stream_seed(3, Stream.JOBS) == stream_seed(3, Stream.JOBS)


def test_where_faults_are_does_not_depend_on_which_pairs_are_measured() -> None:
    """A random pair lies in a survey that measures a share c of all pairs with probability c, whatever the seed.

    With one stream for both, 17 of 20 faulty pairs once lay among the 2.5 % of the pairs that were measured.
    """
    fabric = fabric_of("fat-tree:40")
    launcher = SimulatedLauncher(fabric.routes)
    nodes = launcher.hosts().nodes
    node_of = {key: node for node, key in launcher.nodes.adapter_of.items()}
    settings = TrialSettings(specs=(parse_fault("pair:0.3"),))
    hits = 0
    for seed in range(400):
        (planted,) = fabric.plant(settings, seed)
        plan = plan_survey(
            nodes, pairs_at_once=20, window_s=1e-4, budget_s=600, seed=stream_seed(seed, Stream.DESIGN),
            choice=DesignChoice.SPARSE, leaf_of=launcher.nodes.leaf_of,
        )  # fmt: skip
        assert planted.part.pair is not None
        pair = node_of[planted.part.pair[0]], node_of[planted.part.pair[1]]
        hits += any(pair in one.pairs for one in plan.rounds)
    coverage = plan.design.planned_pairs / plan.design.ordered_pairs
    assert coverage == pytest.approx(0.1, abs=0.03)
    expected, spread = 400 * coverage, (400 * coverage * (1 - coverage)) ** 0.5
    assert abs(hits - expected) < 4 * spread


def test_random_faults_are_of_all_kinds_that_can_be_named_and_leave_a_majority_good() -> None:
    parts = fabric_of("fat-tree:256").parts
    routed = [random_faults(parts, 6, random.Random(seed), routed=True) for seed in range(60)]
    assert {one.kind for specs in routed for one in specs} == set(PartKind) - {PartKind.PAIR}
    assert all(0.5 <= one.share <= 0.95 for specs in routed for one in specs)
    by_leaves = random_faults(parts, 20, random.Random(1), routed=False)
    kinds = [one.kind for one in by_leaves]
    assert set(kinds) == {PartKind.NODE, PartKind.UPLINK}
    assert kinds.count(PartKind.UPLINK) == 1, "a tenth of 16 leaves"
    with pytest.raises(UsageError, match="room for"):
        random_faults(fabric_of("fat-tree:20").parts, 9, random.Random(1), routed=False)


def test_no_fault_is_hidden_behind_a_larger_one() -> None:
    parts = fabric_of("fat-tree:36").parts
    specs = [FaultSpec(kind=kind, share=0.7) for kind in (PartKind.LINK, PartKind.SPINE, PartKind.UPLINK)]
    for seed in range(40):
        cable, spine, uplink = draw_faults(parts, specs, random.Random(seed))
        assert not set(cable.part.hops) <= set(spine.part.hops)
        assert not set(cable.part.hops) <= set(uplink.part.hops)


def finding(subject: Subject, *others: Subject) -> Finding:
    return Finding(
        kind=FindingKind.SLOW_PAIR, subject=subject, verdict=Verdict.SLOW, statement="", remedy="",
        ambiguous_with=others,
    )  # fmt: skip


@pytest.mark.parametrize("routed", [False, True])
def test_a_fault_is_found_by_its_exact_subject_or_by_a_set_that_contains_it(routed: bool) -> None:
    fabric = fabric_of("fat-tree:36")
    parts, launcher = fabric.parts, SimulatedLauncher(fabric.routes)
    namer = Namer(launcher, parts, launcher.wiring(), routed=routed)
    node, other = (parts.of_hop(parts.ports[place]) for place in (0, 10))
    uplink = next(one for one in parts.bundles if one.kind is PartKind.UPLINK and "leaf3" in one.name)
    away = parts.of_pair((fabric.routes.adapters[20], fabric.routes.adapters[30]))
    planted = [SimulatedFault(part=part, share=0.8) for part in (node, uplink, away)]
    names = [namer.subject(one.part) for one in planted]
    wrong = namer.subject(other)
    assert [one.text for one in names[:2]] == ["node:n1", "uplink:leaf3"]

    found = score(planted, [finding(names[0]), finding(wrong, names[1]), finding(wrong)], set(), namer)
    assert [one.match for one in found.faults] == [Match.NAMED, Match.IN_SET, Match.UNSEEN]
    assert [one.truth for one in found.claims] == [Truth.TRUE, Truth.TRUE, Truth.FALSE]
    assert not found.right
    seen = score(planted, [], {tuple(names[2].name.split(">"))}, namer)  # type: ignore[arg-type]
    assert [one.match for one in seen.faults] == [Match.MISSED] * 3


def test_a_pair_or_cable_that_a_larger_fault_slows_is_neither_the_fault_nor_a_false_name() -> None:
    fabric = fabric_of("fat-tree:36")
    parts, launcher = fabric.parts, SimulatedLauncher(fabric.routes)
    namer = Namer(launcher, parts, launcher.wiring(), routed=True)
    uplink = next(one for one in parts.bundles if (one.kind, one.name, one.way) == (PartKind.UPLINK, "leaf3", Way.OUT))
    inside = namer.subject(parts.of_hop(uplink.hops[0]))
    leaf = launcher.nodes.leaf_of
    below = [node for node in leaf if leaf[node] == "leaf3"]
    outside = [node for node in leaf if leaf[node] == "leaf1"]
    out, near = (Subject.parse(f"pair:{below[0]}>{target}") for target in (outside[0], below[1]))
    found = score(
        [SimulatedFault(part=uplink, share=0.5)], [finding(inside), finding(out), finding(near)], set(), namer
    )
    assert [one.truth for one in found.claims] == [Truth.PARTIAL, Truth.PARTIAL, Truth.FALSE]
    assert found.faults[0].match is Match.MISSED


@pytest.mark.parametrize("routed", [False, True])
def test_the_uplink_of_a_faulty_cable_is_all_that_a_check_without_routes_can_name(*, routed: bool) -> None:
    fabric = fabric_of("fat-tree:36")
    parts, launcher = fabric.parts, SimulatedLauncher(fabric.routes)
    namer = Namer(launcher, parts, launcher.wiring(), routed=routed)
    own, other = (
        next(one for one in parts.bundles if (one.kind, one.name, one.way) == (PartKind.UPLINK, name, Way.OUT))
        for name in ("leaf3", "leaf1")
    )
    cable = SimulatedFault(part=parts.of_hop(own.hops[0]), share=0.5)
    found = score([cable], [finding(namer.subject(own)), finding(namer.subject(other))], set(), namer)
    assert [one.truth for one in found.claims] == [Truth.FALSE if routed else Truth.TRUE, Truth.FALSE]
    assert found.faults[0].match is (Match.MISSED if routed else Match.IN_SET)


def test_totals_count_every_fault_and_finding_once(tmp_path: Path) -> None:
    right = trial_of("fat-tree:24", tmp_path, "node:0.6:both", seed=1)
    assert right.score.right
    assert (right.verdict, right.nodes) == (Verdict.SLOW, 24)
    assert right.cost.node_s == pytest.approx(24 * right.cost.elapsed_s)
    missed = trial_of("fat-tree:24", tmp_path, "node:0.999:both", seed=2)
    both = totals([right, missed])
    assert (both.trials, both.right, both.false_pass) == (2, 1, 1)
    assert (both.recall.hits, both.recall.count, both.precision.count) == (1, 2, 1)
    assert {name: one.hits for name, one in both.recall_by_loss.items()} == {"less than 5 %": 0, "35 % up": 1}
    assert set(both.recall_by_kind) == {"node"}
    assert totals([]).recall.ratio == 1


def test_the_intervals_are_those_of_wilson() -> None:
    """10 of 20: 0.299 to 0.701 (Newcombe, Stat. Med. 17, 1998, has 81 of 263: 0.2553 to 0.3662)."""
    tens, newcombe, none = wilson(10, 20), wilson(81, 263), wilson(0, 0)
    assert [tens.low, tens.high] == pytest.approx([0.2993, 0.7007], abs=1e-4)
    assert [newcombe.low, newcombe.high] == pytest.approx([0.2553, 0.3662], abs=1e-4)
    assert (none.low, none.high) == (0.0, 1.0)
    assert (wilson(20, 20).high, wilson(0, 20).low) == (1.0, 0.0)


def test_the_same_seed_is_the_same_trial(tmp_path: Path) -> None:
    settings = {"random_faults": 2, "conditions": SimulatedConditions(jobs=2), "routed": True}
    one, again = (trial_of("fat-tree:36", tmp_path / name, seed=5, **settings) for name in ("a", "b"))
    assert (one.score, one.verdict, one.cost.elapsed_s) == (again.score, again.verdict, again.cost.elapsed_s)


def test_names_of_parts_are_those_of_the_checks_findings() -> None:
    routes = Routes(parse_topology("fat-tree:36"))
    wiring = SimulatedLauncher(routes).wiring()
    part: FabricPart = fabric_of("fat-tree:36").parts.of_pair((routes.adapters[0], routes.adapters[35]))
    assert wiring.name_of(part) == "n1>n36"


def test_the_budget_counts_simulated_time(tmp_path: Path) -> None:
    """On a busy machine the budget was spent in the middle of the check, and faults were missed."""
    fabric = SimulatedFabric(parse_topology("fat-tree:24"))
    planted = fabric.plant(TrialSettings(specs=(parse_fault("node:0.6:both"),)), 1)
    busy = itertools.count(0.0, 1000.0)
    real = clock.set(lambda: next(busy))
    try:
        _, outcome = run_trial(fabric, TrialSettings(), planted, seed=1, archive=tmp_path, run="busy")
        left = clock.get()()
    finally:
        clock.reset(real)
    assert outcome.judgement.complete
    assert [one.subject.name for one in outcome.judgement.findings] == [planted[0].part.name.split(" ")[0]]
    assert left % 1000 == 0, "the clock is as before"
    _, short = run_trial(fabric, TrialSettings(budget_s=0.05), planted, seed=1, archive=tmp_path, run="short")
    assert "The budget of 0 s was spent" in short.recorded.info.reason
