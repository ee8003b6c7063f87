"""From bad pairs to parts: nobody acquitted is named, and nothing bad is left unexplained."""

from collections.abc import Iterator
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from seatrial.locate.explanation import Crossings, PartSuspect, blame, both_ways, locate
from seatrial.model.fabric import NO_FABRIC, Component, Fabric, RoundTrips
from seatrial.model.subject import Direction, Subject, SubjectKind, node, pair, spine, uplink
from tests.support.builders import leaves, names
from tests.support.greedy_cover import greedy
from tests.support.processor_time import within

Pair = tuple[str, str]
WAYS = {Direction.OUT: {Direction.OUT}, Direction.IN: {Direction.IN}, Direction.BOTH: {Direction.OUT, Direction.IN}}


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[set[Pair], set[Pair], Fabric]:
    """Good and bad pairs without rhyme or reason, on any tree; some pairs were not measured."""
    nodes = [f"n{place}" for place in range(draw(st.integers(2, 7)))]
    leaf = st.sampled_from(["leaf1", "leaf2", "leaf3", None])
    hung = {name: draw(leaf) for name in nodes}
    fabric = Fabric(leaf_of={name: where for name, where in hung.items() if where}, source="test")
    fates = {one: draw(st.sampled_from(["good", "bad", "neither"])) for one in permutations(nodes, 2)}
    bad = {one for one, fate in fates.items() if fate == "bad"}
    good = {one for one, fate in fates.items() if fate == "good"}
    return bad, good, fabric


def components(subject: Subject, direction: Direction) -> set[Component]:
    return {Component(kind=subject.kind.value, name=subject.name, direction=way) for way in WAYS[direction]}


@given(outcomes())
def test_no_part_is_named_that_a_good_pair_crosses(case: tuple[set[Pair], set[Pair], Fabric]) -> None:
    bad, good, fabric = case
    acquitted = {part for one in good for part in fabric.path(*one)}
    for suspect in locate(dict.fromkeys(bad, 1.0), good, fabric):
        if suspect.subject.kind is SubjectKind.PAIR:
            continue
        assert not components(suspect.subject, suspect.direction) & acquitted
        for other in suspect.ambiguous_with:
            assert components(other, Direction.BOTH) - acquitted


@given(outcomes())
def test_every_bad_pair_is_explained_by_a_part_on_its_way(case: tuple[set[Pair], set[Pair], Fabric]) -> None:
    bad, good, fabric = case
    suspects = locate(dict.fromkeys(bad, 1.0), good, fabric)
    assert {one for suspect in suspects for one in suspect.pairs} == bad
    for suspect in suspects:
        if suspect.subject.kind is SubjectKind.PAIR:
            continue
        on_the_way = components(suspect.subject, suspect.direction)
        assert all(on_the_way & set(fabric.path(*one)) for one in suspect.pairs)


@given(outcomes())
def test_lost_packets_are_explained_though_nobody_is_acquitted(case: tuple[set[Pair], set[Pair], Fabric]) -> None:
    bad, good, fabric = case
    suspects = locate(dict.fromkeys(bad, 2.0), good, fabric, acquit=False)
    assert {one for suspect in suspects for one in suspect.pairs} == bad


@given(outcomes())
def test_no_subject_is_named_twice_for_itself(case: tuple[set[Pair], set[Pair], Fabric]) -> None:
    bad, good, fabric = case
    for suspect in locate(dict.fromkeys(bad, 1.0), good, fabric):
        assert suspect.subject not in suspect.ambiguous_with


def test_nothing_bad_names_nobody() -> None:
    assert locate({}, [("n1", "n2")], NO_FABRIC) == []


def test_the_part_that_explains_most_comes_alone() -> None:
    nodes = ("n1", "n2", "n3", "n4")
    bad = {one: 1.0 for one in permutations(nodes, 2) if one[0] == "n2"}
    good = [one for one in permutations(nodes, 2) if one not in bad]
    assert locate(bad, good, NO_FABRIC) == [
        PartSuspect(subject=node("n2"), direction=Direction.OUT, ambiguous_with=(), pairs=tuple(sorted(bad)))
    ]


class TwoSpines(Fabric, frozen=True, kw_only=True):
    """Two leaves on two spines; nodes of one parity cross the first."""

    def path(self, source: str, target: str) -> Iterator[Component]:
        yield from super().path(source, target)
        if self.leaf_of[source] != self.leaf_of[target]:
            name = f"spine{1 + (int(source[1:]) + int(target[1:])) % 2}"
            yield Component(kind="spine", name=name, direction=Direction.BOTH)


def test_an_uplink_that_is_slow_both_ways_is_one_part_and_two_spines_are_two() -> None:
    fabric = TwoSpines(leaf_of=leaves(8, 4), source="test")
    bad = {one: 1.0 for one in permutations(names(8), 2) if fabric.leaf_of[one[0]] != fabric.leaf_of[one[1]]}
    (suspect,) = locate(bad, [("n1", "n2"), ("n5", "n6")], fabric)
    assert (suspect.subject, suspect.ambiguous_with) == (uplink("leaf1"), (uplink("leaf2"),))
    one_way = {one: 1.0 for one in bad if fabric.leaf_of[one[0]] == "leaf1"}
    (suspect,) = locate(one_way, [one for one in bad if one not in one_way], fabric)
    assert (suspect.subject, suspect.direction) == (uplink("leaf1"), Direction.OUT)
    of_spine = {one: 1.0 for one in bad if (int(one[0][1:]) + int(one[1][1:])) % 2}
    (suspect,) = locate(of_spine, [one for one in bad if one not in of_spine], fabric)
    assert (suspect.subject, suspect.ambiguous_with) == (spine("spine2"), ())


