"""What the lines of a map say, collected: devices, cables as each end lists them, and what should be unique."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from seatrial.model.fabric import (
    NO_LID,
    Address,
    DeviceKind,
    Double,
    DoubleKind,
    End,
    FabricDevice,
    FabricLink,
    FabricMap,
    InactivePort,
)
from seatrial.model.hca import PortStates, PortUse
from seatrial.model.verdict import Finding

AGGREGATION = "Aggregation Node"
Rate = tuple[int | None, str]
MOST_HOLDERS = 4


def kind_of(key: str, name: str) -> DeviceKind:
    """S-... is a switch, H-... an adapter or the reduction engine of a switch."""
    if key.startswith("S"):
        return DeviceKind.SWITCH
    return DeviceKind.AGGREGATION if AGGREGATION in name else DeviceKind.ADAPTER


class MapLines:
    """Filled line by line by the parsers of both forms of a map."""

    def __init__(self) -> None:
        self.devices: dict[str, FabricDevice] = {}
        self.down: list[End] = []
        self.states: dict[End, PortStates] = {}
        self.unknown: list[str] = []
        self.addresses: dict[End, Address] = {}
        self._cables: dict[tuple[End, End], Rate] = {}
        self._supported: dict[tuple[End, End], str] = {}
        self._sections: dict[str, None] = {}
        self._names: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """Key -> descriptions in its sections and at the other ends of its cables, in the order of the lines."""
        self._headed: defaultdict[str, list[str]] = defaultdict(list)
        self._lids: defaultdict[int, dict[str, None]] = defaultdict(dict)
        self._port_guids: defaultdict[str, dict[End, None]] = defaultdict(dict)
        self._without_lid: dict[str, None] = {}

    def section(self, device: FabricDevice) -> None:
        """A device's own lines begin."""
        self._headed[device.key].append(device.name)
        self._sections[device.key] = None
        self.devices[device.key] = device
        self._switch_lid(device)

    def own_line(self, device: FabricDevice) -> None:
        """One of a device's own lines, in a form without headings. Its first description is kept."""
        self._sections[device.key] = None
        self._names[device.key].setdefault(device.name)
        own = self.devices.get(device.key)
        if own is None or not own.name:
            self.devices[device.key] = device
        self._switch_lid(device)

    def cable(self, near_end: End, far_end: End, rate: Rate, far_name: str = "", supported: str = "") -> None:
        """A cable as the device at `near_end` lists it. `supported`: a higher rate of which both ends are capable."""
        self._cables[near_end, far_end] = rate
        if supported:
            self._supported[min(near_end, far_end), max(near_end, far_end)] = supported
        if far_name:
            self._names[far_end.device].setdefault(far_name)

    def address(self, end: End, lid: int, guid: str) -> None:
        """LID and GUID of an adapter's port, as its own line has them."""
        self.addresses[end] = Address(end=end, lid=lid, guid=guid)
        self._holds(lid, f"{end.device}[{end.port}]")
        if guid:
            self._port_guids[guid][end] = None

    def _switch_lid(self, device: FabricDevice) -> None:
        if device.kind is DeviceKind.SWITCH and device.lid is not None:
            self._holds(device.lid, device.key)

    def _holds(self, lid: int, holder: str) -> None:
        """A switch, or a port of an adapter, has this LID, or none."""
        if lid in NO_LID:
            self._without_lid[holder] = None
        else:
            self._lids[lid][holder] = None

    def fabric(self, source: str, *, cut_off: bool, reported: tuple[Finding, ...] = ()) -> FabricMap:
        """All of it as a map. Devices without lines of their own are those that others' cables lead to."""
        for _, far_end in self._cables:
            if far_end.device not in self.devices:
                name = next(iter(self._names[far_end.device]), "")
                self.devices[far_end.device] = FabricDevice(
                    key=far_end.device, kind=kind_of(far_end.device, name), name=name
                )
        self._name_alike_apart()
        return FabricMap(
            devices=tuple(self.devices[key] for key in sorted(self.devices)),
            links=tuple(self._links()),
            down=tuple(sorted(self.down)),
            unknown=tuple(self.unknown),
            source=source,
            addresses=tuple(
                self.addresses[end]
                for end in sorted(self.addresses)
                if self.devices[end.device].kind is DeviceKind.ADAPTER
            ),
            sections=tuple(self._sections),
            cut_off=cut_off,
            inactive=tuple(self._inactive()),
            reported=reported,
            doubles=tuple(sorted({*self._double_guids(), *self._double_lids()})),
            without_lid=tuple(sorted({self._holder_text(one) for one in self._without_lid if self._is_end(one)})),
        )

    def _name_alike_apart(self) -> None:
        """Switches that share a description, as those that nobody named do, get their key behind it."""
        alike = Counter(device.name for device in self.devices.values() if device.kind is DeviceKind.SWITCH)
        for key, device in self.devices.items():
            if device.name and device.kind is DeviceKind.SWITCH and alike[device.name] > 1:
                self.devices[key] = msgspec.structs.replace(device, name=f"{device.name} {key}")

    def _inactive(self) -> Iterable[InactivePort]:
        wired = {end for ends in self._cables for end in ends}
        for end, state in sorted(self.states.items()):
            if state.use is not PortUse.GOOD and (state.use is not PortUse.FREE or end in wired):
                yield InactivePort(end=end, state=state.logical, physical=state.physical)

    def _links(self) -> Iterable[FabricLink]:
        both = sorted({(min(pair), max(pair)) for pair in self._cables})
        for one, other in both:
            width, speed = self._cables.get((one, other), (None, ""))
            other_width, other_speed = self._cables.get((other, one), (None, ""))
            yield FabricLink(
                one=one,
                other=other,
                width=width,
                speed=speed,
                other_width=other_width,
                other_speed=other_speed,
                listed_by_one=(one, other) in self._cables,
                listed_by_other=(other, one) in self._cables,
                supported=self._supported.get((one, other), ""),
            )

    def _double_guids(self) -> Iterable[Double]:
        """GUIDs of devices that head two different sections, or whose one port lists two cables; GUIDs of ports."""
        partners: defaultdict[End, list[End]] = defaultdict(list)
        for near_end, far_end in self._cables:
            partners[near_end].append(far_end)
        doubled = {key: set(names) for key, names in self._headed.items() if len(set(names)) > 1}
        for end, others in partners.items():
            if len(others) > 1:
                places = {f"the device at {self._text(other)}" for other in others}
                known = doubled.get(end.device, set()) | {name for name in self._names[end.device] if name}
                doubled[end.device] = known if len(known) > 1 else places
        for key, holders in doubled.items():
            yield _double(DoubleKind.GUID, f"0x{key.partition('-')[2]}", holders, key)
        for guid, ends in self._port_guids.items():
            devices = {end.device for end in ends}
            if len(devices) > 1 and not devices & doubled.keys():
                device = next(iter(ends)).device
                yield _double(DoubleKind.GUID, f"0x{guid}", {self._text(end) for end in ends}, device)

    def _double_lids(self) -> Iterable[Double]:
        """LIDs that several devices or ports of one subnet have."""
        doubled = {lid: holders for lid, holders in self._lids.items() if len(holders) > 1}
        subnet_of = self._subnets() if doubled else {}
        for lid, holders in doubled.items():
            by_subnet: defaultdict[str, list[str]] = defaultdict(list)
            for holder in holders:
                by_subnet[subnet_of.get(holder.partition("[")[0], "")].append(holder)
            for same in by_subnet.values():
                names = {self._holder_text(holder) for holder in same}
                if len(same) > 1:
                    yield _double(DoubleKind.LID, str(lid), names if len(names) > 1 else set(same), "")

    def _subnets(self) -> dict[str, str]:
        """Device -> one device of those that cables join it to: an output may have several fabrics."""
        near: defaultdict[str, set[str]] = defaultdict(set)
        for near_end, far_end in self._cables:
            near[near_end.device].add(far_end.device)
            near[far_end.device].add(near_end.device)
        return joined(near)

    def _is_end(self, holder: str) -> bool:
        """Whether it is a switch or an adapter, not an engine within a switch."""
        key = holder.partition("[")[0]
        return self.devices[key].kind in (DeviceKind.SWITCH, DeviceKind.ADAPTER)

    def _holder_text(self, holder: str) -> str:
        key, _, port = holder.partition("[")
        name = self.devices[key].name if key in self.devices else ""
        return f"{name or key}[{port}" if port else name or key

    def _text(self, end: End) -> str:
        device = self.devices.get(end.device)
        return f"{(device.name if device else '') or end.device}[{end.port}]"


def _double(kind: DoubleKind, value: str, holders: Iterable[str], device: str) -> Double:
    return Double(kind=kind, value=value, holders=tuple(sorted(holders)[:MOST_HOLDERS]), device=device)


def joined(near: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Device -> one device, the same for all that cables join. `near`: the devices at the cables of each."""
    group_of: dict[str, str] = {}
    for first in near:
        reached = [] if first in group_of else [first]
        while reached:
            device = reached.pop()
            if device not in group_of:
                group_of[device] = first
                reached += near[device]
    return group_of


def without_last(text: str) -> tuple[list[str], str]:
    """Whole lines, and the last one if the text ends within it."""
    lines = text.splitlines()
    return (lines, "") if text.endswith(("\n", "\r")) or not lines else (lines[:-1], lines[-1])
