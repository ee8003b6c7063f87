"""Many pairs at once share cables: what is slow there is measured again among fewer before anybody is suspected."""

import random

import msgspec
import pytest

from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.judge import judge
from seatrial.commands.check.next_experiments import (
    contended,
    crowded,
    not_seen,
    only_proved,
    plan_retest,
    retests,
    still_crowded,
)
from seatrial.commands.check.retest_verdicts import prove_bandwidth
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.locate.evidence import PairEvidence
from seatrial.locate.explanation import MANY_PAIRS, Blamed, pair_suspects
from seatrial.locate.thresholds import RETEST_CAP
from seatrial.model import units
from seatrial.model.fabric import NO_FABRIC, Component, Wiring
from seatrial.model.measurement import Kernel, Phase, Round
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.pairs.leaf_matchings import apart
from seatrial.pairs.rounds import sparse_rounds
from seatrial.pairs.survey import BANDWIDTH, LATENCY, MOST_SAMPLES, plan_survey, thinned
from tests.support.builders import Cluster, leaves, names, sail, slow_part
from tests.support.evidence import gather


def again(recorded: RecordedRun, pair: tuple[str, str], share: float, at_once: int) -> RecordedRun:
    """The run with the pair measured once more among so many."""
    (one,) = Cluster(nodes=names(8), everything=share, noise=0.0).measure(
        Round(phase=Phase.NEXT, repetition=at_once, shape=BANDWIDTH, pairs=(pair,)), random.Random(1)
    )
    more = msgspec.structs.replace(one, pairs_at_once=at_once)
    return msgspec.structs.replace(recorded, measurements=(*recorded.measurements, more))


@pytest.mark.parametrize("order", [((0.5, 4), (1.0, 2)), ((1.0, 2), (0.5, 4))])
def test_of_several_looks_the_least_crowded_counts(order: tuple[tuple[float, int], ...]) -> None:
    slow = {("n1", "n2"): 0.5}
    recorded = sail(Cluster(nodes=names(8), pairs=slow), retest=False)
    _, _, before = Assessor().assess(recorded)
    assert [one.pairs for one in before.slow] == [(("n1", "n2"),)]
    for share, at_once in order:
        recorded = again(recorded, ("n1", "n2"), share, at_once)
    evidence, references, after = Assessor().assess(recorded)
    assert after.bandwidth["n1", "n2"].verdict is Verdict.PASS
    assert contended(evidence, after, references, 0.9 * (references.bandwidth_bytes_per_s or 0)) == [("n1", "n2")]
    notes = judge(recorded).notes
    assert any(note.startswith("1 ordered pairs (the first: n1 to n2) were slow while up to 4") for note in notes)


def test_a_pair_that_was_good_among_many_or_slow_alone_was_in_nobodys_way() -> None:
    slow = {("n1", "n2"): 0.5}
    recorded = again(sail(Cluster(nodes=names(8), pairs=slow), retest=False), ("n1", "n2"), 1.0, 2)
    recorded = again(recorded, ("n3", "n4"), 1.0, 2)
    evidence, references, suspicion = Assessor().assess(recorded)
    floor = 0.9 * (references.bandwidth_bytes_per_s or 0)
    assert contended(evidence, suspicion, references, floor) == [("n1", "n2")]
    alone = tuple(msgspec.structs.replace(one, pairs_at_once=1) for one in recorded.measurements)
    evidence, references, suspicion = Assessor().assess(msgspec.structs.replace(recorded, measurements=alone))
    assert suspicion.bandwidth["n1", "n2"].verdict is Verdict.PASS
    assert contended(evidence, suspicion, references, floor) == []


def test_every_slow_pair_that_ran_beside_others_is_measured_again() -> None:
    """A few of each part were not enough: one good pair acquits the part, and the other pairs stay suspects."""
    parts = Cluster(nodes=names(8), parts=slow_part("node", "n3", 0.6))
    evidence, _, suspicion = Assessor().assess(sail(parts, retest=False))
    pairs = crowded(evidence, suspicion)
    assert sorted(pairs) == sorted(pair for pair in evidence if "n3" in pair)
    few = still_crowded(evidence, suspicion, NO_FABRIC)
    assert len(few) == 4
    assert set(few) < set(pairs)


