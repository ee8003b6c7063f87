"""Whether a map is complete and without contradictions: cut off texts, double addresses, missing cables."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.fabric.link_problem import ACTIVATE, LinkFault, link_text, name_of, problem
from seatrial.model.fabric import DeviceKind, DoubleKind, End, FabricLink, FabricMap
from seatrial.model.pair_table import Flags
from seatrial.model.subject import device
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count, natural_key, some, verb

SHOWN = 3
REREAD = "Read the whole map again: run ibnetdiscover to its end, and check whether it printed errors."


def integrity_problems(fabric: FabricMap) -> tuple[Finding, ...]:
    """An incomplete map, double GUIDs and LIDs, ports without a LID or an answer, and devices without any cable."""
    return (
        *_incomplete(fabric),
        *_doubles(fabric),
        *_without_lid(fabric),
        *_unanswered(fabric),
        *_without_cables(fabric),
    )


def switches_complete(fabric: FabricMap) -> bool:
    """Whether the map has all lines of all switches, as far as can be seen. Cables of adapters may be missing."""
    absent = _absent(fabric)
    if not absent:
        return True
    devices = fabric.by_key
    last = (fabric.sections or ("",))[-1]
    return not any(devices[key].kind is DeviceKind.SWITCH for key in (*absent, last) if key in devices)


def one_sided(fabric: FabricMap) -> Iterator[LinkFault]:
    """Cables that only one of two complete devices lists."""
    if fabric.sections is None:
        return
    devices = fabric.by_key
    complete = set(fabric.sections) - _last(fabric)
    for link in _listed_once(fabric):
        near_end, far_end = (link.one, link.other) if link.listed_by_one else (link.other, link.one)
        if far_end.device in complete:
            ends = [f"{name_of(devices, end.device)}[{end.port}]" for end in (near_end, far_end)]
            yield LinkFault(
                kind=FindingKind.LINK_ENDS_DISAGREE,
                link=link,
                rate="",
                expected="",
                says=f"{ends[0]} lists a cable to {ends[1]}, which does not list it ({link_text(link, devices)}).",
            )


def _listed_once(fabric: FabricMap) -> Iterator[FabricLink]:
    """Cables that one side alone lists, without ports that two cables claim: such ports have a duplicate GUID."""
    used: Counter[End] = Counter(end for link in fabric.links for end in (link.one, link.other))
    for link in fabric.links:
        if link.listed_by_one is not link.listed_by_other and max(used[link.one], used[link.other]) == 1:
            yield link


def _absent(fabric: FabricMap) -> list[str]:
    """Devices to which cables lead and that have no lines of their own; the last one may have lost some."""
    if fabric.sections is None:
        return []
    once = list(_listed_once(fabric))
    ends = {end.device for link in once for end in (link.one, link.other)}
    listed = set(fabric.sections)
    absent = [known.key for known in fabric.devices if known.key in ends and known.key not in listed]
    silent = {(link.other if link.listed_by_one else link.one).device for link in once}
    return absent + [key for key in _last(fabric) if key in silent]


def _last(fabric: FabricMap) -> set[str]:
    """The device whose lines may be cut off: the last one, in a text that lacks devices or ends within a line."""
    if not fabric.sections:
        return set()
    listed = set(fabric.sections)
    lacks = any(end.device not in listed for link in _listed_once(fabric) for end in (link.one, link.other))
    return {fabric.sections[-1]} if lacks or fabric.cut_off else set()


def _incomplete(fabric: FabricMap) -> Iterator[Finding]:
    absent = _absent(fabric)
    if not absent:
        return
    devices = fabric.by_key
    names = some([name_of(devices, key) for key in absent], SHOWN)
    ends = "; the text ends within a line" if fabric.cut_off else ""
    yield problem(
        kind=FindingKind.MAP_INCOMPLETE,
        subject=device("map"),
        statement=f"The map is incomplete: cables lead to {count(len(absent), 'device')} without complete lines of "
        f"their own{ends}. Missing cables were not searched where switches lack lines. Devices: {names}.",
        remedy=REREAD,
    )


def _doubles(fabric: FabricMap) -> Iterator[Finding]:
    for double in fabric.doubles:
        guid = double.kind is DoubleKind.GUID
        holders = " and ".join(double.holders)
        yield problem(
            kind=FindingKind.DUPLICATE_GUID if guid else FindingKind.DUPLICATE_LID,
            subject=device(f"{double.kind} {double.value}"),
            statement=f"{double.kind} {double.value} is used by {holders}.",
            remedy="A GUID must be unique: correct the device that has another's (flint, or the vendor's tool)."
            if guid
            else "A LID must be unique: check that only one subnet manager is active, and let it assign LIDs again.",
        )


def _without_lid(fabric: FabricMap) -> Iterator[Finding]:
    """One finding for all: what they lack is one sweep of the subnet manager."""
    holders = fabric.without_lid
    if not holders:
        return
    yield problem(
        kind=FindingKind.NO_LID,
        subject=device(holders[0] if len(holders) == 1 else count(len(holders), "port")),
        statement=f"{count(len(holders), 'port')} {verb(len(holders), 'has', 'have')} no LID (0 or 65535), so the "
        f"subnet manager has not configured {verb(len(holders), 'it', 'them')}: {some(holders, SHOWN)}.",
        remedy="Check whether a subnet manager is active (sminfo) and what its log says about these ports; no packet "
        "reaches a port without a LID. If the map is old, read it again.",
    )


def _unanswered(fabric: FabricMap) -> Iterator[Finding]:
    """Ports with a link whose other end no device answers for; those of cables are judged with the cables."""
    devices = fabric.by_key
    joined = {end for link in fabric.links for end in (link.one, link.other)}
    for port in fabric.inactive:
        if port.end not in joined:
            name = f"{name_of(devices, port.end.device)}[{port.end.port}]"
            yield problem(
                kind=FindingKind.LINK_NOT_ACTIVE,
                subject=device(name),
                statement=f"{name} is {port.state}, not Active, and nothing answers at the other end of its cable.",
                remedy=f"Check the device at the other end. {ACTIVATE}",
            )


def _without_cables(fabric: FabricMap) -> Iterator[Finding]:
    """Adapters that the text lists without a cable."""
    joined = {end.device for link in fabric.links for end in (link.one, link.other)}
    joined |= {end.device for end in fabric.down} | _last(fabric)
    devices = fabric.by_key
    for key in fabric.sections or ():
        adapter = devices[key]
        if key not in joined and adapter.kind is DeviceKind.ADAPTER and fabric.links:
            yield problem(
                kind=FindingKind.CABLES_MISSING,
                subject=device(adapter.name or key),
                statement=f"{adapter.name or key} is listed without any cable.",
                remedy="Check the cable of this adapter, and read the map again.",
            )


ALIKE = 0.5
"""Switches of one tier are peers if they share at least this part of their neighbours in the other tier."""
MOST = 2 / 3
"""Share of a switch's peers that must have as many cables before one can lack some."""
FEWEST_PEERS = 3
"""Peers at one of the two ends; the other needs one."""
Counts = NDArray[np.int32]


