"""Pairs that tell suspects apart, pieces without contention, shifts."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.topology import fat_tree
from seatrial.pairing.complete import Pair
from seatrial.pairing.conflicts import pieces
from seatrial.pairing.next_best import Question, next_best
from seatrial.pairing.shifts import shift_round, shift_rounds
from seatrial.pairing.sparse import sparse_rounds

WAYS: dict[Pair, tuple[int, ...]] = {
    ("a", "b"): (1, 2, 3, 4),
    ("a", "c"): (1, 2, 9),
    ("d", "b"): (8, 3, 4),
    ("e", "b"): (7, 4),
    ("f", "g"): (2, 5),
}


def across(hop: int) -> list[tuple[Pair, tuple[int, ...]]]:
    return [(pair, path) for pair, path in WAYS.items() if hop in path]


def question(*hops: int) -> Question:
    return Question(members=tuple(frozenset([hop]) for hop in hops))


def ask(asked: Question, acquitted: set[int], **more: object) -> list[Pair]:
    given_: dict[str, object] = {"known": [("a", "b")], "limit": 9, "seed": 1, **more}
    return [pair for pair, _ in next_best([asked], acquitted, across, **given_).pairs]  # type: ignore[arg-type]


def test_the_pair_that_halves_the_suspects_is_next() -> None:
    everything = {5, 7, 8, 9}
    assert ask(question(1, 2, 3, 4), everything) in ([("a", "c")], [("d", "b")])
    assert ask(question(3, 4), everything | {1, 2}) == [("e", "b")]
    assert ask(question(2), everything | {1, 3, 4}) in ([("a", "c")], [("f", "g")])


def test_a_pair_with_anything_else_unproved_on_its_way_is_no_answer() -> None:
    assert ask(question(3, 4), {8, 1, 2}) == []
    assert next_best([question(3, 4)], {8}, across, known=[], limit=9, seed=1).stuck == (0,)


def test_what_nothing_speaks_against_will_do_where_there_is_no_better() -> None:
    assert ask(question(3, 4), {8}, neutral={7}) == [("e", "b")]
    assert ask(question(2), {5, 1}, neutral={9}) == [("f", "g")]


def test_no_pair_is_asked_twice_and_no_more_than_the_limit() -> None:
    assert ask(question(1), {2, 3, 4, 9}, known=[("a", "b"), ("a", "c")]) == []
    two = [question(3, 4), question(2)]
    assert len(next_best(two, {1, 5, 7, 8, 9}, across, known=[("a", "b")], limit=1, seed=1).pairs) == 1
    same = [question(4), question(4), question(4)]
    found = next_best(same, {1, 2, 3, 7, 8}, across, known=[], limit=9, seed=1).pairs
    assert len({pair for pair, _ in found}) == len(found) == 3


def test_a_bundle_is_one_member() -> None:
    bundle = Question(members=(frozenset([1, 2]), frozenset([3, 4])))
    assert ask(bundle, {9, 8, 7, 5}) != []
    assert ("a", "b") not in ask(bundle, {9, 8, 7, 5}, known=[])


@given(count=st.integers(2, 30), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_pieces_share_nothing_and_lose_nothing(count: int, seed: int) -> None:
    draw = random.Random(seed)
    pairs = [(f"s{draw.randrange(9)}", f"t{draw.randrange(9)}") for _ in range(count)]
    paths = [draw.sample(range(20), draw.randint(0, 4)) for _ in range(count)]
    found = pieces(pairs, paths)
    assert sorted(place for piece in found for place in piece) == list(range(count))
    for piece in found:
        things = Counter(thing for place in piece for thing in (*pairs[place], *paths[place]))
        assert set(things.values()) <= {1}
    busiest = Counter(thing for pair, path in zip(pairs, paths, strict=True) for thing in (*pair, *path))
    assert max(busiest.values()) <= len(found)


def test_all_shifts_are_every_ordered_pair_once() -> None:
    nodes = [f"n{number}" for number in range(7)]
    pairs = [pair for one in shift_rounds(nodes, 99, seed=1) for pair in one]
    assert len(pairs) == len(set(pairs)) == 7 * 6
    with pytest.raises(ValueError, match="7 is no shift"):
        shift_round(nodes, 7)


def test_shifts_stay_away_from_neighbours_where_they_can() -> None:
    nodes = [f"n{number}" for number in range(20)]
    for seed in range(20):
        for one in shift_rounds(nodes, 3, seed, near=4):
            by = (nodes.index(one[0][1]) - nodes.index(one[0][0])) % 20
            assert 4 < by < 16
    assert len(shift_rounds(nodes[:5], 4, seed=1, near=4)) == 4


def test_on_a_fat_tree_shifts_need_few_pieces_and_matchings_many() -> None:
    routes = Routes(fat_tree(324, {"per-leaf": 18}))
    shifts = [len(pieces(one, routes.paths(one))) for one in shift_rounds(routes.adapters, 6, seed=2, near=18)]
    both = [[*one] for one in sparse_rounds(routes.adapters, 6, seed=2)]
    matchings = [len(pieces(one, routes.paths(one))) for one in both]
    assert max(shifts) <= 3
    assert 2 * sum(matchings) > 1.5 * sum(shifts)