def test_on_known_cables_what_other_jobs_may_have_slowed_is_measured_again_until_they_pause() -> None:
    """Their traffic fills cables, but not the port of a node that many pairs accuse: its retest is enough."""
    wiring = SimulatedLauncher(Routes(parse_topology("fat-tree:8,per-leaf=2"))).wiring()
    for accusing in (Direction.OUT, Direction.IN), (Direction.OUT,):
        parts = Cluster(nodes=names(8), parts=slow_part("node", "n3", 0.6, accusing))
        evidence, _, suspicion = Assessor().assess(sail(parts, retest=False))
        slow = crowded(evidence, suspicion)
        assert len(slow) == 7 * len(accusing)
        left = still_crowded(evidence, suspicion, wiring)
        assert sorted(left) == (sorted(slow) if len(slow) < MANY_PAIRS else [])
    lone = {("n1", "n5"): 0.5, ("n2", "n7"): 0.5}
    evidence, _, suspicion = Assessor().assess(sail(Cluster(nodes=names(8), pairs=lone), retest=False))
    assert sorted(crowded(evidence, suspicion)) == sorted(lone)
    assert sorted(still_crowded(evidence, suspicion, wiring)) == sorted(lone)


def test_rounds_without_contention_share_no_cable_and_lose_no_pair() -> None:
    """With routes known no two pairs cross one cable; with leaves alone no two leave or enter the same leaf."""
    launcher = SimulatedLauncher(Routes(parse_topology("fat-tree:64,oversubscription=2")))
    nodes = launcher.hosts().nodes
    pairs = [pair for one in sparse_rounds(nodes, 4, seed=1) for pair in one]
    routed = launcher.wiring().measured(pairs)
    for fabric, kind in ((launcher.hosts().fabric, "uplink"), (routed, "link")):
        rounds = apart(pairs, fabric, 32)
        assert sorted(pair for one in rounds for pair in one) == sorted(pairs)
        for one in rounds:
            crossed = [part for pair in one for part in fabric.path(*pair) if part.kind in ("node", kind)]
            assert len(set(crossed)) == len(crossed)
    assert len(apart(pairs, routed, 32)) < len(apart(pairs, launcher.hosts().fabric, 32))
    assert max(map(len, apart(pairs, routed, 5))) == 5


def test_nothing_is_crowded_where_pairs_were_measured_alone() -> None:
    recorded = sail(Cluster(nodes=names(8), pairs={("n1", "n5"): 0.5}), retest=False)
    alone = tuple(msgspec.structs.replace(one, pairs_at_once=1) for one in recorded.measurements)
    evidence, _, suspicion = Assessor().assess(msgspec.structs.replace(recorded, measurements=alone))
    assert suspicion.slow
    assert crowded(evidence, suspicion) == []


def test_evidence_that_grows_is_the_same_as_evidence_at_once() -> None:
    measurements = sail(Cluster(nodes=names(6), parts=slow_part("node", "n3", 0.6))).measurements
    growing = PairEvidence()
    for end in (0, 5, 40, 41, len(measurements)):
        growing.take(measurements[:end])
        assert growing.by_pair == gather(measurements[:end])


def test_a_growing_run_is_judged_as_if_it_came_at_once() -> None:
    recorded = sail(Cluster(nodes=names(6), parts=slow_part("node", "n3", 0.6)))
    assessor = Assessor()
    for end in (50, 100, len(recorded.measurements)):
        part = msgspec.structs.replace(recorded, measurements=recorded.measurements[:end])
        assessor.assess(part)
    assert judge(recorded, assessor) == judge(recorded)


