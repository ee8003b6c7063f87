"""The circle method: every pair once, nobody twice in a round, nobody left out."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from seatrial.pairs.complete import circle_rounds
from seatrial.pairs.leaf_matchings import capped


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
