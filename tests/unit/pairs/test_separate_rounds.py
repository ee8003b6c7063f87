"""Rounds of a large survey: pairs that share no cable, and every cable crossed about equally often."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fabric.routed_fabric import RoutedFabric
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.model.fabric import Component, Fabric, Wiring
from seatrial.model.measurement import Kernel
from seatrial.pairs.leaf_matchings import (
    MANY_NODES,
    apart,
    cables,
    even_matchings,
    leaf_matching,
    matchings,
    members_of,
    on_shared_cables,
    on_two_levels,
)
from seatrial.pairs.rounds import Pair, sparse_rounds
from seatrial.pairs.survey import DesignChoice, SurveyPlan, plan_survey
from tests.support.builders import leaves, names

WINDOW_S = 1e-4


def routed(topology: str) -> RoutedFabric:
    return SimulatedLauncher(Routes(parse_topology(topology))).wiring()


def planned(
    nodes: tuple[str, ...], wiring: Wiring | None, *, uplinks: int | None = None, budget_s: float = 600.0
) -> SurveyPlan:
    return plan_survey(
        nodes,
        pairs_at_once=len(nodes) // 2,
        window_s=WINDOW_S,
        budget_s=budget_s,
        seed=3,
        choice=DesignChoice.SPARSE,
        leaf_of=wiring.leaf_of if wiring else leaves(len(nodes), 8),
        uplinks=uplinks,
        wiring=wiring,
    )


def directions(fabric: Wiring, pairs: list[Pair]) -> Counter[Component]:
    both = [*pairs, *((target, source) for source, target in pairs)]
    return Counter(cable for pair in both for cable in cables(pair, fabric))


@pytest.mark.parametrize("count", [256, 272])
def test_every_cable_of_a_fat_tree_is_crossed_as_often_as_any_other(count: int) -> None:
    """Sixteen nodes on eight uplinks: two pairs for each direction of a cable, in each round between leaves."""
    fabric = routed(f"fat-tree:{count},per-leaf=16,oversubscription=2,cables=1")
    nodes = tuple(fabric.leaf_of)
    drawn = even_matchings(nodes, fabric, 4, seed=1)
    cables_of_all = len(directions(fabric, [pair for pairs in sparse_rounds(nodes, 40, 1) for pair in pairs]))
    for pairs in drawn[::2]:
        assert len(pairs) == count // 2
        crossed = directions(fabric, pairs)
        assert len(crossed) == cables_of_all
        assert set(crossed.values()) == {2}
    assert all(not cables(pair, fabric) for pairs in drawn[1::2] for pair in pairs)
    random_pairs = directions(fabric, matchings(nodes, fabric.leaf_of, 4, 1)[0])
    assert len(random_pairs) < cables_of_all


@settings(deadline=None)
@given(count=st.integers(4, 90), per_leaf=st.integers(1, 12), rounds=st.integers(1, 5), seed=st.integers(0, 99))
def test_matched_leaves_take_every_node_once_and_no_pair_twice(
    count: int, per_leaf: int, rounds: int, seed: int
) -> None:
    nodes, leaf_of = names(count), leaves(count, per_leaf)
    members = members_of(nodes, leaf_of)
    used: set[frozenset[str]] = set()
    for leaf_pairs in sparse_rounds(list(members), rounds, seed)[:rounds]:
        pairs = leaf_matching(members, leaf_pairs, used, random.Random(seed))
        named = [name for pair in pairs for name in pair]
        assert len(named) == len(set(named))
        assert used.isdisjoint(map(frozenset, pairs))
        if len(members) % 2 == 0 and count % per_leaf == 0:
            assert len(named) == count
            assert all(leaf_of[source] != leaf_of[target] for source, target in pairs)
        used |= set(map(frozenset, pairs))


def test_on_more_levels_and_where_only_leaves_are_known_pairs_are_drawn_from_all_leaves() -> None:
    for fabric in (routed("dragonfly:144"), routed("fat-tree3:128"), Fabric(leaf_of=leaves(96, 8), source="")):
        nodes = tuple(fabric.leaf_of)
        assert not on_two_levels(members_of(nodes, fabric.leaf_of), fabric)
        assert even_matchings(nodes, fabric, 4, 5) == matchings(nodes, fabric.leaf_of, 4, 5)


@pytest.mark.parametrize("topology", ["fat-tree:100,oversubscription=4", "dragonfly:144", "fat-tree3:128"])
def test_no_two_pairs_of_a_round_of_a_large_survey_share_a_cable(topology: str) -> None:
    fabric = routed(topology)
    plan = planned(tuple(fabric.leaf_of), fabric)
    assert plan.separate
    rounds = [one for one in plan.rounds if one.shape.kernel is Kernel.ONEWAY and one.repetition == 0]
    for one in rounds:
        crossed = [part for pair in one.pairs for part in fabric.path(*pair)]
        assert len(crossed) == len(set(crossed))
    met = Counter(pair for one in rounds for pair in one.pairs)
    assert set(met.values()) == {1}
    assert all(pair[::-1] in met for pair in met)
    assert {name for pair in met for name in pair} == set(fabric.leaf_of)
    assert 4 * len(fabric.leaf_of) <= len(met) < 4.2 * len(fabric.leaf_of)


def test_where_leaves_alone_are_known_each_is_left_by_one_pair_at_a_time() -> None:
    fabric = Fabric(leaf_of=leaves(96, 8), source="")
    plan = planned(names(96), fabric)
    assert plan.separate
    for one in plan.rounds:
        crossed = [part for pair in one.pairs for part in fabric.path(*pair)]
        assert len(crossed) == len(set(crossed))


def test_small_clusters_and_nodes_that_share_a_kernel_are_planned_as_before() -> None:
    for count in (8, 16, MANY_NODES - 1):
        fabric = Fabric(leaf_of=leaves(count, 4), source="")
        without = plan_survey(
            names(count), pairs_at_once=count // 2, window_s=WINDOW_S, budget_s=600.0, seed=3,
            choice=DesignChoice.SPARSE, leaf_of=fabric.leaf_of,
        )  # fmt: skip
        assert planned(names(count), fabric) == without
        assert not without.separate
    large = Fabric(leaf_of=leaves(96, 8), source="")
    assert planned(names(96), large, uplinks=1) == planned(names(96), None, uplinks=1)
    assert not planned(names(96), Fabric(leaf_of=dict.fromkeys(names(96), "leaf"), source="")).separate


def test_other_jobs_use_known_cables_and_what_lies_between_the_leaves_of_many_nodes() -> None:
    known = routed("fat-tree:16,per-leaf=4")
    assert on_shared_cables(("n1", "n5"), known)
    assert not on_shared_cables(("n1", "n2"), known)
    for count in (16, MANY_NODES):
        fabric = Fabric(leaf_of=leaves(count, 4), source="")
        assert on_shared_cables(("n1", "n5"), fabric) == (count == MANY_NODES)
        assert not on_shared_cables(("n1", "n2"), fabric)


def test_a_small_budget_takes_rounds_from_a_large_survey_and_leaves_no_node_out() -> None:
    fabric = routed("fat-tree:100,oversubscription=2")
    sizes = []
    for budget_s in (600.0, 4.0, 0.5):
        plan = planned(tuple(fabric.leaf_of), fabric, budget_s=budget_s)
        met = {pair for one in plan.rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs}
        assert {name for pair in met for name in pair} == set(fabric.leaf_of)
        sizes.append(len(met))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_pieces_both_ways_share_no_cable_in_either_direction() -> None:
    fabric = routed("fat-tree:64,oversubscription=2")
    pairs = [pair for one in sparse_rounds(tuple(fabric.leaf_of), 3, seed=1) for pair in one]
    rounds = apart(pairs, fabric, 64, both_ways=True)
    assert sorted(pair for one in rounds for pair in one) == sorted(pairs)
    for one in rounds:
        crossed = directions(fabric, one)
        assert set(crossed.values()) <= {1}
    one_way = apart(pairs, fabric, 64)
    assert any(max(directions(fabric, one).values()) > 1 for one in one_way)
