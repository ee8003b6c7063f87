"""Faults planted in simulated fabrics, and what is named there."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routes import Path as Way
from seatrial.lab.simulator.evidence import Evidence
from seatrial.lab.simulator.faults import FaultSpec, Planted, parse_fault
from seatrial.lab.simulator.outcome import totals
from seatrial.lab.simulator.parts import PartKind
from seatrial.lab.simulator.plan import make_plan
from seatrial.lab.simulator.proving import Ambiguous, Named, prove
from seatrial.lab.simulator.score import score
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import Bench, run_trial
from seatrial.model.pair_table import Reals
from seatrial.pairing.complete import Pair

NDR = Path(__file__).resolve().parents[3] / "shared" / "data" / "fabrics" / "ndr-582-cas.ibnetdiscover"
needs_ndr = pytest.mark.skipif(not NDR.exists(), reason="../shared/data/fabrics is not here")


@pytest.fixture(scope="module")
def ndr() -> Bench:
    return Bench(parse_fabric(NDR.read_text()))


def cables(seed: int) -> list[FaultSpec]:
    draw = random.Random(seed)
    return [FaultSpec(kind=PartKind.LINK, share=1 - draw.uniform(0.05, 0.5)) for _ in range(draw.randint(1, 5))]


@needs_ndr
@pytest.mark.parametrize("at_once", [False, True])
def test_one_to_five_cables_of_the_ndr_fabric_are_named(ndr: Bench, at_once: bool) -> None:
    """1 to 5 cables, one or both directions, 5 to 50 % slow; bench/simulated_fabric.py does 300 of these."""
    done = [run_trial(ndr, cables(seed), seed=seed, at_once=at_once) for seed in range(15)]
    total = totals(done)
    assert all(one.cost.rounds == 6 for one in done)
    assert total.recall >= 0.95
    assert total.precision >= 0.95
    assert total.mean_set <= 2
    assert at_once or total.adaptive_pairs < 100
    assert (min(one.contended for one in done) > 500) is at_once


@needs_ndr
def test_a_healthy_ndr_fabric_gets_no_name(ndr: Bench) -> None:
    done = [run_trial(ndr, seed=seed) for seed in range(15)]
    assert totals(done).claims == 0
    assert sum(one.proof.passing for one in done) > 0


@pytest.mark.parametrize("topology", ["fat-tree:90", "fat-tree3:108", "dragonfly:72"])
@pytest.mark.parametrize("kind", ["node", "link", "uplink", "spine"])
def test_every_kind_of_fault_is_told_from_the_others(topology: str, kind: str) -> None:
    if (topology, kind) == ("dragonfly:72", "spine"):
        return
    bench = Bench(parse_topology(topology))
    done = [run_trial(bench, [parse_fault(f"{kind}:0.7")], seed=seed) for seed in range(4)]
    assert totals(done).right == 4
    for one in done:
        part = one.planted[0].part
        claims = [name.part for name in one.proof.named] + [p for each in one.proof.ambiguous for p in each.parts]
        assert any((claim.kind, claim.place) == (part.kind, part.place) for claim in claims)


def test_a_bad_route_of_one_pair_is_named_where_it_is_measured_and_owned_up_to_where_not() -> None:
    bench = Bench(parse_topology("fat-tree:16"))
    everything = run_trial(bench, [parse_fault("pair:0.5")], seed=1, rounds=15)
    assert [one.part.pair for one in everything.proof.named] == [everything.planted[0].part.pair]
    few = run_trial(bench, [parse_fault("pair:0.5")], seed=1, rounds=1)
    assert (few.score.unseen, few.proof.named, few.score.right) == (1, (), True)


def test_a_dead_cable_is_named_too() -> None:
    outcome = run_trial(Bench(parse_topology("fat-tree:64")), [parse_fault("link:0:both")], seed=3)
    assert outcome.score.right
    assert outcome.proof.named[0].loss == pytest.approx(1, abs=1e-3)


def test_what_is_slow_once_or_beside_others_is_never_named() -> None:
    """Two bad pairs through one cable, both good when measured again: the first look suspects, nothing is named."""
    bench = Bench(parse_topology("fat-tree:36"))
    plan = make_plan(bench.routes, 6, seed=1)
    ratios: Reals = np.ones(len(plan.pairs))
    hop = bench.parts.trunks[0]
    ratios[[row for row, path in enumerate(plan.paths) if hop in path]] = 0.6
    evidence = Evidence(bench.parts, plan.pairs, plan.paths, ratios)
    assert evidence.look().suspects

    def good(pairs: Sequence[Pair], paths: Sequence[Way]) -> Reals:
        return np.ones(len(pairs))

    def bad(pairs: Sequence[Pair], paths: Sequence[Way]) -> Reals:
        return np.array([0.6 if hop in path else 1.0 for path in paths])

    proof = prove(evidence, good, pairs_per_turn=40, seed=1)
    assert (proof.named, proof.ambiguous) == ((), ())
    assert proof.passing > 0
    still = prove(Evidence(bench.parts, plan.pairs, plan.paths, ratios), bad, pairs_per_turn=40, seed=1)
    assert [one.part.hops for one in still.named] == [(hop,)]


def test_controls_take_out_what_the_moment_does_to_all() -> None:
    """Everything measured later is 10 % slower, the known-good pairs too: no new names."""
    bench = Bench(parse_topology("fat-tree:36"))
    plan = make_plan(bench.routes, 6, seed=1)
    ratios: Reals = np.ones(len(plan.pairs))
    ratios[5] = 0.95

    def later(pairs: Sequence[Pair], paths: Sequence[Way]) -> Reals:
        return np.full(len(pairs), 0.9)

    proof = prove(Evidence(bench.parts, plan.pairs, plan.paths, ratios), later, pairs_per_turn=40, seed=1)
    assert (proof.named, proof.ambiguous) == ((), ())


def test_the_score_counts_misses_and_false_names() -> None:
    parts = Bench(parse_topology("fat-tree:36")).parts
    right, missed, wrong = (parts.of_hop(hop) for hop in parts.trunks[:3])
    pair = parts.of_pair(("a", "b"))
    planted = [Planted(part=part, share=0.5) for part in (right, missed, pair)]
    named = [Named(part=part, loss=0.5, rows=3) for part in (right, wrong)]
    counted = score(planted, named, [], measured=[])
    assert (counted.planted, counted.found, counted.unseen) == (2, 1, 1)
    assert (counted.recall, counted.precision, counted.right) == (0.5, 0.5, False)
    either = [Ambiguous(parts=(missed, wrong), loss=0.5), Ambiguous(parts=(wrong, pair), loss=0.5)]
    counted = score(planted, named[:1], either, measured=[("a", "b")])
    assert (counted.planted, counted.found, counted.false_claims) == (3, 3, 0)
    assert counted.mean_set == pytest.approx(5 / 3)


def test_a_thousand_nodes_take_seconds() -> None:
    outcome = run_trial(Bench(parse_topology("fat-tree:1000")), [parse_fault("link:0.8")], seed=1)
    assert outcome.score.right
    assert outcome.cost.plan_s + outcome.cost.locate_s + outcome.cost.report_s < 10
