"""Pieces of a round without contention, and shifts."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.topology import fat_tree
from seatrial.pairing.conflicts import pieces
from seatrial.pairing.shifts import shift_round, shift_rounds
from seatrial.pairing.sparse import sparse_rounds


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
