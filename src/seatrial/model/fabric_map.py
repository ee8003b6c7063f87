"""An InfiniBand-like fabric as its management sees it: devices, and every cable between their ports."""

import enum

import msgspec


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

    @property
    def name(self) -> str:
        """Both ends, unique within a fabric."""
        return f"{self.one.device}[{self.one.port}]-{self.other.device}[{self.other.port}]"


NO_LID = (0, 65535)
"""0: none was assigned. 65535: the permissive LID (InfiniBand specification 4.1.3), which every port answers to."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A port of an adapter, its LID and its GUID in 16 hex digits ("" where not reported), by which forwarding tables
    identify it.
    """

    end: End
    lid: int
    guid: str = ""


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

    @property
    def by_key(self) -> dict[str, FabricDevice]:
        """Device by key."""
        return {device.key: device for device in self.devices}
