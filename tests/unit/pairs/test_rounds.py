"""The circle method: every pair once, nobody twice in a round, nobody left out."""

import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.pairs.leaf_matchings import capped
from seatrial.pairs.rounds import circle_rounds, guarantee, pieces, rounds_needed, sparse_rounds, wrongly_left
from tests.support.properties import examples


@given(count=st.integers(0, 40))
def test_every_pair_exactly_once_and_no_node_twice_in_a_round(count: int) -> None:
    nodes = [f"n{place}" for place in range(count)]
    rounds = circle_rounds(nodes)
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met))
    assert set(met) == {frozenset(pair) for pair in combinations(nodes, 2)}
    for pairs in rounds:
        busy = [name for pair in pairs for name in pair]
        assert len(busy) == len(set(busy))


@given(count=st.integers(2, 40))
def test_the_fewest_rounds_there_can_be(count: int) -> None:
    assert len(circle_rounds([str(place) for place in range(count)])) == count - 1 + count % 2


@given(count=st.integers(3, 41).filter(lambda count: count % 2 == 1))
def test_of_an_odd_number_a_different_node_rests_in_each_round(count: int) -> None:
    nodes = {str(place) for place in range(count)}
    resting = [nodes - {name for pair in pairs for name in pair} for pairs in circle_rounds(sorted(nodes))]
    assert all(len(one) == 1 for one in resting)
    assert set().union(*resting) == nodes


@given(pairs=st.integers(0, 30), at_once=st.integers(1, 9))
def test_pieces_keep_all_in_order_and_none_is_too_long(pairs: int, at_once: int) -> None:
    whole = [(f"a{place}", f"b{place}") for place in range(pairs)]
    pieces = capped(whole, at_once, {}, None)
    assert [pair for piece in pieces for pair in piece] == whole
    assert all(0 < len(piece) <= at_once for piece in pieces)


# Sparse designs: disjoint random matchings, and a promise that counting confirms.


@given(st.integers(2, 60), st.integers(1, 8), st.integers(0, 1000))
def test_rounds_are_disjoint_matchings(count: int, rounds: int, seed: int) -> None:
    nodes = [f"n{number}" for number in range(count)]
    drawn = sparse_rounds(nodes, rounds, seed)
    assert len(drawn) == min(rounds, count - 1 + count % 2)
    for pairs in drawn:
        named = [name for pair in pairs for name in pair]
        assert len(named) == len(set(named)) == count - count % 2
    ends = [frozenset(pair) for one in drawn for pair in one]
    assert len(ends) == len(set(ends))


def test_the_seed_decides() -> None:
    nodes = [f"n{number}" for number in range(20)]
    assert sparse_rounds(nodes, 3, 1) == sparse_rounds(nodes, 3, 1) != sparse_rounds(nodes, 3, 2)


@pytest.mark.parametrize(
    ("nodes", "share", "error", "rounds"), [(1000, 0.05, 0.01, 4), (10_000, 0.01, 0.01, 3), (1, 0.1, 0.1, 1)]
)
def test_rounds_needed(nodes: int, share: float, error: float, rounds: int) -> None:
    assert rounds_needed(nodes, share, error) == rounds


@pytest.mark.parametrize(("rounds", "expected"), [(2, 0.505), (3, 0.038), (4, 0.0022), (6, 0.0)])
def test_figures_of_the_56_node_pilot(rounds: int, expected: float) -> None:
    assert wrongly_left(56, 6, rounds) == pytest.approx(expected, rel=0.03, abs=1e-5)


def test_counting_agrees_with_the_promise() -> None:
    nodes = [f"n{number}" for number in range(56)]
    left, trials = 0, 1500
    for seed in range(trials):
        faulty = set(random.Random(seed).sample(nodes, 6))
        partners: dict[str, set[str]] = {name: set() for name in nodes}
        for pairs in sparse_rounds(nodes, 2, seed):
            for one, other in pairs:
                partners[one].add(other)
                partners[other].add(one)
        left += sum(partners[name] <= faulty for name in nodes if name not in faulty)
    assert left / trials == pytest.approx(wrongly_left(56, 6, 2), rel=0.12)


def test_the_statement_gives_all_figures() -> None:
    said = guarantee(56, 4, 0.1).statement
    assert "4 rounds over 56 nodes" in said
    assert "0.0022" in said


@pytest.mark.parametrize(("share", "error"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0)])
def test_nonsense_is_refused(share: float, error: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        rounds_needed(10, share, error)


# Pieces of a round without contention.


@given(count=st.integers(2, 30), seed=st.integers(0, 999))
@settings(max_examples=examples(60), deadline=None)
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
