"""Which leaf switch each node hangs on."""

from collections.abc import Iterator

import msgspec

from seatrial.model.subject import Direction


class Component(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One direction of one link: a node's link to its leaf, or a leaf's uplink to the spine."""

    kind: str
    name: str
    direction: Direction


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """Leaf switch of each node, where known; `source` says who told."""

    leaf_of: dict[str, str]
    source: str

    def path(self, source: str, target: str) -> Iterator[Component]:
        """What data from one node to another crosses, in order. Nodes of unknown leaf share an unseen one."""
        yield Component(kind="node", name=source, direction=Direction.OUT)
        here, there = self.leaf_of.get(source), self.leaf_of.get(target)
        if here is not None and there is not None and here != there:
            yield Component(kind="uplink", name=here, direction=Direction.OUT)
            yield Component(kind="uplink", name=there, direction=Direction.IN)
        yield Component(kind="node", name=target, direction=Direction.IN)


NO_FABRIC = Fabric(leaf_of={}, source="no topology known")
