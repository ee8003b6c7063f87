"""Rounds under load: whole leaves send at once, to partners spread evenly over the others."""

import itertools
import random
from collections import Counter

import pytest

from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.model.subject import Direction
from seatrial.pairs.load_rounds import (
    LARGE_LEAF,
    MANY_LEAVES,
    Leaves,
    again_rounds,
    bisection_rounds,
    block_split,
    first_rounds,
    halves,
    in_blocks,
    leaf_blocks,
    leaf_round,
    leaves_of,
    light_rounds,
    load_shape,
    split_round,
)
from tests.support.builders import names
from tests.support.shared_links import even, sizes


def grouped(leaf_of: dict[str, str]) -> Leaves:
    return leaves_of(tuple(leaf_of), leaf_of)


def rounds_of(leaf_of: dict[str, str], *, light: bool = False) -> list[list[tuple[str, str]]]:
    return first_rounds(grouped(leaf_of), tuple(leaf_of), 1, light=light)


CLUSTERS = [even(2, 4), even(3, 2), even(4, 8), even(5, 3), even(12, 16), sizes(8, 4, 2), sizes(3, 1, 1, 5, 7, 2, 9)]


@pytest.mark.parametrize(
    "leaf_of", CLUSTERS, ids=lambda leaf_of: "-".join(map(str, Counter(leaf_of.values()).values()))
)
def test_a_node_is_in_a_round_once_at_most_and_no_pair_stays_in_its_leaf(leaf_of: dict[str, str]) -> None:
    rounds = rounds_of(leaf_of, light=True)
    assert rounds
    for pairs in rounds:
        nodes = [name for pair in pairs for name in pair]
        assert len(nodes) == len(set(nodes))
        assert set(nodes) <= leaf_of.keys()
    leaves = grouped(leaf_of)
    for pairs in rounds + again_rounds(leaves, [("leaf1", Direction.OUT), ("leaf2", Direction.IN)], 6, 1):
        if sorted(map(sorted, pairs)) not in [sorted(map(sorted, one)) for one in bisection_rounds(tuple(leaf_of))]:
            assert all(leaf_of[source] != leaf_of[target] for source, target in pairs)


