"""Parses the output of `ibnetdiscover` and `ibnetdiscover -p` into a map, and assigns adapters to nodes."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from seatrial.model.errors import UsageError
from seatrial.model.fabric_map import Address, DeviceKind, End, FabricDevice, FabricLink, FabricMap
from seatrial.model.words import NaturalKey, natural_key

HEAD = re.compile(r'^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"(.*)"(.*))?')
CABLE = re.compile(r'^\[(\d+)\](?:\(([0-9a-fA-F]+)\))?\s+"([^"]+)"\[(\d+)\](?:\([0-9a-fA-F]+\))?(.*)$')
RATE = re.compile(r"(\d+)x\s?([A-Z]+\d*|\?\?\?)\s*$")
LID = re.compile(r"\blid (\d+)")
PORT_LINE = re.compile(
    r"^(CA|SW|RT)\s+(\d+)\s+(\d+)\s+0x([0-9a-fA-F]+)\s+(?:(\d+)x\s+(\S+))?\s*"
    r"(?:-\s+(CA|SW|RT)\s+(\d+)\s+(\d+)\s+0x([0-9a-fA-F]+)\s+)?(.*)$"
)
AGGREGATION = "Aggregation Node"
Cables = dict[tuple[End, End], tuple[int | None, str]]


def parse_fabric(text: str) -> FabricMap:
    """Either form, recognised by its lines. Raises UsageError for a text that is neither."""
    lines = text.splitlines()
    if any(HEAD.match(line) for line in lines):
        return parse_ibnetdiscover(text)
    if any(PORT_LINE.match(line) for line in lines):
        return parse_ports(text)
    first = next((line for line in lines if line.strip()), "")
    raise UsageError(
        f"This is not a map of a fabric: the first line is {first[:80]!r}.",
        "Give the output of ibnetdiscover, or of ibnetdiscover -p.",
    )


def parse_ibnetdiscover(text: str) -> FabricMap:
    """Blocks of one device each: `Switch 65 "S-..." # "name" ...`, then a line for each port that has a cable.

    Every cable is listed twice, once at either end, and each end reports its own width and speed.
    """
    devices: dict[str, FabricDevice] = {}
    cables: Cables = {}
    unknown: list[str] = []
    addresses: list[Address] = []
    here = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#") or "=" in line.partition('"')[0]:
            continue
        if head := HEAD.match(line):
            here = head[3]
            devices[here] = _device(head)
        elif (cable := CABLE.match(line)) and here:
            rate = RATE.search(cable[5])
            ends = End(device=here, port=int(cable[1])), End(device=cable[3], port=int(cable[4]))
            cables[ends] = (int(rate[1]), rate[2].replace("???", "")) if rate else (None, "")
            lid = LID.search(cable[5].partition('"')[0])
            if lid and devices[here].kind is DeviceKind.ADAPTER:
                guid = cable[2].lower().zfill(16) if cable[2] else ""
                addresses.append(Address(end=ends[0], lid=int(lid[1]), guid=guid))
        else:
            unknown.append(line)
    for _, other in cables:
        devices.setdefault(other.device, FabricDevice(key=other.device, kind=_kind(other.device, ""), name=""))
    return _map(devices, cables, (), unknown, "ibnetdiscover", addresses)


def parse_ports(text: str) -> FabricMap:
    """Lines of one port each: `SW 1719 10 0x7cfe... 4x EDR - CA 134 1 0x7cfe... ( 'switch' - 'node HCA-1' )`."""
    devices: dict[str, FabricDevice] = {}
    cables: Cables = {}
    down: list[End] = []
    unknown: list[str] = []
    addresses: list[Address] = []
    for line in text.splitlines():
        match = PORT_LINE.match(line.strip())
        if not match:
            unknown += [line] if line.strip() and not line.startswith("#") else []
            continue
        names = _names(match[11], both=match[7] is not None)
        first = _end(devices, match[1], match[2], match[3], match[4], names[0])
        if match[7] is None:
            down.append(first)
            continue
        if devices[first.device].kind is DeviceKind.ADAPTER:
            addresses.append(Address(end=first, lid=int(match[2]), guid=match[4].lower().zfill(16)))
        other = _end(devices, match[7], match[8], match[9], match[10], names[1])
        cables[first, other] = (int(match[5]), match[6].replace("???", "")) if match[5] else (None, "")
    return _map(devices, cables, down, unknown, "ibnetdiscover -p", addresses)


def _device(head: "re.Match[str]") -> FabricDevice:
    lid = LID.search(head[5] or "")
    name = (head[4] or "").strip()
    return FabricDevice(
        key=head[3],
        kind=DeviceKind.SWITCH if head[1] in ("Switch", "Rt") else _kind("H", name),
        name=name,
        lid=int(lid[1]) if lid else None,
        ports=int(head[2]),
    )


def _kind(key: str, name: str) -> DeviceKind:
    if key.startswith("S"):
        return DeviceKind.SWITCH
    return DeviceKind.AGGREGATION if AGGREGATION in name else DeviceKind.ADAPTER


def _end(devices: dict[str, FabricDevice], word: str, lid: str, port: str, guid: str, name: str) -> End:
    """The port of a line; a device that several lines name differently keeps the first name."""
    key = f"{'H' if word == 'CA' else 'S'}-{guid.lower().zfill(16)}"
    made = FabricDevice(key=key, kind=_kind(key, name), name=name, lid=int(lid))
    devices.setdefault(key, made)
    return End(device=key, port=int(port))


def _names(text: str, *, both: bool) -> tuple[str, str]:
    inner = text.strip().removeprefix("(").removesuffix(")").strip()
    first, _, second = inner.partition("' - '") if both else (inner, "", "")
    return first.strip("' "), second.strip("' ")


def _map(
    devices: dict[str, FabricDevice],
    cables: Cables,
    down: "list[End] | tuple[End, ...]",
    unknown: list[str],
    source: str,
    addresses: list[Address],
) -> FabricMap:
    links = {}
    for pair in cables:
        one, other = min(pair), max(pair)
        width, speed = cables.get((one, other), (None, ""))
        other_width, other_speed = cables.get((other, one), (None, ""))
        links[one, other] = FabricLink(
            one=one, other=other, width=width, speed=speed, other_width=other_width, other_speed=other_speed
        )
    return FabricMap(
        devices=tuple(devices[key] for key in sorted(devices)),
        links=tuple(links[ends] for ends in sorted(links)),
        down=tuple(sorted(down)),
        unknown=tuple(unknown),
        source=source,
        addresses=tuple(sorted(addresses, key=lambda one: one.end)),
    )


# An adapter belongs to the node whose name is the first word of its description, where an administrator set it.


def adapters_of(fabric: FabricMap, wired: Collection[str], nodes: Iterable[str], device: str = "") -> dict[str, str]:
    """Node -> key of its adapter, for the nodes that are found. `wired`: adapters that are connected to a switch.

    Names count without domain and in either case. Of several adapters of a node, its rails, the first one by name
    counts, or the one called `device` (mlx5_1, HCA-2).
    """
    rails: defaultdict[str, list[FabricDevice]] = defaultdict(list)
    for one in fabric.devices:
        if one.key in wired and device.lower() in ("", one.rail.lower()):
            rails[short(one.host)].append(one)
    adapters = {node: min(rails[short(node)], key=_by_name) for node in nodes if short(node) in rails}
    return {node: one.key for node, one in adapters.items()}


def short(name: str) -> str:
    """A host's name without its domain, in lower case."""
    return name.partition(".")[0].lower()


def _by_name(device: FabricDevice) -> NaturalKey:
    """mlx5_2 comes before mlx5_10."""
    return natural_key(f"{device.rail.lower()} {device.key}")


def unique_names(devices: Collection[FabricDevice]) -> Mapping[str, str]:
    """Key -> description; with the key where several devices have the same one, or none."""
    count = Counter(device.name for device in devices)
    return {
        device.key: device.name if device.name and count[device.name] == 1 else f"{device.name} {device.key}".strip()
        for device in devices
    }
