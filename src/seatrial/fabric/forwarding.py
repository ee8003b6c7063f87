"""Forwarding tables: by which port each switch sends to each adapter, as the fabric's own tools print them."""

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_LID, DeviceKind, FabricMap

HEAD = re.compile(r"^(?:Unicast lids .*\bguid|dump_ucast_routes: Switch) 0x([0-9a-fA-F]{1,16})\b")
ENTRY = re.compile(r"^0x([0-9a-fA-F]{1,8})\s+(?::\s+)?(\d{1,3})\b(.*)$")
PORT_GUID = re.compile(r"Channel Adapter portguid 0x([0-9a-fA-F]{1,16})")
NO_PORT = -1
"""Port of a table that has no entry for an adapter."""


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Tables of switches. A switch that is not in `ports` has none."""

    adapters: tuple[str, ...]
    """Destinations, by key."""
    ports: dict[str, tuple[int, ...]]
    """Switch, by key -> its port to each destination, in their order; NO_PORT where it has no entry."""

    def only(self, adapters: Collection[str]) -> "Tables":
        """The tables restricted to these destinations."""
        kept = [place for place, key in enumerate(self.adapters) if key in adapters]
        return Tables(
            adapters=tuple(self.adapters[place] for place in kept),
            ports={switch: tuple(row[place] for place in kept) for switch, row in self.ports.items()},
        )


class TableForwarding(Mapping[tuple[str, str], int]):
    """Tables as `routes.Forwarding`: (switch, adapter) -> port. Holds no copy, for a large fabric has millions."""

    def __init__(self, tables: Tables) -> None:
        self._ports = tables.ports
        self._place = {key: place for place, key in enumerate(tables.adapters)}

    def __getitem__(self, key: tuple[str, str]) -> int:
        switch, adapter = key
        port = self._ports[switch][self._place[adapter]]
        if port == NO_PORT:
            raise KeyError(key)
        return port

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (
            (switch, adapter)
            for switch, row in self._ports.items()
            for adapter, place in self._place.items()
            if row[place] != NO_PORT
        )

    def __len__(self) -> int:
        return sum(port != NO_PORT for row in self._ports.values() for port in row)

    def __bool__(self) -> bool:
        return bool(self._ports)


def parse_tables(text: str, fabric: FabricMap) -> Tables:
    """What `ibroute`, `dump_fts`, `dump_lfts` or opensm's own dumps print, for the switches and adapters of the map.

    A line names its destination by LID, and most tools the GUID of its port, too; a port with several LIDs counts by
    the first that a table has. What does not belong to the map is left out. Raises UsageError for a text without
    tables, and for tables of another fabric.
    """
    by_guid, by_lid = _destinations(fabric)
    adapters = tuple(dict.fromkeys(by_lid.values()))
    place = {key: number for number, key in enumerate(adapters)}
    switches = {device.key for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    rows: dict[str, list[int]] = {}
    seen = 0
    row: list[int] | None = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            seen += 1
            key = f"S-{head[1].lower().zfill(16)}"
            row = rows.setdefault(key, [NO_PORT] * len(adapters)) if key in switches else None
        elif row is not None and (entry := ENTRY.match(line)):
            guid = PORT_GUID.search(entry[3])
            key = by_guid.get(guid[1].lower().zfill(16), "") if guid else ""
            target = place.get(key or by_lid.get(int(entry[1], 16), ""), NO_PORT)
            if target != NO_PORT and row[target] == NO_PORT:
                row[target] = int(entry[2])
    if not seen:
        first = next((line for line in text.splitlines() if line.strip()), "")
        raise UsageError(
            f"These are not forwarding tables: the first line is {first[:80]!r}.",
            "Give the output of dump_fts, dump_lfts, or of ibroute for every switch.",
        )
    if not rows or not adapters:
        raise UsageError(
            f"The forwarding tables ({seen} switches) are of another fabric: the map has none of their switches."
            if not rows
            else "The map has no LIDs of adapters, so that no table can be matched with it.",
            "Give tables and map of the same fabric, read at the same time.",
        )
    return Tables(adapters=adapters, ports={key: tuple(ports) for key, ports in rows.items()})


def _destinations(fabric: FabricMap) -> tuple[dict[str, str], dict[int, str]]:
    """Adapter by the GUID and by the LID of its first port with a switch: the one that routes lead to."""
    switches = {device.key for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    adapters = {device.key for device in fabric.devices if device.kind is DeviceKind.ADAPTER}
    wired = {end for link in fabric.links for end, other in link.ways if other.device in switches}
    by_guid: dict[str, str] = {}
    by_lid: dict[int, str] = {}
    done: set[str] = set()
    for address in fabric.addresses:
        key = address.end.device
        if key in adapters and key not in done and address.end in wired:
            done.add(key)
            if address.lid not in NO_LID:
                by_lid[address.lid] = key
            if address.guid:
                by_guid[address.guid] = key
    return by_guid, by_lid