class MissingCables(msgspec.Struct, frozen=True, kw_only=True):
    """`lower` and `upper` are joined by `present` cables, where comparable pairs have `expected`.

    `lower_ports`, `upper_ports`: where peers have these cables, as far as those ports are free.
    """

    lower: str
    upper: str
    present: int
    expected: int
    lower_ports: tuple[int, ...]
    upper_ports: tuple[int, ...]


class _Cables:
    """Cables among switches: (switch, switch) -> ports of the first."""

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self.ports: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.used: defaultdict[str, set[int]] = defaultdict(set)
        for link in fabric.links:
            for near_end, far_end in ((link.one, link.other), (link.other, link.one)):
                self.used[near_end.device].add(near_end.port)
                if near_end.device in tier and far_end.device in tier:
                    self.ports[near_end.device, far_end.device].append(near_end.port)

    def expected_ports(self, near_end: str, far_end: str, peers: list[str], most: int) -> tuple[int, ...]:
        """Free ports of `here` that should lead to `there`: those by which most peers of `here` reach it."""
        by_port = Counter(port for peer in peers for port in set(self.ports[peer, far_end]))
        free = [port for port, often in by_port.items() if 2 * often > len(peers) and port not in self.used[near_end]]
        return tuple(sorted(free)[:most])


