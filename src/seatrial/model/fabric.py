"""The leaf switch of each node and what a pair crosses; the map of a fabric: devices, and every cable between ports."""

import enum
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

import msgspec

from seatrial.model.hca import PortStates
from seatrial.model.subject import Direction
from seatrial.model.verdict import Finding


class DeviceKind(enum.StrEnum):
    """SWITCH routes; ADAPTER ends in a node; AGGREGATION is a switch's own reduction engine, no node's."""

    SWITCH = "switch"
    ADAPTER = "adapter"
    AGGREGATION = "aggregation"


class FabricDevice(msgspec.Struct, frozen=True, kw_only=True):
    """`key` is unique: "S-" or "H-" and the GUID in 16 hex digits."""

    key: str
    kind: DeviceKind
    name: str
    """The node description: "MF0;A09:MQM9701/U1" of a switch, "n1 mlx5_0" of an adapter."""
    lid: int | None = None
    ports: int = 0
    model: str = ""
    """Device ID, which adapters or switches of one type share; "" where not reported."""

    @property
    def host(self) -> str:
        """The first word of an adapter's description, which is the node's name where an administrator set it."""
        return self.name.split(" ")[0] if self.name else self.key

    @property
    def rail(self) -> str:
        """What follows it: mlx5_0, HCA-1."""
        return self.name.partition(" ")[2].strip()


class End(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One end of a cable."""

    device: str
    port: int


class FabricLink(msgspec.Struct, frozen=True, kw_only=True):
    """One cable, listed once, its smaller end first. `speed` as the tools print it: SDR to XDR; "" where not reported.

    `width` and `speed` as the first end reports them; `other_width` and `other_speed` as the second one does.
    """

    one: End
    other: End
    width: int | None = None
    speed: str = ""
    other_width: int | None = None
    other_speed: str = ""
    listed_by_one: bool = True
    """Whether the tool listed the cable among the ports of the first end's device."""
    listed_by_other: bool = True
    supported: str = ""
    """Rate that both ends support according to the tool ("4x HDR"), if the link trained below it."""

    @property
    def name(self) -> str:
        """Both ends, unique within a fabric."""
        return f"{self.one.device}[{self.one.port}]-{self.other.device}[{self.other.port}]"

    @property
    def ends(self) -> tuple[End, End]:
        """Both ends, the first one first."""
        return self.one, self.other

    @property
    def ways(self) -> tuple[tuple[End, End], tuple[End, End]]:
        """Each end before the other one."""
        return self.ends, self.ends[::-1]

    @property
    def device_ways(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The device of each end before that of the other one."""
        devices = self.one.device, self.other.device
        return devices, devices[::-1]


NO_LID = (0, 65535)
"""0: none was assigned. 65535: the permissive LID (InfiniBand specification 4.1.3), which every port answers to."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A port of an adapter, its LID and its GUID in 16 hex digits ("" where not reported), by which forwarding tables
    identify it.
    """

    end: End
    lid: int
    guid: str = ""


class InactivePort(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A port that sends no data, or not all the time."""

    end: End
    state: str
    physical: str = ""

    @property
    def states(self) -> PortStates:
        """Both states."""
        return PortStates(logical=self.state, physical=self.physical)


class DoubleKind(enum.StrEnum):
    """What must be unique in a fabric."""

    GUID = "GUID"
    LID = "LID"


class Double(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A GUID or LID that several devices or ports have; `holders` by their descriptions or keys."""

    kind: DoubleKind
    value: str
    holders: tuple[str, ...]
    device: str
    """Key under which they appear, for a GUID; empty for a LID."""


class FabricMap(msgspec.Struct, frozen=True, kw_only=True):
    """All devices sorted by key, all links sorted by their ends, and lines that were not understood."""

    devices: tuple[FabricDevice, ...] = ()
    links: tuple[FabricLink, ...] = ()
    down: tuple[End, ...] = ()
    """Ports of switches that a tool lists without anything at the other end."""
    unknown: tuple[str, ...] = ()
    source: str = ""
    addresses: tuple[Address, ...] = ()
    """The addresses of every port of an adapter that has a cable."""
    sections: tuple[str, ...] | None = None
    """Keys of devices whose own ports the text lists, in its order; None where the map comes from elsewhere."""
    cut_off: bool = False
    """The text does not end with a newline, as the tools' outputs do."""
    doubles: tuple[Double, ...] = ()
    without_lid: tuple[str, ...] = ()
    """Switches, and ports of adapters that have a cable, that have no LID; by their descriptions."""
    inactive: tuple[InactivePort, ...] = ()
    """Ports that are not good, without those that are only free."""
    reported: tuple[Finding, ...] = ()
    """Problems that the tool itself found."""

    @property
    def by_key(self) -> dict[str, FabricDevice]:
        """Device by key."""
        return {device.key: device for device in self.devices}


class Component(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One direction of one part: of a node's link to its leaf (`node`), of a cable between switches (`link`), of all of
    a leaf's uplinks together (`uplink`); or all cables of a switch without nodes (`spine`, in both directions)."""

    kind: str
    name: str
    direction: Direction


class Paths(Protocol):
    """What pairs of nodes cross, as far as it is known."""

    @property
    def leaf_of(self) -> Mapping[str, str]:
        """Leaf switch of each node, where known."""

    def path(self, source: str, target: str) -> Iterator[Component]:
        """What data from one node to another crosses."""

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        """At most `most` pairs that cross the part; empty where its name already shows the nodes."""


class Wiring(Paths, Protocol):
    """The wiring of a fabric, as far as it is known."""

    @property
    def source(self) -> str:
        """The source of this knowledge."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not known of it."""

    @property
    def bundles(self) -> Mapping[int, list[int]]:
        """Bundles that count as parts, by direction of a cable. While these are the same, all paths are."""

    def measured(self, pairs: Collection[tuple[str, str]]) -> "Wiring":
        """The fabric with its parts reduced to those that measurements of these pairs can distinguish."""


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


class RoundTrips:
    """The paths of round trips, which go there and back: cables of both ways, nodes and uplinks without directions."""

    def __init__(self, fabric: Wiring) -> None:
        """`fabric`: the paths of each direction."""
        self.fabric = fabric

    @property
    def leaf_of(self) -> Mapping[str, str]:
        """Leaf switch of each node, where known."""
        return self.fabric.leaf_of

    def path(self, source: str, target: str) -> Iterator[Component]:
        """What a round trip between two nodes crosses, each part once.

        Of a cable one direction may be at fault, or both, which more round trips cross.
        """
        both = (*self.fabric.path(source, target), *self.fabric.path(target, source))
        parts = ((part, _whole(part)) if part.kind == "link" else (_whole(part),) for part in both)
        return iter(dict.fromkeys(itertools.chain.from_iterable(parts)))

    def across(self, part: Component, most: int, seed: int) -> list[tuple[str, str]]:
        """At most `most` pairs that cross the part, in either direction if it has none."""
        ways = [msgspec.structs.replace(part, direction=way) for way in Direction]
        ways = ways if part.direction is Direction.BOTH else [part]
        return [pair for way in ways for pair in self.fabric.across(way, most, seed)][:most]


def _whole(part: Component) -> Component:
    return Component(kind=part.kind, name=part.name, direction=Direction.BOTH)
