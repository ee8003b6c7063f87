"""The leaf switch of each node, and what a pair of nodes crosses."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

import msgspec

from seatrial.model.subject import Direction


class Component(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One direction of one part: of a node's link to its leaf (`node`), of a cable between switches (`link`), of all of
    a leaf's uplinks together (`uplink`); or all cables of a switch without nodes (`spine`, in both directions)."""

    kind: str
    name: str
    direction: Direction


class Wiring(Protocol):
    """The wiring of a fabric, as far as it is known."""

    @property
    def leaf_of(self) -> Mapping[str, str]:
        """Leaf switch of each node, where known."""

    @property
    def source(self) -> str:
        """The source of this knowledge."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not known of it."""

    @property
    def bundles(self) -> Mapping[int, list[int]]:
        """Bundles that count as parts, by direction of a cable. While these are the same, all paths are."""

    def path(self, source: str, target: str) -> Iterator[Component]:
        """What data from one node to another crosses."""

    def measured(self, pairs: Collection[tuple[str, str]]) -> "Wiring":
        """The fabric with its parts reduced to those that measurements of these pairs can distinguish."""

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        """At most `most` pairs that cross the part; empty where its name already shows the nodes."""


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """Leaf switch of each node, where known; `source`: where that is known from."""

    leaf_of: dict[str, str]
    source: str

    @property
    def notes(self) -> tuple[str, ...]:
        """Empty: every part of it is known."""
        return ()

    @property
    def bundles(self) -> dict[int, list[int]]:
        """None: its uplinks are parts of their own."""
        return {}

    def path(self, source: str, target: str) -> Iterator[Component]:
        """What data from one node to another crosses, in order. Nodes of unknown leaf share an unseen one."""
        yield Component(kind="node", name=source, direction=Direction.OUT)
        source_leaf, target_leaf = self.leaf_of.get(source), self.leaf_of.get(target)
        if source_leaf is not None and target_leaf is not None and source_leaf != target_leaf:
            yield Component(kind="uplink", name=source_leaf, direction=Direction.OUT)
            yield Component(kind="uplink", name=target_leaf, direction=Direction.IN)
        yield Component(kind="node", name=target, direction=Direction.IN)

    def measured(self, pairs: Collection[tuple[str, str]]) -> "Fabric":
        """The fabric itself: its parts do not depend on what was measured."""
        return self

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        """Empty: nodes and leaves have names."""
        return []


NO_FABRIC = Fabric(leaf_of={}, source="no topology known")
