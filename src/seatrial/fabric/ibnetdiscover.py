"""Parses the output of `ibnetdiscover`, `ibnetdiscover -p`, `iblinkinfo` and `iblinkinfo -l` into a map of adapters."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from seatrial.fabric.ibdiagnet import is_ibdiagnet, parse_ibdiagnet
from seatrial.fabric.link_problem import rate_text
from seatrial.fabric.map_lines import MapLines, Rate, kind_of, without_last
from seatrial.fabric.opareport import is_opareport, parse_opareport
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_LID, DeviceKind, End, FabricDevice, FabricMap
from seatrial.model.hca import DOWN, PHYSICAL, PortStates
from seatrial.model.words import NaturalKey, natural_key, some

HEAD = re.compile(r'^(Switch|Ca|Hca|Rt)\s+(\d{1,18})\s+"([^"]+)"\s*(?:#\s*"(.*)"(.*))?')
CABLE = re.compile(r'^\[(\d{1,18})\](?:\(([0-9a-fA-F]+)\))?\s+"([^"]+)"\[(\d{1,18})\](?:\([0-9a-fA-F]+\))?(.*)$')
RATE = re.compile(r"(?<!\d)(\d{1,3})x\s?([A-Z]{1,9}+\d{0,3}+|\?\?\?)\s*$")
GROUPS = re.compile(r"^(?:Chassis \d{1,9}(?: \(guid 0x[0-9a-fA-F]{1,16}\))?|Non-Chassis Nodes)\s*$")
EXTERNAL = re.compile(r"(?<=\d\])\[ext \d{1,9}\]")
"""What `ibnetdiscover -g` adds: a heading for each chassis, and the number at the front of it behind that of a port."""
LID = re.compile(r"\blid (\d{1,18})")
OTHER_NAME = re.compile(r'"([^"]*)"\s++lid\b')
PORT_LINE = re.compile(
    r"^(CA|SW|RT)\s+(\d{1,18})\s+(\d{1,18})\s+0x([0-9a-fA-F]+)\s+(?:(\d{1,18})x\s+(\S+))?\s*"
    r"(?:-\s+(CA|SW|RT)\s+(\d{1,18})\s+(\d{1,18})\s+0x([0-9a-fA-F]+)\s+)?(.*)$"
)
LINK_HEAD = re.compile(r"^(?P<kind>CA|Switch|Router):\s+(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<name>.{0,200}):\s*$")
PORT = re.compile(
    r"^\s*(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?:\"(?P<name>[^\"]{0,200})\"\s+)?(?P<lid>\d{1,9})\s+(?P<port>\d{1,4})\[[^\]]{0,9}\]\s+==\(\s*+"
    r"(?:(?P<width>\d{1,3})X\s+(?P<lane>\d{1,4}(?:\.\d{1,9})?) Gbps)?\s*(?P<state>\w{1,20})/\s*"
    rf"(?P<physical>{'|'.join(filter(None, PHYSICAL))})\s*\)==>\s+"
    r'(?:0x[0-9a-fA-F]{1,16}\s+)?(?:(?P<far_lid>\d{1,9})\s+(?P<far_port>\d{1,4}))?\[[^\]]{0,9}\]\s+"(?P<far_name>[^"]{0,200})"'
    r"(?P<remarks>.{0,120})"
)
WIDER = re.compile(r"\bCould be\s+(\d{1,3})X")
FASTER = re.compile(r"\bCould be\s+(?:(\d{1,4}(?:\.\d{1,9})?) Gbps|(FDR10))")
SPEEDS = {
    "2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "10.3125": "FDR10", "14.0625": "FDR", "25.78125": "EDR",
    "53.125": "HDR", "106.25": "NDR", "212.5": "XDR",
}  # fmt: skip
"""Gb/s of a lane as the tool prints it -> name of the speed."""
SOURCE = "iblinkinfo"
PROMPT = re.compile(
    r"^[\w.@~:/\[ -]{0,60}\]?[#$>] *(?:sudo +)?(?:ibnetdiscover|iblinkinfo|ibdiagnet|opareport)\b(?!:).{0,120}$"
    r"|^\[?[\w.-]{1,30}@[\w.:~/ -]{1,60}\]?[#$] *$",
    re.MULTILINE,
)
"""Lines of a shell in front of and behind what was copied out of a terminal."""
MODEL = "devid="
ADAPTER_PORTS = 2
SHOWN = 5
Holder = tuple[int, str]
"""A LID, by which a line identifies the device at its other end; with the name where it is none."""


class NoMapError(UsageError):
    """A text that is not a map in any of the forms."""


def parse_fabric(text: str) -> FabricMap:
    """Any of the forms, recognised by its lines. Raises UsageError for a damaged one, NoMapError for another text."""
    text = PROMPT.sub("", text)
    lines = text.splitlines()
    if any(HEAD.match(line) for line in lines):
        return parse_ibnetdiscover(text)
    if any(PORT_LINE.match(line) for line in lines):
        return parse_ports(text)
    if is_iblinkinfo(lines):
        return parse_iblinkinfo(text)
    if is_opareport(lines):
        return parse_opareport(text)
    if is_ibdiagnet(text):
        return parse_ibdiagnet(text)
    first = next((line for line in lines if line.strip()), "")
    raise NoMapError(
        f"This is not a map of a fabric: the first line is {first[:80]!r}.",
        "Give the output of ibnetdiscover (also -p), iblinkinfo (also -l) or opareport -o links, or the db_csv or "
        "log of ibdiagnet.",
    )


def parse_ibnetdiscover(text: str) -> FabricMap:
    """Blocks of one device each: `Switch 65 "S-..." # "name" ...`, then a line for each port that has a cable.

    Every cable is listed twice, once at either end, and each end reports its own width and speed. Of a last line
    without a newline only the cable counts: its rate and LID may be cut off.
    """
    read = MapLines()
    block = model = ""
    lines, last = without_last(EXTERNAL.sub("", text))
    for line in lines:
        if not line.strip() or line.startswith("#") or "=" in line.partition('"')[0] or GROUPS.match(line):
            model = line.strip().removeprefix(MODEL) if line.startswith(MODEL) else model
        elif head := HEAD.match(line):
            block = head[3]
            read.section(_device(head, model))
            model = ""
        elif (cable := CABLE.match(line)) and block:
            _take_cable(read, block, cable)
        else:
            read.unknown.append(line)
    if (cable := CABLE.match(last)) and block:
        read.cable(End(device=block, port=int(cable[1])), End(device=cable[3], port=int(cable[4])), (None, ""))
    return read.fabric("ibnetdiscover", cut_off=bool(last))


def _take_cable(read: MapLines, block: str, cable: "re.Match[str]") -> None:
    """One line of a cable in the block of `here`."""
    end, far_end = End(device=block, port=int(cable[1])), End(device=cable[3], port=int(cable[4]))
    rate, name = RATE.search(cable[5]), OTHER_NAME.search(cable[5])
    read.cable(end, far_end, _rate(rate[1], rate[2]) if rate else (None, ""), name[1].strip() if name else "")
    lid = LID.search(cable[5].partition('"')[0])
    if lid and read.devices[block].kind is not DeviceKind.SWITCH:
        guid = cable[2].lower().zfill(16) if cable[2] else ""
        read.address(end, int(lid[1]), guid)


def parse_ports(text: str) -> FabricMap:
    """Lines of one port each: `SW 1719 10 0x7cfe... 4x EDR - CA 134 1 0x7cfe... ( 'switch' - 'node HCA-1' )`."""
    read = MapLines()
    lines, last = without_last(text)
    if last.rstrip().endswith(")"):
        lines, last = [*lines, last], ""
    for line in lines:
        match = PORT_LINE.match(line.strip())
        if not match:
            read.unknown += [line] if line.strip() and not line.startswith("#") else []
            continue
        names = _names(match[11], both=match[7] is not None)
        first = _port(match[1], match[2], match[4], names[0])
        read.own_line(first)
        end = End(device=first.key, port=int(match[3]))
        if match[7] is None:
            read.down.append(end)
            continue
        if first.kind is not DeviceKind.SWITCH:
            read.address(end, int(match[2]), match[4].lower().zfill(16))
        other = _port(match[7], match[8], match[10], names[1])
        read.devices.setdefault(other.key, other)
        rate = _rate(match[5], match[6]) if match[5] else (None, "")
        read.cable(end, End(device=other.key, port=int(match[9])), rate, names[1])
    return read.fabric("ibnetdiscover -p", cut_off=bool(last))


def _rate(width: str, speed: str) -> tuple[int, str]:
    return int(width), speed.replace("???", "")


def _device(head: "re.Match[str]", model: str) -> FabricDevice:
    lid = LID.search(head[5] or "")
    name = (head[4] or "").strip()
    return FabricDevice(
        key=head[3],
        kind=DeviceKind.SWITCH if head[1] in ("Switch", "Rt") else kind_of("H", name),
        name=name,
        lid=int(lid[1]) if lid else None,
        ports=int(head[2]),
        model=model,
    )


def _port(word: str, lid: str, guid: str, name: str) -> FabricDevice:
    """The device of a line."""
    key = f"{'H' if word == 'CA' else 'S'}-{guid.lower().zfill(16)}"
    return FabricDevice(key=key, kind=kind_of(key, name), name=name, lid=int(lid))


def _names(text: str, *, both: bool) -> tuple[str, str]:
    inner = text.strip().removeprefix("(").removesuffix(")").strip()
    first, _, second = inner.partition("' - '") if both else (inner, "", "")
    return first.strip("' "), second.strip("' ")


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


def no_such_nodes(nodes: Sequence[str], hosts: Iterable[str], device: str = "") -> UsageError:
    """The map has adapters (`hosts`: their descriptions), and none of these nodes'."""
    rail = f" with an adapter called {device!r}" if device else ""
    return UsageError(
        f"The fabric's map has none of the nodes ({some(list(nodes), SHOWN)}){rail}; its adapters are called "
        f"{some(sorted(set(hosts)), SHOWN)}.",
        "The first word of an adapter's description must be the node's name (/sys/class/infiniband/*/node_desc).",
    )


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


