"""A slow uplink on known cables: the cable that may be meant, or the cables that are slow each by itself."""

from collections.abc import Collection, Iterator, Mapping
from itertools import permutations

from seatrial.locate.explanation import PartSuspect, locate
from seatrial.locate.uplinks import by_cables
from seatrial.model.fabric import Component
from seatrial.model.subject import Direction, link, spine, uplink

LEAVES, NODES_PER_LEAF, SPINES = 4, 3, 3
NAMES = [f"n{number}" for number in range(LEAVES * NODES_PER_LEAF)]


class Tree:
    """Three spines, of which the number of the target node decides; a leaf's cables are an uplink."""

    leaf_of: Mapping[str, str] = {}
    source = "made up"
    notes: tuple[str, ...] = ()
    bundles: Mapping[int, list[int]] = {}

    def path(self, source: str, target: str) -> Iterator[Component]:
        here, there = (int(name[1:]) // NODES_PER_LEAF for name in (source, target))
        by = int(target[1:]) % SPINES
        if here != there:
            yield Component(kind="uplink", name=f"leaf{here}", direction=Direction.OUT)
            yield Component(kind="link", name=f"leaf{here}-spine{by}", direction=Direction.OUT)
            yield Component(kind="spine", name=f"spine{by}", direction=Direction.BOTH)
            yield Component(kind="link", name=f"leaf{there}-spine{by}", direction=Direction.IN)
            yield Component(kind="uplink", name=f"leaf{there}", direction=Direction.IN)

    def measured(self, pairs: Collection[tuple[str, str]]) -> "Tree":
        return self

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        return []


Fault = tuple[str, str, Direction]


def named(*faults: Fault, losses: Mapping[str, float] | None = None) -> dict[str, PartSuspect]:
    """What is named where these parts (kind, name, direction) are slow, by name. `losses`: logs, where not 0.1."""
    fabric = Tree()
    parts = {
        Component(kind=kind, name=name, direction=way)
        for kind, name, direction in faults
        for way in {Direction.OUT, Direction.IN, direction}
        if direction in (way, Direction.BOTH)
    }
    bad = [pair for pair in permutations(NAMES, 2) if not parts.isdisjoint(fabric.path(*pair))]
    good = [pair for pair in permutations(NAMES, 2) if pair not in bad]
    suspects = locate(dict.fromkeys(bad, 1.0), good, fabric)

    def over_peers(pair: tuple[str, str]) -> float:
        """As the worst part on the way, and one pair in three as if traffic took half."""
        crossed = parts.intersection(fabric.path(*pair))
        loss = max(((losses or {}).get(part.name, 0.1) for part in crossed), default=0.0)
        return -loss - (0.7 if pair[0] in ("n0", "n3", "n6", "n9") else 0.0)

    return {suspect.subject.text: suspect for suspect in by_cables(suspects, fabric, over_peers)}


def test_a_cable_beside_a_slow_spine_and_another_slow_cable_may_be_the_uplink() -> None:
    found = named(
        ("link", "leaf1-spine0", Direction.OUT), ("link", "leaf1-spine1", Direction.BOTH),
        ("spine", "spine2", Direction.BOTH),
    )  # fmt: skip
    assert set(found) == {uplink("leaf1").text, spine("spine2").text, link("leaf1-spine1").text}
    assert found[uplink("leaf1").text].direction is Direction.OUT
    assert found[uplink("leaf1").text].ambiguous_with == (link("leaf1-spine0"),)


def test_an_uplink_with_two_cables_that_nothing_else_explains_is_the_uplink() -> None:
    found = named(("uplink", "leaf1", Direction.OUT), ("spine", "spine2", Direction.BOTH))
    assert set(found) == {uplink("leaf1").text, spine("spine2").text}
    assert found[uplink("leaf1").text].ambiguous_with == ()


def test_a_slow_uplink_of_a_partner_explains_no_cable() -> None:
    found = named(("uplink", "leaf1", Direction.OUT), ("uplink", "leaf2", Direction.IN))
    assert {suspect.ambiguous_with for suspect in found.values()} == {()}


BOTH_CABLES: tuple[Fault, ...] = (
    ("link", "leaf1-spine0", Direction.BOTH), ("link", "leaf1-spine1", Direction.BOTH),
    ("spine", "spine2", Direction.BOTH),
)  # fmt: skip


def test_cables_that_are_slow_to_a_different_degree_are_named_each() -> None:
    found = named(*BOTH_CABLES, losses={"leaf1-spine0": 0.5, "leaf1-spine1": 0.2})
    assert set(found) == {spine("spine2").text, link("leaf1-spine0").text, link("leaf1-spine1").text}
    assert {suspect.direction for suspect in found.values()} == {Direction.BOTH}
    assert all(suspect.pairs for suspect in found.values())


def test_cables_that_are_slow_to_the_same_degree_are_the_uplink() -> None:
    assert set(named(*BOTH_CABLES)) == {spine("spine2").text, uplink("leaf1").text}