def test_both_directions_of_an_uplink_compete_with_a_spine_which_has_one() -> None:
    fabric = TwoSpines(leaf_of=leaves(12, 4), source="test")
    between = [one for one in permutations(names(12), 2) if fabric.leaf_of[one[0]] != fabric.leaf_of[one[1]]]
    of_third = {one: 1.0 for one in between if "leaf3" in (fabric.leaf_of[one[0]], fabric.leaf_of[one[1]])}
    over_spine2 = {one for one in between if (int(one[0][1:]) + int(one[1][1:])) % 2}
    good = [one for one in over_spine2 if one not in of_third and one[0] != "n1"]
    first, second = locate(of_third | {("n1", "n5"): 1.0}, good, fabric)
    assert (first.subject, first.ambiguous_with, len(first.pairs)) == (uplink("leaf3"), (), 64)
    assert (second.subject, second.ambiguous_with, second.pairs) == (node("n1"), (spine("spine1"),), (("n1", "n5"),))


def test_a_bad_pair_of_good_parts_stands_for_itself() -> None:
    nodes = ("n1", "n2", "n3", "n4")
    good = [one for one in permutations(nodes, 2) if one != ("n3", "n1")]
    (suspect,) = locate({("n3", "n1"): 1.0}, good, NO_FABRIC)
    assert (suspect.subject, suspect.direction) == (pair("n3", "n1"), Direction.OUT)


def test_nodes_of_unknown_leaf_cross_no_uplink() -> None:
    fabric = Fabric(leaf_of={"n1": "leaf1"}, source="test")
    kinds = {part.kind for part in fabric.path("n1", "n2")}
    assert kinds == {"node"}


def test_round_trips_cross_the_cables_of_both_ways_and_nodes_as_a_whole() -> None:
    fabric = Fabric(leaf_of=leaves(4, 2), source="test")
    path = [*RoundTrips(fabric).path("n1", "n3")]
    assert {(part.kind, part.name, part.direction) for part in path} == {
        (kind, name, Direction.BOTH)
        for kind, name in (("node", "n1"), ("node", "n3"), ("uplink", "leaf1"), ("uplink", "leaf2"))
    }
    assert len(path) == 4
    bad = {("n1", "n2"): 1.0, ("n1", "n3"): 1.0}
    (group,) = both_ways(blame(bad, Crossings(RoundTrips(fabric), [("n2", "n3"), ("n3", "n2")])))
    assert group.components == {Component(kind="node", name="n1", direction=Direction.BOTH)}
    assert group.pairs == {("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n3", "n1")}


@given(outcomes(), st.lists(st.integers(0, 3), min_size=42, max_size=42))
def test_parts_are_chosen_as_if_all_were_weighed_again(
    case: tuple[set[Pair], set[Pair], Fabric], weights: list[int]
) -> None:
    pairs, good, fabric = case
    bad = {one: float(weight) for one, weight in zip(sorted(pairs), weights, strict=False)}
    parts = [group for group in blame(bad, Crossings(fabric, good)) if group.components]
    assert parts == greedy(bad, Crossings(fabric, good), acquit=True)


@given(outcomes())
def test_what_loses_packets_is_on_all_pairs_that_no_other_part_explains(
    case: tuple[set[Pair], set[Pair], Fabric],
) -> None:
    bad, _, fabric = case
    groups = blame(dict.fromkeys(bad, 2.0), Crossings(fabric), acquit=False)
    assert {one for group in groups for one in group.pairs} == bad
    for group in groups:
        others = {one for other in groups if other is not group for one in other.pairs}
        own = group.pairs - others
        assert all(group.components <= set(fabric.path(*one)) for one in own)
    every = [part for group in groups for part in group.components]
    assert len(every) == len(set(every))


def test_a_switch_that_explains_most_is_not_named_beside_the_nodes_behind_it() -> None:
    """From a simulated check: n1 and n5 lost packets, and so did their pairs with the leaf of n3 and n4."""
    fabric = Fabric(leaf_of=leaves(6, 2), source="test")
    bad = {("n1", "n3"): 30.0, ("n4", "n5"): 20.0, ("n1", "n2"): 25.0, ("n5", "n6"): 15.0}
    groups = blame(bad, Crossings(RoundTrips(fabric)), acquit=False)
    assert {frozenset(part.name for part in group.components) for group in groups} == {
        frozenset(["n1"]),
        frozenset(["n5"]),
    }
    assert {one for group in groups for one in group.pairs} == set(bad)


def test_thousands_of_lossy_nodes_are_named_in_seconds() -> None:
    """Each lost packets to both others of its leaf. Comparing all groups with each other takes three times as long."""
    nodes = names(15000)
    fabric = Fabric(leaf_of=leaves(15000, 3), source="test")
    bad = {(lossy, mate): 9.0 for lossy, *mates in zip(*[iter(nodes)] * 3, strict=True) for mate in mates}
    with within(4.0):
        groups = blame(bad, Crossings(RoundTrips(fabric)), acquit=False)
    assert {part.name for group in groups for part in group.components} == set(nodes[::3])