def is_iblinkinfo(lines: list[str]) -> bool:
    """Whether a head is followed by a line of a port, or a line has both (-l)."""
    pairs = ((head, PORT.match(port)) for head, port in itertools.pairwise(["", *lines]))
    return any(port and (port["name"] is not None or LINK_HEAD.match(head)) for head, port in pairs)


def parse_iblinkinfo(text: str) -> FabricMap:
    """Ends of cables are named by LID and port; a LID without lines of its own is an adapter or switch left out.

    With -l each line has the GUID and name of its device, and does not say whether that is a switch. Where adapters
    have no lines at all (--switches-only), those of the switches are of both ends.
    """
    read = MapLines()
    lines, last = without_last(text)
    ports: list[tuple[End, re.Match[str]]] = []
    by_lid: dict[Holder, str] = {}
    head: re.Match[str] | None = None
    device = ""
    matches = [PORT.match(line) for line in lines]
    switches = _switch_lids([port for port in matches if port])
    for line, port in zip(lines, matches, strict=True):
        if match := LINK_HEAD.match(line):
            head, device = match, ""
        elif port and (head or port["name"] is not None):
            if port["name"] is not None:
                device = _own_line(read, port, is_switch=int(port["lid"]) in switches)
            elif head and not device:
                device = _section(read, head, port)
            by_lid.setdefault(_holder(port["lid"], read.devices[device].name), device)
            ports.append((End(device=device, port=int(port["port"])), port))
        elif line.strip():
            read.unknown.append(line)
    switches_only = not last and all(read.devices[end.device].kind is DeviceKind.SWITCH for end, _ in ports)
    for end, port in ports:
        _take(read, end, port, by_lid)
        if switches_only and port["far_lid"] and not _is_listed(port, by_lid, switches):
            read.cable(_far_end(port, by_lid), end, _rate_of(port), supported=_supported_by(port))
    return read.fabric(SOURCE, cut_off=bool(last))


