"""A map of all nodes below their leaf switches, coloured by verdict or by the age of the verdict. It needs no script.

A cell is a link to the page of its node, so that the map is also a list that a keyboard and a screen reader can use.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar

import msgspec

from seatrial.model.monitoring import NodeStanding
from seatrial.model.verdict import Verdict
from seatrial.model.words import age_s, count, leaf_order
from seatrial.render.matrix import LETTERS, Key, counted_verdicts
from seatrial.render.report import Block, PageLink

AGES = ((1.0, "a day at most"), (7.0, "a week"), (31.0, "a month"), (float("inf"), "older"))
"""Days up to which a verdict is that old, and how the key calls it."""
MOST_NAMED = 200
"""Nodes whose cells have room for their names; of more, the cells are squares."""
NO_LEAF = "leaf not known"


class MapCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One node. `style`: the word of its verdict, by which page.css colours it; `mark`: the letter of that verdict."""

    name: PageLink
    style: str
    age: int
    """The place of the verdict's age in `AGES`."""
    hover: str
    mark: str = ""


class MapLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one leaf switch."""

    title: str
    nodes: tuple[MapCell, ...]


class NodeMap(Block, frozen=True, kw_only=True):
    """All leaf switches with their nodes, in natural order."""

    kind: ClassVar[str] = "nodemap"
    leaves: tuple[MapLeaf, ...]
    key: tuple[Key, ...]
    ages: tuple[str, ...]
    named: bool
    """Whether cells show the names of their nodes."""


class MapNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node to draw. `days`: age of its verdict in days; `age`: the same in words."""

    name: PageLink
    leaf: str
    verdict: Verdict
    days: float
    age: str


SPANS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


def ago(time: str, at: datetime) -> str:
    """`3 days`, `1 hour`: how long ago a time in ISO 8601 is, in its largest unit."""
    seconds = age_s(time, at)
    for length_s, unit in SPANS:
        if seconds >= length_s:
            return count(int(seconds // length_s), unit)
    return "less than a minute"


def standing_map(
    nodes: Iterable[NodeStanding],
    at: datetime,
    page: Callable[[str], PageLink] = lambda node: PageLink(node, ""),
    leaf_of: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[NodeMap]:
    """The map of nodes by their standings at that time; none without nodes. `page`: the link to that of a node."""
    drawn = [
        MapNode(
            name=page(node.node),
            leaf=leaf_of.get(node.node, ""),
            verdict=node.verdict,
            days=(at - datetime.fromisoformat(node.judged)).total_seconds() / SPANS[0][0],
            age=ago(node.judged, at),
        )
        for node in nodes
    ]
    if drawn:
        yield node_map(drawn, "Nodes")


def node_map(nodes: Iterable[MapNode], title: str) -> NodeMap:
    """The map of these nodes."""
    ordered = sorted(nodes, key=lambda node: leaf_order(node.leaf, node.name))
    by_leaf: dict[str, list[MapCell]] = {}
    ages = [next(place for place, (most, _) in enumerate(AGES) if node.days <= most) for node in ordered]
    for node, age in zip(ordered, ages, strict=True):
        by_leaf.setdefault(node.leaf, []).append(
            MapCell(
                name=node.name,
                style=node.verdict.value,
                age=age,
                hover=f"{node.name}: {node.verdict.value}, {node.age} ago",
                mark=LETTERS[node.verdict].strip(),
            )
        )
    old = Counter(ages)
    return NodeMap(
        title=title,
        leaves=tuple(MapLeaf(title=leaf or NO_LEAF, nodes=tuple(cells)) for leaf, cells in by_leaf.items()),
        key=counted_verdicts((node.verdict for node in ordered), lambda verdict: f"{LETTERS[verdict]} ".lstrip()),
        ages=tuple(f"{text}: {old[place]}" for place, (_, text) in enumerate(AGES)),
        named=len(ordered) <= MOST_NAMED,
    )