def test_rounds_of_very_many_pairs_are_cut_short() -> None:
    assert thinned(LATENCY, 100) == LATENCY
    for shape, least in ((LATENCY, 10), (BANDWIDTH, 3)):
        for measurements in (MOST_SAMPLES // 50, MOST_SAMPLES // 20, MOST_SAMPLES):
            cut = thinned(shape, measurements)
            within = (cut.iterations + cut.warmup) * measurements <= MOST_SAMPLES
            assert within or cut.iterations == least
            assert least <= cut.iterations <= shape.iterations
    plan = plan_survey(names(40), pairs_at_once=20, window_s=1e-5, budget_s=1e6, seed=1)
    taken = sum(
        len(one.pairs) * (one.shape.iterations + one.shape.warmup)
        for one in plan.rounds
        if one.shape.kernel is Kernel.ONEWAY
    )
    assert 0.9 * MOST_SAMPLES < taken <= MOST_SAMPLES


def test_of_more_suspects_than_can_be_measured_those_with_most_pairs_come_first() -> None:
    lone = [(f"n{number}", f"n{number + 1}") for number in range(1, 2 * RETEST_CAP, 2)]
    part = msgspec.structs.replace(pair_suspects([("m1", "m2")])[0], pairs=(("m1", "m2"), ("m1", "m3"), ("m4", "m1")))
    rounds = plan_retest([*pair_suspects(lone), part], [], [BANDWIDTH], 1)
    measured = {one.pairs[0] for one in rounds}
    assert set(part.pairs) <= measured
    assert len(measured) == RETEST_CAP


def test_every_retest_of_a_run_has_the_same_controls_and_more_of_them_beside_many_suspects() -> None:
    good = [(f"g{number}", f"g{number + 1}") for number in range(1, 101, 2)]
    few, many = (
        {
            one.pairs[0]
            for one in plan_retest(pair_suspects([(f"n{at}", f"m{at}") for at in range(count)]), good, [BANDWIDTH], 7)
            if one.pairs[0] in good
        }
        for count in (2, 160)
    )
    assert len(few) == 3
    assert len(many) == 10
    assert few < many


def test_where_cables_are_known_pairs_below_one_switch_are_the_first_controls() -> None:
    """Traffic of other jobs on two of three controls made a cable that was slow in all of 18 runs look undecided."""
    leaf_of = leaves(40, 4)
    good = [pair for one in sparse_rounds(names(40), 4, seed=2) for pair in one]
    lone = pair_suspects([("m1", "m2")])
    anywhere, near = (
        [one.pairs[0] for one in plan_retest(lone, good, [BANDWIDTH], 7, leaf_of=known) if one.repetition == 0]
        for known in (None, leaf_of)
    )
    below = [pair for pair in near if pair in good]
    assert len(anywhere) == len(near) == 4
    assert len(below) == 3
    assert all(leaf_of[source] == leaf_of[target] for source, target in below)
    assert any(leaf_of[source] != leaf_of[target] for source, target in anywhere if (source, target) in good)


def proved(recorded: RecordedRun, wiring: Wiring) -> tuple[tuple[tuple[str, str], ...], int]:
    """Slow pairs, and the number of undecided ones, where these cables are known."""
    evidence, references, suspicion = Assessor().assess(recorded)
    again = [pair for pair, known in evidence.items() if Phase.RETEST in known.bandwidth]
    alone = [Blamed(frozenset(), frozenset([("n1", "n5")]))]
    known = msgspec.structs.replace(references, fabric=wiring)
    made = prove_bandwidth(alone, suspicion.bandwidth, evidence, again, known)
    return tuple(pair for one in made.slow for pair in one.pairs), len(made.open)


def test_a_slow_pair_beside_good_nodes_needs_a_second_retest() -> None:
    wiring = SimulatedLauncher(Routes(parse_topology("fat-tree:8,per-leaf=2"))).wiring()
    recorded = sail(Cluster(nodes=names(8), pairs={("n1", "n5"): 0.5}), retest_all=False)
    _, _, suspicion = Assessor().assess(recorded)
    assert [one.pairs for one in suspicion.open] == [(("n1", "n5"),)]
    assert proved(recorded, wiring) == proved(recorded, NO_FABRIC) == ((), 1)
    for repetition in range(RETEST_RUNS):
        (one,) = Cluster(nodes=names(8), everything=0.5, noise=0.0).measure(
            Round(phase=Phase.RETEST, repetition=repetition, shape=BANDWIDTH, pairs=(("n1", "n5"),)), random.Random(1)
        )
        recorded = msgspec.structs.replace(recorded, measurements=(*recorded.measurements, one))
    _, _, suspicion = Assessor().assess(recorded)
    assert suspicion.open == ()
    assert proved(recorded, wiring) == proved(recorded, NO_FABRIC) == ((("n1", "n5"),), 0)


def test_a_bundle_of_cables_whose_every_pair_is_slow_need_not_be_on_one_level() -> None:
    """Each pair meets the traffic of other jobs on cables of its own; a single cable may owe all to that traffic."""
    wiring = SimulatedLauncher(Routes(parse_topology("fat-tree:8,per-leaf=2"))).wiring()
    pairs = [(source, f"n{target}") for source in ("n1", "n2") for target in range(3, 7)]
    recorded = sail(Cluster(nodes=names(8), pairs=dict.fromkeys(pairs, 0.8)), retest=False)
    for repetition in (*range(RETEST_RUNS), *range(RETEST_RUNS)):
        share = (0.5, 0.65, 0.8)[repetition % 3]
        wanted = Round(phase=Phase.RETEST, repetition=repetition, shape=BANDWIDTH, pairs=(("n1", "n3"), ("n2", "n4")))
        more = Cluster(nodes=names(8), everything=share, noise=0.0).measure(wanted, random.Random(1))
        beside = msgspec.structs.replace(wanted, pairs=(("n7", "n8"), ("n8", "n7")))
        more += Cluster(nodes=names(8), noise=0.0).measure(beside, random.Random(1))
        recorded = msgspec.structs.replace(recorded, measurements=(*recorded.measurements, *more))
    evidence, references, suspicion = Assessor().assess(recorded)
    again = [pair for pair, known in evidence.items() if Phase.RETEST in known.bandwidth]

    def outcome(kind: str, many: int, fabric: Wiring) -> str:
        part = Component(kind=kind, name="leaf1", direction=Direction.OUT)
        group = Blamed(frozenset([part]), frozenset(pairs[:many]))
        made = prove_bandwidth(
            [group], suspicion.bandwidth, evidence, again, msgspec.structs.replace(references, fabric=fabric)
        )
        return "slow" if made.slow == (group,) else "open" if made.open == (group,) else "else"

    assert outcome("uplink", MANY_PAIRS, wiring) == outcome("spine", MANY_PAIRS, wiring) == "slow"
    assert outcome("uplink", MANY_PAIRS - 1, wiring) == "open"
    assert outcome("link", MANY_PAIRS, wiring) == "open"
    assert outcome("uplink", MANY_PAIRS, NO_FABRIC) == "open"


def test_what_was_not_seen_again_is_what_is_not_proved() -> None:
    """One answer for the driver, which measures such suspects, and for the judgement, which leaves them out."""
    cluster = Cluster(nodes=names(8), parts=slow_part("node", "n3", 0.6), pairs={("n1", "n2"): 0.5})
    evidence, _, survey = Assessor().assess(sail(cluster, retest=False))
    (part,) = not_seen(evidence, survey)
    assert part.subject.name == "n3"
    assert retests(part, evidence, units.BANDWIDTH) == 0
    proved, sentences = only_proved(survey, evidence)
    assert proved.slow == ()
    assert "not measured again: the link of node n3, the path from n1 to n2." in sentences[0]
    evidence, _, after = Assessor().assess(sail(cluster))
    assert not_seen(evidence, after) == []
    assert only_proved(after, evidence)[0].slow == after.slow
    runs = {one.subject.name: retests(one, evidence, units.BANDWIDTH) for one in after.slow}
    assert runs == {"n3": RETEST_RUNS, "n1>n2": 2 * RETEST_RUNS}, "a single pair takes two retests"