def _holder(lid: str, name: str) -> Holder:
    return int(lid), name if int(lid) in NO_LID else ""


def _is_listed(port: "re.Match[str]", by_lid: Mapping[Holder, str], switches: Collection[int]) -> bool:
    """Whether the device at the other end has lines of its own, or is a switch, which should have."""
    return _holder(port["far_lid"], port["far_name"].strip()) in by_lid or int(port["far_lid"]) in switches


def _switch_lids(ports: "Iterable[re.Match[str]]") -> set[int]:
    """The LIDs of switches: all ports of a switch have one, and each port of an adapter, of which are two at most."""
    used: defaultdict[int, set[int]] = defaultdict(set)
    for port in ports:
        used[int(port["lid"])].add(int(port["port"]))
        if port["far_lid"]:
            used[int(port["far_lid"])].add(int(port["far_port"]))
    return {lid for lid, numbers in used.items() if len(numbers) > 1 or max(numbers) > ADAPTER_PORTS}


def _own_line(read: MapLines, port: "re.Match[str]", *, is_switch: bool) -> str:
    """A line of `iblinkinfo -l`."""
    key = f"{'S' if is_switch else 'H'}-{port['guid'].lower().zfill(16)}"
    name = port["name"].strip()
    read.own_line(
        FabricDevice(key=key, kind=kind_of(key, name), name=name, lid=int(port["lid"]) if is_switch else None)
    )
    return key