def missing_cables(fabric: FabricMap, tier: Mapping[str, int]) -> list[MissingCables]:
    """Pairs of switches of neighbouring tiers that lack cables. Empty where the map lacks lines of switches.

    Empty, too, for more switches than can be compared. A pair lacks cables if most peers of either switch have more
    to the other one, and most peers of one of them the same number.
    """
    if not switches_complete(fabric) or too_many(tier):
        return []
    cables = _Cables(fabric, tier)
    missing: list[MissingCables] = []
    for level in range(max(tier.values(), default=0)):
        lower, upper = (
            sorted((switch for switch, of in tier.items() if of == wanted), key=natural_key)
            for wanted in (level, level + 1)
        )
        missing += _between(cables, lower, upper)
    return missing


def too_many(tier: Mapping[str, int]) -> int:
    """How many switches the largest tier has, if they are too many to compare each with each; else 0."""
    most = max(Counter(tier.values()).values(), default=0)
    return most if most > MOST_SWITCHES else 0


MOST_SWITCHES = 4096
"""Most switches of a tier: each is compared with each, which takes the square of their number in memory."""


def _between(cables: _Cables, lower: list[str], upper: list[str]) -> list[MissingCables]:
    counts = np.array([[len(cables.ports.get((a, b), ())) for b in upper] for a in lower], dtype=np.int32)
    peers_below, peers_above = _peers(counts > 0), _peers(counts.T > 0)
    expected = _expected(counts, peers_below, peers_above)
    missing = []
    for row, column in np.argwhere(expected > counts).tolist():
        a, b = lower[row], upper[column]
        lacking = int(expected[row, column] - counts[row, column])
        below = [lower[place] for place in np.flatnonzero(peers_below[row])]
        above = [upper[place] for place in np.flatnonzero(peers_above[column])]
        missing.append(
            MissingCables(
                lower=a,
                upper=b,
                present=int(counts[row, column]),
                expected=int(expected[row, column]),
                lower_ports=cables.expected_ports(a, b, below, lacking),
                upper_ports=cables.expected_ports(b, a, above, lacking),
            )
        )
    return missing


def _peers(joined: Flags) -> Flags:
    """Which rows share at least ALIKE of their neighbours. No row is its own peer."""
    some = joined.astype(np.float32)
    shared = some @ some.T
    size = some.sum(axis=1)
    either = size[:, None] + size[None, :] - shared
    alike: Flags = shared >= ALIKE * np.maximum(either, 1)
    np.fill_diagonal(alike, val=False)
    return alike


def _expected(counts: Counts, below: Flags, above: Flags) -> Counts:
    """Cables that each pair should have: the number that most peers at one end have, if most at the other have as many.

    0 where there is none. Those at the other end may have more: of two switches one has the cable that the other lacks.
    A switch shows its own number by one or two others above only if it has as many cables as most of its peers.
    """
    expected = np.zeros_like(counts)
    peers_below, peers_above = below.sum(axis=1)[:, None], above.sum(axis=1)[None, :]
    cables = counts.sum(axis=1)
    usual = ((cables[:, None] == cables[None, :]) & below).sum(axis=1)[:, None] >= MOST * peers_below
    usual = usual | (peers_above >= FEWEST_PEERS)
    enough = (np.minimum(peers_below, peers_above) >= 1) & (np.maximum(peers_below, peers_above) >= FEWEST_PEERS)
    for value in np.unique(counts[counts > 0]).tolist():
        same, least = (chosen.astype(np.float32) for chosen in (counts == value, counts >= value))
        by_lower, by_upper = (
            (below.astype(np.float32) @ first >= MOST * peers_below)
            & (second @ above.astype(np.float32).T >= MOST * peers_above)
            for first, second in ((same, least), (least, same))
        )
        expected[enough & (by_lower | by_upper & usual)] = value
    return expected
