"""Faults planted into the text of a fabric's map, and whether `check_map` names exactly what was planted."""

import random
import re
from collections.abc import Callable, Sequence

import msgspec

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map, tiers
from seatrial.fabric.missing_cables import missing_cables
from seatrial.model.fabric import DeviceKind, End, FabricLink, FabricMap
from seatrial.model.verdict import FindingKind

SLOWER = {"XDR": "NDR", "NDR": "HDR", "HDR": "EDR", "EDR": "FDR", "FDR": "QDR"}
HEAD = re.compile(r'(?:Switch|Ca)\s+\d+\s+"([^"]+)"')
PORT = re.compile(r"\[(\d+)\]")
RATE = re.compile(r"(\d+)x([A-Z]+)$")
Named = tuple[FindingKind, str]


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """A mutated map. `named`: the finding that must be new; `missing`: the pair of switches that must be new."""

    text: str
    named: Named | None = None
    missing: tuple[str, str] | None = None


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """A map, and what is found in it without any planted fault."""

    text: str
    fabric: FabricMap
    named: frozenset[Named]
    missing: frozenset[tuple[str, str]]


def original(text: str) -> Original:
    """A map as it is."""
    fabric = parse_fabric(text)
    return Original(text=text, fabric=fabric, named=_named(fabric), missing=_missing(fabric))


def plant(kind: str, whole: Original, draw: random.Random) -> Planted:
    """One fault of a kind of FAULTS at a random place."""
    return FAULTS[kind](whole, draw)


def named_exactly(planted: Planted, whole: Original) -> bool:
    """Whether what is new is the planted fault and nothing else. Missing cables are compared pair by pair."""
    fabric = parse_fabric(planted.text)
    new = _named(fabric) - whole.named
    absent = _missing(fabric) - whole.missing
    if planted.missing is not None:
        names = {device.key: device.name for device in fabric.devices}
        said = [one.statement for one in check_map(fabric) if one.kind is FindingKind.CABLES_MISSING]
        shown = any(all(names[key] in text for key in planted.missing) for text in said)
        return not new and absent == {planted.missing} and shown
    return new == {planted.named} and not absent


def _named(fabric: FabricMap) -> frozenset[Named]:
    found = check_map(fabric)
    return frozenset((one.kind, one.subject.name) for one in found if one.kind is not FindingKind.CABLES_MISSING)


def _missing(fabric: FabricMap) -> frozenset[tuple[str, str]]:
    return frozenset((pair.lower, pair.upper) for pair in missing_cables(fabric, tiers(fabric)).pairs)


def _edited(text: str, ends: Sequence[End], change: Callable[[str], str]) -> str:
    """The text with the lines of some ends changed; an empty line is left out."""
    chosen = {(end.device, end.port) for end in ends}
    lines, device = [], ""
    for line in text.splitlines():
        if head := HEAD.match(line):
            device = head[1]
        port = PORT.match(line)
        if port is None or (device, int(port[1])) not in chosen:
            lines.append(line)
        elif changed := change(line):
            lines.append(changed)
    return "\n".join(lines) + "\n"


def _link_name(fabric: FabricMap, link: FabricLink) -> str:
    names = {device.key: device.name or device.key for device in fabric.devices}
    return " - ".join(f"{names[end.device]}[{end.port}]" for end in (link.one, link.other))


def _cable(whole: Original, draw: random.Random) -> FabricLink:
    """Any cable but those of reduction engines, which have no peers."""
    kinds = {device.key: device.kind for device in whole.fabric.devices}
    engines = DeviceKind.AGGREGATION
    links = [link for link in whole.fabric.links if engines not in (kinds[link.one.device], kinds[link.other.device])]
    return draw.choice(links)


def _trunks(whole: Original, draw: random.Random) -> list[FabricLink]:
    """All cables between two switches that are not known to lack any."""
    tier = tiers(whole.fabric)
    links = [link for link in whole.fabric.links if link.one.device in tier and link.other.device in tier]
    known = {frozenset(pair) for pair in whole.missing}
    chosen = draw.choice([link for link in links if {link.one.device, link.other.device} not in known])
    ends = {chosen.one.device, chosen.other.device}
    return [link for link in links if {link.one.device, link.other.device} == ends]


def _with_rate(whole: Original, draw: random.Random, rate: Callable[[str, str], str], kind: FindingKind) -> Planted:
    link = _cable(whole, draw)
    text = _edited(
        whole.text, (link.one, link.other), lambda line: RATE.sub(lambda found: rate(found[1], found[2]), line)
    )
    return Planted(text=text, named=(kind, _link_name(whole.fabric, link)))


def _without(whole: Original, links: Sequence[FabricLink]) -> Planted:
    tier = tiers(whole.fabric)
    lower, upper = sorted((links[0].one.device, links[0].other.device), key=lambda key: tier[key])
    ends = [end for link in links for end in (link.one, link.other)]
    return Planted(text=_edited(whole.text, ends, lambda _: ""), missing=(lower, upper))


def _twice(whole: Original, draw: random.Random) -> Planted:
    """One adapter gets the GUIDs of another, wherever they occur."""
    adapters = [device.key for device in whole.fabric.devices if device.kind is DeviceKind.ADAPTER]
    first, other = draw.sample(adapters, 2)
    guids = {address.end.device: address.guid.lstrip("0") for address in whole.fabric.addresses}
    text = whole.text.replace(f'"{other}"', f'"{first}"').replace(f"({guids[other]})", f"({guids[first]})")
    return Planted(text=text, named=(FindingKind.DUPLICATE_GUID, f"GUID 0x{first.partition('-')[2]}"))


def _cut(whole: Original, draw: random.Random) -> Planted:
    first = whole.text.index("[1]")
    place = draw.randrange(first + 40, len(whole.text) - 200)
    return Planted(text=whole.text[:place], named=(FindingKind.MAP_INCOMPLETE, "map"))


FAULTS: dict[str, Callable[[Original, random.Random], Planted]] = {
    "slower": lambda whole, draw: _with_rate(
        whole, draw, lambda width, speed: f"{width}x{SLOWER[speed]}", FindingKind.LINK_BELOW_PEERS
    ),
    "1X": lambda whole, draw: _with_rate(whole, draw, lambda _, speed: f"1x{speed}", FindingKind.LINK_NARROW),
    "unknown rate": lambda whole, draw: _with_rate(
        whole, draw, lambda width, _: f"{width}x???", FindingKind.LINK_RATE_UNKNOWN
    ),
    "one cable missing": lambda whole, draw: _without(whole, _trunks(whole, draw)[:1]),
    "all cables of a pair missing": lambda whole, draw: _without(whole, _trunks(whole, draw)),
    "duplicate GUID": _twice,
    "cut off": _cut,
}