def _section(read: MapLines, head: "re.Match[str]", port: "re.Match[str]") -> str:
    """A switch has its GUID in the head, an adapter in the lines of its ports."""
    guid = (head["guid"] or port["guid"] or "").lower().zfill(16)
    key = f"{'H' if head['kind'] == 'CA' else 'S'}-{guid}"
    name = head["name"].strip()
    lid = int(port["lid"])
    read.section(FabricDevice(key=key, kind=kind_of(key, name), name=name, lid=lid))
    return key


def _take(read: MapLines, end: End, port: "re.Match[str]", by_lid: Mapping[Holder, str]) -> None:
    read.states[end] = PortStates(logical=port["state"], physical=port["physical"])
    if port["far_lid"] is None:
        if port["state"] == DOWN:
            read.down.append(end)
        return
    if read.devices[end.device].kind is not DeviceKind.SWITCH:
        guid = port["guid"] if port["guid"] and port["name"] is None else ""  # with -l it is that of the device
        read.address(end, int(port["lid"]), guid.lower().zfill(16) if guid else "")
    read.cable(end, _far_end(port, by_lid), _rate_of(port), port["far_name"], _supported_by(port))


def _far_end(port: "re.Match[str]", by_lid: Mapping[Holder, str]) -> End:
    far_lid = int(port["far_lid"])
    key = by_lid.get(_holder(port["far_lid"], port["far_name"].strip()), f"H-lid{far_lid:013d}")
    return End(device=key, port=int(port["far_port"]))


def _rate_of(port: "re.Match[str]") -> Rate:
    return (int(port["width"]), SPEEDS.get(port["lane"], "")) if port["width"] else (None, "")


def _supported_by(port: "re.Match[str]") -> str:
    """The rate that both ends support, if it is above the given one: `( Could be 4X Could be 53.125 Gbps)`."""
    width, speed = _rate_of(port)
    remarks = port["remarks"]
    if wider := WIDER.search(remarks):
        width = int(wider[1])
    if faster := FASTER.search(remarks):
        speed = faster[2] or SPEEDS.get(faster[1], f"{faster[1]} Gb/s a lane")
    return rate_text(width, speed) if wider or faster else ""
