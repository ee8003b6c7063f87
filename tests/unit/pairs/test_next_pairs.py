"""Next best pairs: what they split, what they may cross, and that they come to an end."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.locate.explanation import Crossings, blamed_parts
from seatrial.model.fabric import NO_FABRIC, Component, Fabric
from seatrial.model.subject import Direction
from seatrial.pairs.leaf_matchings import matchings
from seatrial.pairs.survey import Known, next_pairs
from tests.support.builders import leaves, names
from tests.support.properties import examples

Pair = tuple[str, str]


def known(measured: list[Pair], sick: set[Component], fabric: Fabric) -> Known:
    bad = frozenset(pair for pair in measured if sick & set(fabric.path(*pair)))
    good = Crossings(fabric, frozenset(measured) - bad)
    return Known(bad=bad, acquitted=good.parts, blamed=tuple(blamed_parts(dict.fromkeys(bad, 1.0), good)))


def both(pairs: list[Pair]) -> list[Pair]:
    return [way for one, other in pairs for way in ((one, other), (other, one))]


def test_nothing_bad_nothing_asked() -> None:
    what = known(both([("n1", "n2"), ("n3", "n4")]), set(), NO_FABRIC)
    assert next_pairs(names(4), what, NO_FABRIC, asked=(), seed=1) == []


def test_of_two_nodes_one_is_measured_with_a_good_one() -> None:
    measured = both([("n1", "n2"), ("n3", "n4")])
    what = known(measured, {Component(kind="node", name="n1", direction=Direction.OUT)}, NO_FABRIC)
    (asked,) = next_pairs(names(4), what, NO_FABRIC, asked=measured, seed=1)
    assert asked in {("n1", "n3"), ("n1", "n4"), ("n3", "n2"), ("n4", "n2")}


def test_where_nothing_is_acquitted_nothing_can_be_told() -> None:
    sick = {Component(kind="node", name="n1", direction=way) for way in (Direction.OUT, Direction.IN)}
    measured = both([("n1", "n2")])
    assert next_pairs(names(2), known(measured, sick, NO_FABRIC), NO_FABRIC, asked=measured, seed=1) == []


def test_never_a_pair_that_was_asked_and_never_a_node_that_is_not_there() -> None:
    measured = both([("n1", "n2"), ("n3", "n4"), ("n5", "n6")])
    what = known(measured, {Component(kind="node", name="n1", direction=Direction.OUT)}, NO_FABRIC)
    asked = [*measured, ("n1", "n3"), ("n1", "n4")]
    for seed in range(20):
        for pair in next_pairs(("n1", "n2", "n3", "n4"), what, NO_FABRIC, asked=asked, seed=seed):
            assert pair not in asked
            assert set(pair) <= {"n1", "n2", "n3", "n4"}


@settings(deadline=None, max_examples=examples(150))
@given(
    shape=st.sampled_from([(8, 8), (8, 4), (8, 2), (12, 4), (40, 10), (96, 12)]),
    seed=st.integers(0, 10_000),
    data=st.data(),
)
def test_one_sick_part_is_found_or_what_no_pair_tells_from_it(
    shape: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    """After the few steps that a check takes, exactly the sick part is blamed; nothing else but its twins."""
    count, per_leaf = shape
    nodes, fabric = names(count), Fabric(leaf_of=leaves(count, per_leaf), source="test")
    parts = sorted({part for pair in permutations(nodes[:: max(count // 12, 1)], 2) for part in fabric.path(*pair)})
    sick = data.draw(st.sampled_from(parts))
    drawn = matchings(nodes, fabric.leaf_of, 1 if count <= 10 else 2, seed)
    measured = both([pair for pairs in drawn for pair in pairs])
    fresh = 0
    for step in range(3):
        pairs = next_pairs(nodes, known(measured, {sick}, fabric), fabric, asked=measured, seed=seed + step)
        assert not set(pairs) & set(measured)
        fresh += len(pairs)
        measured += pairs
    what = known(measured, {sick}, fabric)
    if not what.bad:
        return
    blamed = frozenset[Component]().union(*what.blamed)
    assert sick in blamed
    if count <= 12:
        everywhere = [set(fabric.path(*pair)) for pair in permutations(nodes, 2)]
        assert blamed == {part for part in blamed if all((part in path) == (sick in path) for path in everywhere)}
        assert fresh <= 6


@pytest.mark.parametrize("seed", range(10))
def test_one_way_of_one_node_takes_two_pairs_at_most(seed: int) -> None:
    nodes, fabric = names(8), Fabric(leaf_of=leaves(8, 2), source="test")
    sick = {Component(kind="node", name="n3", direction=Direction.IN)}
    measured = both(matchings(nodes, fabric.leaf_of, 1, seed)[0])
    before = len(measured)
    for step in range(3):
        measured += next_pairs(nodes, known(measured, sick, fabric), fabric, asked=measured, seed=step)
    assert len(measured) - before <= 2
    assert known(measured, sick, fabric).blamed == (frozenset(sick),)
