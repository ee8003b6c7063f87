"""Matchings that know the leaves, what covers their gaps, and pieces that spare the uplinks."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.model.fabric import Component
from seatrial.model.measurement import Kernel
from seatrial.pairs.leaf_matchings import cables, capped, covering, leaf_design, matchings
from seatrial.pairs.survey import DesignChoice, SurveyPlan, plan_survey
from tests.support.builders import leaves, names

Pair = tuple[str, str]


def crossings(pairs: list[Pair], leaf_of: dict[str, str]) -> dict[str, set[frozenset[str]]]:
    """Node pairs that cross each leaf's uplinks."""
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for pair in pairs:
        here, there = (leaf_of[name] for name in pair)
        if here != there:
            found[here].add(frozenset(pair))
            found[there].add(frozenset(pair))
    return found


@settings(deadline=None)
@given(count=st.integers(2, 40), per_leaf=st.integers(1, 12), rounds=st.integers(1, 6), seed=st.integers(0, 99))
def test_matchings_and_their_cover_cross_everything(count: int, per_leaf: int, rounds: int, seed: int) -> None:
    nodes, leaf_of = names(count), leaves(count, per_leaf)
    drawn = matchings(nodes, leaf_of, rounds, seed)
    for pairs in drawn:
        named = [name for pair in pairs for name in pair]
        assert len(named) == len(set(named))
    extra = covering(drawn, nodes, leaf_of, seed)
    everything = [*(pair for pairs in drawn for pair in pairs), *extra]
    assert max(Counter(frozenset(pair) for pair in everything).values()) == 1
    assert {name for pair in everything for name in pair} == set(nodes)
    across = [pair for pair in combinations(nodes, 2) if leaf_of[pair[0]] != leaf_of[pair[1]]]
    possible = crossings(across, leaf_of)
    seen = crossings(everything, leaf_of)
    assert all(len(seen[leaf]) >= min(2, len(possible[leaf])) for leaf in possible)


@pytest.mark.parametrize("seed", range(20))
def test_eight_nodes_need_one_round_that_has_both_kinds(seed: int) -> None:
    nodes, leaf_of = names(8), leaves(8, 4)
    (pairs,) = matchings(nodes, leaf_of, 1, seed)
    assert covering([pairs], nodes, leaf_of, seed) == []
    assert len(pairs) == 4
    assert sum(leaf_of[one] == leaf_of[other] for one, other in pairs) == 2


@pytest.mark.parametrize(("topology", "directions"), [("fat-tree:8,per-leaf=4", 16), ("dragonfly:12", 26)])
def test_pairs_cross_both_directions_of_every_known_cable(topology: str, directions: int) -> None:
    launcher = SimulatedLauncher(Routes(parse_topology(topology)))
    wiring, nodes = launcher.wiring(), launcher.nodes.names
    drawn = matchings(nodes, wiring.leaf_of, 1, 1)
    without, extra = (covering(drawn, nodes, wiring.leaf_of, 1, known) for known in (None, wiring))

    def crossed(more: list[Pair]) -> set[Component]:
        pairs = [*drawn[0], *more]
        return {part for pair in pairs for way in (pair, pair[::-1]) for part in cables(way, wiring)}

    assert len(crossed(without)) < len(crossed(extra)) == len(crossed([*combinations(nodes, 2)])) == directions
    assert len(extra) <= directions / 2


def test_rounds_go_abroad_and_stay_at_home_in_turn() -> None:
    leaf_of = leaves(64, 8)
    drawn = matchings(names(64), leaf_of, 4, 1)
    inside = [sum(leaf_of[one] == leaf_of[other] for one, other in pairs) for pairs in drawn]
    assert inside == [0, 32, 0, 32]
    assert {len(pairs) for pairs in drawn} == {32}


def test_leaf_design_has_all_pairs_within_and_one_for_every_two_leaves() -> None:
    leaf_of = leaves(12, 3)
    pairs = [frozenset(pair) for one in leaf_design(names(12), leaf_of, 1) for pair in one]
    assert len(pairs) == len(set(pairs)) == 4 * 3 + 6
    between = Counter(frozenset(leaf_of[name] for name in pair) for pair in pairs)
    assert all(count == (3 if len(ends) == 1 else 1) for ends, count in between.items())
    assert len(between) == 4 + 6


@given(at_once=st.integers(1, 20), uplinks=st.one_of(st.none(), st.integers(1, 4)), seed=st.integers(0, 20))
def test_pieces_spare_nodes_and_uplinks(at_once: int, uplinks: int | None, seed: int) -> None:
    nodes, leaf_of = names(24), leaves(24, 6)
    pairs = [*matchings(nodes, leaf_of, 1, seed)[0], *matchings(nodes, leaf_of, 1, seed + 1)[0]]
    pieces = capped(pairs, at_once, leaf_of, uplinks)
    assert sorted(pair for piece in pieces for pair in piece) == sorted(pairs)
    for piece in pieces:
        named = [name for pair in piece for name in pair]
        assert len(named) == len(set(named))
        assert 0 < len(piece) <= at_once
        if uplinks:
            assert all(len(across) <= uplinks for across in crossings(piece, leaf_of).values())


def plan(count: int, choice: DesignChoice, per_leaf: int = 4, budget_s: float = 1e4) -> SurveyPlan:
    return plan_survey(
        names(count),
        pairs_at_once=max(count // 2, 1),
        window_s=0.01,
        budget_s=budget_s,
        seed=3,
        choice=choice,
        leaf_of=leaves(count, per_leaf),
    )


def test_sparse_says_what_it_promises() -> None:
    design = plan(56, DesignChoice.SPARSE).design
    assert (design.name, design.planned_pairs) == ("sparse", 2 * 4 * 28)
    assert "4 rounds over 56 nodes: with up to 6 of them slow, every slow node is detected, 0.0022 healthy" in (
        design.statement
    )
    assert "--design complete measures all." in design.statement


@pytest.mark.parametrize(("count", "planned"), [(8, 8), (10, 10), (7, 8), (5, 8), (4, 8), (16, 48)])
def test_small_clusters_take_one_round_where_one_node_may_be_slow(count: int, planned: int) -> None:
    assert plan(count, DesignChoice.SPARSE, per_leaf=count).design.planned_pairs == planned


def test_auto_is_complete_while_that_fits() -> None:
    assert plan(16, DesignChoice.AUTO).design.name == "complete"
    assert plan(16, DesignChoice.AUTO, budget_s=3).design.name == "sparse"
    assert plan(16, DesignChoice.COMPLETE, budget_s=3).design.name == "complete"
    assert plan(16, DesignChoice.LEAF).design.name == "leaf"


def test_ten_thousand_nodes_are_planned_sparsely() -> None:
    planned = plan(10_000, DesignChoice.AUTO, per_leaf=40, budget_s=600)
    met = {pair for one in planned.rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs}
    assert planned.design.name == "sparse"
    assert len(met) == planned.design.planned_pairs <= 16 * 10_000 + 1000
