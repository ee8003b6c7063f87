"""Uplinks between groups of nodes in complete tables, and the cables of known routes."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pytest

from seatrial.locate.table import locate_in_table
from seatrial.model.fabric import Component
from seatrial.model.pair_faults import Located
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from tests.support.pair_tables import Cell, draw_rates, table_of_rates


def leaves(count: int, size: int, noise: float, seed: int) -> tuple[Reals, Indices, list[list[str]]]:
    """Rates of a healthy fabric, 10 % less between leaves; the leaf of each node; the nodes of each leaf."""
    rate, _ = draw_rates(Cell(nodes=count * size, noise=noise), np.random.default_rng(seed))
    leaf = np.arange(count * size) // size
    rate[leaf[:, None] != leaf] *= 0.9
    groups = [[f"n{number}" for number in np.flatnonzero(leaf == one)] for one in range(count)]
    return rate, leaf, groups


def slowed(rate: Reals, leaf: Indices, one: int, share: float, direction: Direction) -> None:
    far = leaf[:, None] != leaf
    if direction is not Direction.IN:
        rate[(leaf == one)[:, None] & far] *= share
    if direction is not Direction.OUT:
        rate[(leaf == one) & far] *= share


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("count", "size"), [(3, 4), (4, 4), (8, 4), (10, 3)])
@pytest.mark.parametrize("share", [0.9, 0.5])
def test_a_slow_uplink_is_named_and_no_node(count: int, size: int, share: float, direction: Direction) -> None:
    for seed in range(5):
        rate, leaf, groups = leaves(count, size, 0.01, seed)
        slowed(rate, leaf, 1, share, direction)
        found = locate_in_table(table_of_rates(rate), groups)
        (fault,) = found.faults
        assert (fault.subject.text, fault.direction) == (f"uplink:group of n{size}", direction)
        assert fault.low <= 1 - share <= fault.high
        assert not found.ambiguous


@pytest.mark.parametrize(("count", "size", "noise"), [(4, 4, 0.03), (5, 2, 0.03), (8, 4, 0.08), (12, 3, 0.08)])
def test_an_uplink_is_found_by_all_its_ways_where_no_single_one_is_clear(count: int, size: int, noise: float) -> None:
    found = 0
    for seed in range(10):
        rate, leaf, groups = leaves(count, size, noise, seed)
        slowed(rate, leaf, 1, 0.9, Direction.BOTH)
        faults = locate_in_table(table_of_rates(rate), groups).faults
        found += f"uplink:group of n{size}" in {fault.subject.text for fault in faults}
    assert found >= 9


@pytest.mark.parametrize(("count", "size"), [(3, 2), (4, 4), (8, 4)])
@pytest.mark.parametrize("noise", [0.001, 0.05, 0.15])
def test_healthy_uplinks_are_left_alone(count: int, size: int, noise: float) -> None:
    named = 0
    for seed in range(25):
        rate, _, groups = leaves(count, size, noise, seed)
        named += bool(locate_in_table(table_of_rates(rate), groups).faults)
    assert named <= 1


def test_a_slow_node_and_a_slow_uplink() -> None:
    for seed in range(5):
        rate, leaf, groups = leaves(6, 4, 0.01, seed)
        slowed(rate, leaf, 2, 0.6, Direction.BOTH)
        rate[17], rate[:, 17] = rate[17] * 0.8, rate[:, 17] * 0.8
        found = locate_in_table(table_of_rates(rate), groups)
        assert {fault.subject.text for fault in found.faults} == {"uplink:group of n8", "node:n17"}


def test_slow_nodes_that_share_a_leaf_are_nodes() -> None:
    """Their pairs among each other are slow as well, so it is not the uplink."""
    rate, leaf, groups = leaves(6, 4, 0.01, 0)
    for node in np.flatnonzero(leaf == 3):
        rate[node], rate[:, node] = rate[node] * 0.7, rate[:, node] * 0.7
    found = locate_in_table(table_of_rates(rate), groups)
    assert {fault.subject.text for fault in found.faults} == {"node:n12", "node:n13", "node:n14", "node:n15"}


def test_heavy_tails_over_many_leaves_are_no_slow_uplinks() -> None:
    """Some of 1,560 ways between 40 leaves are far better than usual by chance; these do not serve as a reference."""
    rate, _, groups = leaves(40, 2, 0.001, 0)
    rate *= np.exp(0.03 * np.random.default_rng(1).standard_t(4, rate.shape))
    found = locate_in_table(table_of_rates(rate), groups)
    assert (found.faults, found.ambiguous) == ((), ())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("share", "named"), [(0.995, False), (0.985, True)])
def test_nodes_that_are_good_within_their_leaf_are_not_named(share: float, named: bool, seed: int) -> None:
    rate, leaf, groups = leaves(4, 3, 0.001, seed)
    slowed(rate, leaf, 1, share, Direction.BOTH)
    found = locate_in_table(table_of_rates(rate), groups)
    assert [fault.subject.text for fault in found.faults] == ["uplink:group of n3"] * named
    assert not found.ambiguous


def test_a_leaf_whose_own_pairs_do_not_distinguish_is_undecided() -> None:
    rate, leaf, groups = leaves(6, 2, 0.08, 0)
    slowed(rate, leaf, 1, 0.9, Direction.BOTH)
    found = locate_in_table(table_of_rates(rate), groups)
    assert (found.verdict, found.faults) == (Verdict.INCONCLUSIVE, ())
    (either,) = found.ambiguous
    assert [one.text for one in either.subjects] == ["uplink:group of n2", "node:n2", "node:n3"]


class Spines:
    """Four leaves of four nodes, two spines: the target's number decides which spine a pair crosses."""

    leaf_of: Mapping[str, str] = {}
    source = "made up"
    notes: tuple[str, ...] = ()
    bundles: Mapping[int, list[int]] = {}

    def path(self, source: str, target: str) -> Iterator[Component]:
        here, there = int(source[1:]), int(target[1:])
        yield Component(kind="node", name=source, direction=Direction.OUT)
        if here // 4 != there // 4:
            yield Component(kind="link", name=f"l{here // 4}-s{there % 2}", direction=Direction.OUT)
            yield Component(kind="link", name=f"l{there // 4}-s{there % 2}", direction=Direction.IN)
        yield Component(kind="node", name=target, direction=Direction.IN)

    def measured(self, pairs: Collection[tuple[str, str]]) -> "Spines":
        return self

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        return []