@pytest.mark.parametrize(("leaf_count", "per_leaf"), [(3, 2), (3, 6), (4, 6), (9, 16)])
@pytest.mark.parametrize("turn", range(4))
def test_one_leaf_sends_with_all_its_nodes_and_its_partners_are_spread(
    leaf_count: int, per_leaf: int, turn: int
) -> None:
    leaf_of = even(leaf_count, per_leaf)
    there = leaf_round(grouped(leaf_of), "leaf2", Direction.OUT, turn)
    back = leaf_round(grouped(leaf_of), "leaf2", Direction.IN, turn)
    assert back == [(target, source) for source, target in there]
    assert {leaf_of[source] for source, _ in there} == {"leaf2"}
    assert len(there) == per_leaf
    partners = Counter(leaf_of[target] for _, target in there)
    assert max(partners.values()) <= -(-per_leaf // (leaf_count - 1))


def test_partners_have_the_same_place_in_their_leaf_and_change_with_the_turn() -> None:
    leaf_of = even(5, 8)
    leaves = grouped(leaf_of)
    place = {node: number for members in leaves.values() for number, node in enumerate(members)}
    rounds = [leaf_round(leaves, "leaf1", Direction.OUT, turn) for turn in range(4)]
    assert all(place[source] == place[target] for pairs in rounds for source, target in pairs)
    assert len({tuple(pairs) for pairs in rounds}) == 4


def test_after_all_leaves_partners_have_other_places() -> None:
    """On static routes the nodes of one place may share a cable: they must not be the partners in every turn."""
    leaves = leaves_of(names(16), even(4, 4))
    turns = [frozenset(leaf_round(leaves, "leaf1", Direction.OUT, turn)) for turn in range(12)]
    assert len({*turns}) == 12
    assert all(len({target for _, target in turn}) == 4 for turn in turns)


def test_more_nodes_than_the_others_have_cannot_send_at_once() -> None:
    pairs = leaf_round(grouped(sizes(9, 2, 3)), "leaf1", Direction.OUT, 0)
    assert len(pairs) == 5


@pytest.mark.parametrize("leaf_count", [5, 6, 9, 16])
def test_of_many_leaves_each_sends_and_receives_with_all_its_nodes(leaf_count: int) -> None:
    leaf_of = even(leaf_count, 4)
    seen: Counter[tuple[str, str]] = Counter()
    for pairs in rounds_of(leaf_of):
        assert len(pairs) == 4 * (leaf_count // 2)
        sent = Counter(leaf_of[source] for source, _ in pairs)
        received = Counter(leaf_of[target] for _, target in pairs)
        assert set(sent.values()) == set(received.values()) == {4}
        seen.update((leaf, "out") for leaf in sent)
        seen.update((leaf, "in") for leaf in received)
    assert len(seen) == 2 * leaf_count
    assert min(seen.values()) >= 1


def test_each_leaf_is_spread_over_all_that_receive() -> None:
    leaf_of = even(8, 4)
    pairs = split_round(grouped(leaf_of), ["leaf1", "leaf3", "leaf5", "leaf7"], ["leaf2", "leaf4", "leaf6", "leaf8"], 0)
    assert len({(leaf_of[source], leaf_of[target]) for source, target in pairs}) == 16


def test_both_halves_have_about_as_many_nodes() -> None:
    leaves = grouped(sizes(16, 15, 8, 7, 2, 1))
    for seed in range(10):
        one, other = halves(leaves, random.Random(seed))
        assert len(one) == len(other) == 3
        assert abs(sum(len(leaves[name]) for name in one) - sum(len(leaves[name]) for name in other)) <= 3


def test_the_cost_does_not_grow_with_the_number_of_leaves() -> None:
    assert len(rounds_of(even(500, 20))) == 6
    assert len(rounds_of(even(500, 20), light=True)) == 10
    assert len(rounds_of(even(4, 8))) == 20


def test_in_light_rounds_each_leaf_has_one_pair() -> None:
    leaf_of = even(7, 4)
    for turn in range(3):
        there, back = light_rounds(grouped(leaf_of), turn)
        leaves = [leaf_of[name] for pair in there for name in pair]
        assert len(leaves) == len(set(leaves)) == 6
        assert back == [(target, source) for source, target in there]


def test_without_leaves_half_of_the_nodes_send_to_the_other_half() -> None:
    nodes = names(7)
    there, back = bisection_rounds(nodes)
    assert there == [("n1", "n4"), ("n2", "n5"), ("n3", "n6")]
    assert back == [("n4", "n1"), ("n5", "n2"), ("n6", "n3")]
    assert first_rounds(Leaves(), nodes, 1, light=False) == [there, back] * 2
    assert first_rounds(Leaves(), names(3), 1, light=False) == []


def test_nodes_of_unknown_leaf_are_left_out() -> None:
    assert leaves_of(names(4), {"n1": "leaf1", "n2": "leaf1", "n4": ""}) == {"leaf1": ["n1", "n2"]}


@pytest.mark.parametrize("window_s", [0.0, 80e-6, 0.001, 0.036, 0.134, 3.0])
def test_streams_are_long_enough_to_be_counted_and_no_longer(window_s: float) -> None:
    shape = load_shape(window_s)
    each_s = window_s * shape.window / 4
    assert 1 <= shape.window <= 4
    assert 6 <= shape.iterations <= 1000
    assert shape.warmup == 1
    assert shape.iterations * each_s <= max(0.1 + each_s, 6 * max(0.045, window_s / 4))


# Many large leaves: two partners at a time.


def test_in_blocks_each_leaf_has_two_partners_and_every_node_takes_part() -> None:
    leaf_of = even(40, 16)
    there, back = block_split(grouped(leaf_of), random.Random(3))
    assert back == [(target, source) for source, target in there]
    named = [name for pair in there for name in pair]
    assert len(named) == len(set(named)) == 640
    partners: dict[str, set[str]] = {}
    for source, target in there:
        partners.setdefault(leaf_of[source], set()).add(leaf_of[target])
        partners.setdefault(leaf_of[target], set()).add(leaf_of[source])
    assert len(partners) == 40
    assert {len(own) for own in partners.values()} == {2}


@pytest.mark.parametrize("oversubscription", [2, 4])
@pytest.mark.parametrize("count", [640, 650])
def test_in_blocks_all_cables_of_an_uplink_carry_as_many_streams(count: int, oversubscription: int) -> None:
    """Leaves of 15 and 16 nodes: their numbers are shifted against each other, and partners anywhere share cables."""
    topology = f"fat-tree:{count},per-leaf=16,oversubscription={oversubscription},cables=1"
    fabric = SimulatedLauncher(Routes(parse_topology(topology))).wiring()
    leaves = leaves_of(tuple(fabric.leaf_of), fabric.leaf_of)

    def streams(pairs: list[tuple[str, str]]) -> Counter[object]:
        return Counter(part for pair in pairs for part in fabric.path(*pair) if part.kind == "link")

    rounds = block_split(leaves, random.Random(3))
    rounds += [
        leaf_blocks(leaves, leaf, way, turn) for leaf in list(leaves)[::9] for way in Direction for turn in range(3)
    ]
    for pairs in rounds:
        assert max(streams(pairs).values()) <= 2 * oversubscription
    anywhere = split_round(leaves, *halves(leaves, random.Random(3)), 1)
    if count % 16:
        assert max(streams(anywhere).values()) > 2 * oversubscription


@pytest.mark.parametrize("leaf_of", [even(5, 4), even(7, 9), even(33, 8), even(41, 16)])
@pytest.mark.parametrize("seed", range(6))
def test_of_an_odd_number_of_leaves_none_is_left_out_of_all_rounds(leaf_of: dict[str, str], seed: int) -> None:
    leaves = grouped(leaf_of)
    for blocks in (False, in_blocks(leaves)):
        rounds = first_rounds(leaves, tuple(leaf_of), seed, light=False, blocks=blocks)
        for end in (0, 1):
            assert {leaf_of[pair[end]] for pairs in rounds for pair in pairs} == leaves.keys()


def test_a_turn_has_the_same_partners_in_every_look() -> None:
    leaves = grouped(even(8, 9))
    keys = [(leaf, Direction.OUT) for leaf in ("leaf1", "leaf4", "leaf8")]
    for blocks in (False, True):
        both = again_rounds(leaves, keys, 6, 1, blocks=blocks)
        later = again_rounds(leaves, keys, 2, 7, blocks=blocks, first=1)
        assert {tuple(pairs) for pairs in later} == {tuple(pairs) for pairs in both[3:9]}
        assert len({tuple(pairs) for pairs in both}) > 9


def test_partners_of_a_small_leaf_are_spread_over_all_others() -> None:
    """In a dragonfly, leaves in a row are of one group, and one cable leads to it."""
    leaf_of = even(36, 3)
    (_, first), (_, second), (_, third) = leaf_round(grouped(leaf_of), "leaf5", Direction.OUT, 0)
    places = sorted(int(leaf_of[name].removeprefix("leaf")) for name in (first, second, third))
    assert min(later - earlier for earlier, later in itertools.pairwise(places)) >= 11


def test_one_leaf_in_blocks_is_loaded_with_all_its_nodes_and_other_partners_in_each_turn() -> None:
    leaf_of = sizes(*[16, 15] * 20)
    leaves = grouped(leaf_of)
    for leaf in ("leaf1", "leaf2", "leaf40"):
        seen = set()
        for turn in range(6):
            pairs = leaf_blocks(leaves, leaf, Direction.OUT, turn)
            assert [source for source, _ in pairs] == leaves[leaf]
            assert len({target for _, target in pairs}) == len(pairs)
            seen |= {leaf_of[target] for _, target in pairs}
            assert leaf_blocks(leaves, leaf, Direction.IN, turn) == [(target, source) for source, target in pairs]
        assert len(seen) == 12
        assert leaf not in seen


def test_few_leaves_and_small_ones_are_not_loaded_in_blocks() -> None:
    assert in_blocks(grouped(even(MANY_LEAVES, LARGE_LEAF)))
    assert not in_blocks(grouped(even(MANY_LEAVES - 1, 16)))
    assert not in_blocks(grouped(even(200, LARGE_LEAF - 1)))
    leaf_of = even(40, 16)
    leaves = grouped(leaf_of)
    blocks = first_rounds(leaves, tuple(leaf_of), 1, light=True, blocks=True)
    assert len(blocks) == 4 + 2
    assert len(first_rounds(leaves, tuple(leaf_of), 1, light=True)) == 4 + 6
    keys = [("leaf1", Direction.OUT), ("leaf2", Direction.IN)]
    again = again_rounds(leaves, keys, 6, 1, blocks=True)
    in_turn = (leaf_blocks, leaf_round) * 3
    assert sorted(again) == sorted(
        one_leaf(leaves, leaf, way, turn) for leaf, way in keys for turn, one_leaf in enumerate(in_turn)
    )