def routed(cable: tuple[int, int], share: float, slow_node: int | None = None) -> Located:
    rate, leaf, groups = leaves(4, 4, 0.003, 1)
    rate[leaf[:, None] != leaf] /= 0.9
    crosses = (leaf == cable[0])[:, None] & (leaf != cable[0]) & (np.arange(16) % 2 == cable[1])
    rate[crosses] *= share
    if slow_node is not None:
        rate[slow_node], rate[:, slow_node] = rate[slow_node] * 0.95, rate[:, slow_node] * 0.95
    return locate_in_table(table_of_rates(rate), groups, Spines())


@pytest.mark.parametrize("share", [0.9, 0.5])
def test_a_slow_cable_on_known_routes(share: float) -> None:
    found = routed((2, 1), share)
    (fault,) = found.faults
    assert (fault.subject.text, fault.direction) == ("link:l2-s1", Direction.OUT)
    assert fault.loss_ratio == pytest.approx(1 - share, abs=0.01)


def test_a_slow_cable_and_a_node_that_is_5_percent_slow() -> None:
    found = routed((2, 1), 0.7, slow_node=5)
    assert {fault.subject.text for fault in found.faults} == {"link:l2-s1", "node:n5"}


def test_more_knowledge_never_makes_a_healthy_table_worse() -> None:
    rate, _, groups = leaves(4, 4, 0.003, 1)
    for known in ((), groups):
        assert locate_in_table(table_of_rates(rate / 1.0), known).verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)
    assert routed((2, 1), 1.0).verdict is Verdict.PASS
