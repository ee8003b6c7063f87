"""What a map alone shows: cables that trained low, missing cables, contradictions, and what is missing of the map.

Cables are compared with peers (`link_rates`), pairs of switches with comparable pairs (`missing_cables`); a fault that
all cables of a switch share is the switch's; a text that was cut off, and addresses that occur twice,
are problems themselves (`map_integrity`).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from seatrial.fabric.link_problem import ACTIVATE, RESEAT, LinkFault, link_text, name_of, ports_text, problem
from seatrial.fabric.link_rates import rate_faults
from seatrial.fabric.map_integrity import integrity_problems, one_sided
from seatrial.fabric.map_nodes import absent_adapters, absent_nodes, misplaced_adapters
from seatrial.fabric.missing_cables import (
    MOST_SWITCHES,
    CableSearch,
    FewUplinks,
    MissingCables,
    ShortPod,
    missing_cables,
    too_many,
)
from seatrial.model.fabric import DeviceKind, FabricDevice, FabricLink, FabricMap
from seatrial.model.subject import FABRIC, device, link
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count, natural_key, natural_sorted, some

FEWEST_SHARE = 1 / 8
"""A switch with a smaller part of the adapters of the fullest one is not a leaf: a spine with a host for management."""
LEAVES_OF_A_SPINE = 2
TWICE = 2
"""Adapters of a leaf over those of a spine that has some, too."""
NEARLY_ALL = 0.8
FEWEST = 3
MOST_UPPERS = 4
"""Upper switches that a sentence on uplinks lists."""
EVERYWHERE = 0.5
"""Share of all cables from which a fault is that of the whole fabric."""
TO_SWITCHES, TO_ALL, TO_ADAPTERS = "to switches", "", "to adapters"
CLASSES = (TO_ALL, TO_SWITCHES, TO_ADAPTERS)
Place = tuple[str, str]
"""Key of a switch, and one of CLASSES."""
REMEDIES = {
    FindingKind.LINK_NOT_ACTIVE: ACTIVATE,
    FindingKind.LINK_ENDS_DISAGREE: "Both ends of a cable have one rate, so one report is wrong. Read the map again.",
    FindingKind.LINK_RATE_UNKNOWN: "Read the rate with a newer ibnetdiscover, or with iblinkinfo at this port.",
}
SWITCH_REMEDY = "Check the switch first: its firmware, its port settings, its power; then its cables."
SAYS = {
    FindingKind.LINK_NOT_ACTIVE: "are {rates}, not Active, and carry no data",
    FindingKind.LINK_FAILING: "are {rates}: their links have failed and are trained again",
    FindingKind.LINK_NARROW: "are active at {rates} only",
    FindingKind.LINK_RATE_UNKNOWN: "have an unknown rate",
    FindingKind.LINK_BELOW_SUPPORT: "run at {rates}, and both ends of each support {expected}",
    FindingKind.LINK_ENDS_DISAGREE: "are reported differently by their two ends",
    FindingKind.LINK_BELOW_PEERS: "run at {rates}, where peers run at {expected}",
}


def check_map(fabric: FabricMap, nodes: Sequence[str] = ()) -> tuple[Finding, ...]:
    """All problems of a map: those that the tool reports first, then the map itself, cables, and missing ones.

    `nodes`: those that it should have. Raises UsageError where it has none of them.
    """
    tier = tiers(fabric)
    lone = list(one_sided(fabric))
    contradicted = {fault.link for fault in lone}
    faults = [*lone, *(fault for fault in rate_faults(fabric, tier) if fault.link not in contradicted)]
    integrity = integrity_problems(fabric)
    complete = not fabric.unknown and all(finding.kind is not FindingKind.MAP_INCOMPLETE for finding in integrity)
    return (
        *fabric.reported,
        *integrity,
        *absent_nodes(fabric, nodes, complete=complete),
        *(absent_adapters(fabric) if complete else ()),
        *misplaced_adapters(fabric),
        *_not_searched(too_many(tier)),
        *link_problems(fabric, faults),
        *missing_problems(fabric, missing_cables(fabric, tier)),
    )


def _not_searched(switches: int) -> Iterator[Finding]:
    if switches:
        yield problem(
            kind=FindingKind.MAP_INCOMPLETE,
            subject=device("map"),
            statement=f"{switches} switches are in one tier, and missing cables are searched among {MOST_SWITCHES} at "
            "most.",
            remedy="Give a map of a part of the fabric.",
        )


def tiers(fabric: FabricMap) -> Mapping[str, int]:
    """Switch -> 0 for a leaf switch, 1 for the switches above it, and so on. Switches out of reach are left out."""
    devices = fabric.by_key
    adapters: Counter[str] = Counter()
    near: defaultdict[str, set[str]] = defaultdict(set)
    for cable in fabric.links:
        for near_end, far_end in cable.device_ways:
            if devices[near_end].kind is not DeviceKind.SWITCH:
                continue
            if devices[far_end].kind is DeviceKind.ADAPTER:
                adapters[near_end] += 1
            elif devices[far_end].kind is DeviceKind.SWITCH:
                near[near_end].add(far_end)
    fullest = max(adapters.values(), default=0)
    tier = {switch: 0 for switch, count in adapters.items() if count > FEWEST_SHARE * fullest}
    tier = {switch: 0 for switch in tier if not _is_above_leaves(switch, adapters, near)}
    queue = deque(sorted(tier))
    while queue:
        switch = queue.popleft()
        for other in sorted(near[switch]):
            if other not in tier:
                tier[other] = tier[switch] + 1
                queue.append(other)
    return tier


def _is_above_leaves(switch: str, adapters: Counter[str], near: Mapping[str, set[str]]) -> bool:
    """Whether it is a spine to which some adapters are connected.

    It joins switches that have twice as many adapters each, that have no cables to each other, and that a switch
    without adapters joins, too, or that have no more neighbours than it has.
    """
    leaves = {other for other in near[switch] if adapters[other] >= TWICE * adapters[switch]}
    joined = any(near[leaf] & leaves for leaf in leaves)
    if len(leaves) < LEAVES_OF_A_SPINE or joined:
        return False
    beside = {other for leaf in leaves for other in near[leaf] if not adapters[other]}
    shared = any(len(near[other] & leaves) >= LEAVES_OF_A_SPINE for other in beside)
    return shared or all(len(near[leaf]) <= len(near[switch]) for leaf in leaves)


def link_problems(fabric: FabricMap, faults: Sequence[LinkFault]) -> Iterator[Finding]:
    """Problems of switches first, then those of the remaining cables, in their order."""
    devices = fabric.by_key
    yield from _perhaps_planned([fault for fault in faults if fault.planned], devices)
    left = [fault for fault in faults if not fault.planned]
    for kind in dict.fromkeys(fault.kind for fault in faults):
        of_kind = [fault for fault in left if fault.kind is kind]
        if (
            kind is not FindingKind.LINK_BELOW_PEERS
            and len(of_kind) >= FEWEST
            and len(of_kind) > EVERYWHERE * len(fabric.links)
        ):
            yield _shared_by_all(of_kind, len(fabric.links), devices)
            left = [fault for fault in left if fault.kind is not kind]
    totals = Counter(place for cable in fabric.links for place in _places(cable, devices))
    taken: set[int] = set()
    for (switch, where), group in _shared(left, totals, devices):
        yield _of_switch(switch, where, group, totals[switch, where], devices)
        taken.update(map(id, group))
    left = [fault for fault in left if id(fault) not in taken]
    for fault in left:
        yield problem(
            kind=fault.kind,
            subject=link(link_text(fault.link, devices)),
            statement=fault.says,
            remedy=REMEDIES.get(fault.kind, RESEAT),
            brief=f"{fault.kind.meaning} ({fault.rate})" if fault.rate else "",
        )


def _perhaps_planned(faults: Sequence[LinkFault], devices: Mapping[str, FabricDevice]) -> Iterator[Finding]:
    """One note for all cables of one rate."""
    for rate in dict.fromkeys(fault.rate for fault in faults):
        group = [fault for fault in faults if fault.rate == rate]
        cables = [link_text(fault.link, devices) for fault in group]
        alike = count(len(group), "cable")
        yield problem(
            kind=FindingKind.LINK_BELOW_PEERS,
            subject=device(alike),
            statement=f"{alike} {_says(group)}. They trained too low, or were planned so: the map does not decide. The "
            f"cables: {some(cables)}.",
            remedy="Compare with the types of adapters, switches and cables; replace what should be faster.",
            cables=tuple(cables),
            note=True,
        )


def _places(cable: FabricLink, devices: Mapping[str, FabricDevice]) -> Iterator[Place]:
    """The switches of a cable, each with all its cables and with those that lead to such devices."""
    for near_end, far_end in cable.ways:
        if devices[near_end.device].kind is DeviceKind.SWITCH:
            kind = devices[far_end.device].kind
            yield near_end.device, TO_ALL
            if kind is not DeviceKind.AGGREGATION:
                yield near_end.device, TO_SWITCHES if kind is DeviceKind.SWITCH else TO_ADAPTERS


def _shared(
    faults: Sequence[LinkFault], totals: Counter[Place], devices: Mapping[str, FabricDevice]
) -> Iterator[tuple[Place, list[LinkFault]]]:
    """Switches of which nearly all cables have one fault, the one with most of them first; each cable once."""
    groups: defaultdict[tuple[Place, FindingKind], dict[int, LinkFault]] = defaultdict(dict)
    for fault in faults:
        for place in _places(fault.link, devices):
            groups[place, fault.kind][id(fault)] = fault
    names = {place: (CLASSES.index(place[1]), natural_key(name_of(devices, place[0]))) for place, _ in groups}
    queue = [(-len(group), *names[place], place, kind) for (place, kind), group in groups.items()]
    heapify(queue)
    while queue:
        size, *_, place, kind = heappop(queue)
        group = groups[place, kind]
        if len(group) < max(FEWEST, NEARLY_ALL * totals[place]):
            continue
        if len(group) != -size:  # another switch has taken some of them
            heappush(queue, (-len(group), *names[place], place, kind))
            continue
        shared = list(group.values())
        for fault in shared:
            for other in _places(fault.link, devices):
                groups[other, kind].pop(id(fault), None)
        yield place, shared


def _of_switch(
    switch: str, where: str, group: Sequence[LinkFault], total: int, devices: Mapping[str, FabricDevice]
) -> Finding:
    ports = [end.port for fault in group for end in fault.link.ends if end.device == switch]
    name, kind = name_of(devices, switch), group[0].kind
    amount = f"All {total}" if len(group) == total else f"{len(group)} of {total}"
    cables = f"{amount} cables of {name}{' ' if where else ''}{where}"
    return problem(
        kind=kind,
        subject=device(name),
        statement=f"{cables} {_says(group)}: {ports_text(ports)}.",
        remedy=REMEDIES.get(kind, SWITCH_REMEDY),
        cables=tuple(link_text(fault.link, devices) for fault in group),
    )


def _shared_by_all(group: Sequence[LinkFault], total: int, devices: Mapping[str, FabricDevice]) -> Finding:
    kind = group[0].kind
    return problem(
        kind=kind,
        subject=FABRIC,
        statement=f"{len(group)} of {total} cables of the fabric {_says(group)}.",
        remedy=REMEDIES.get(kind, "Check what all cables share: the subnet manager's settings and the type of cable."),
        cables=tuple(link_text(fault.link, devices) for fault in group),
    )


def _says(group: Sequence[LinkFault]) -> str:
    rates, expected = (
        " or ".join(sorted(set(words))) for words in zip(*((f.rate, f.expected) for f in group), strict=True)
    )
    return SAYS[group[0].kind].format(rates=rates, expected=expected)


def missing_problems(fabric: FabricMap, missing: CableSearch) -> Iterator[Finding]:
    """One problem for each switch that lacks cables to several others or to any, and one for each other pair."""
    devices = fabric.by_key
    by_name = sorted(missing.switches, key=lambda few: natural_key(name_of(devices, few.switch)))
    yield from (_few_uplinks(few, devices) for few in by_name)
    yield from (_short_pod(pod, devices) for pod in missing.pods)
    pairs: defaultdict[str, dict[int, MissingCables]] = defaultdict(dict)
    for number, pair in enumerate(missing.pairs):
        for switch in (pair.upper, pair.lower):
            pairs[switch][number] = pair
    names = {switch: natural_key(name_of(devices, switch)) for switch in pairs}
    queue = [(-len(lacking), names[switch], switch) for switch, lacking in pairs.items()]
    heapify(queue)
    while queue:
        size, _, switch = heappop(queue)
        lacking = pairs[switch]
        if lacking and len(lacking) != -size:
            heappush(queue, (-len(lacking), names[switch], switch))
        elif lacking:
            group = dict(lacking)
            for number, pair in group.items():
                for end in {pair.upper, pair.lower}:
                    del pairs[end][number]
            found = list(group.values())
            yield _one_pair(found[0], devices) if len(found) == 1 else _several_pairs(switch, found, devices)


def _one_pair(pair: MissingCables, devices: Mapping[str, FabricDevice]) -> Finding:
    lower, upper = name_of(devices, pair.lower), name_of(devices, pair.upper)
    ports = [
        f"{name}[{port}]" for name, free in ((lower, pair.lower_ports), (upper, pair.upper_ports)) for port in free
    ]
    where = f" Free ports: {', '.join(ports)}." if ports else ""
    cables = {0: "no cable", 1: "one cable"}.get(pair.present, f"{pair.present} cables")
    return problem(
        kind=FindingKind.CABLES_MISSING,
        subject=device(f"{lower} and {upper}"),
        statement=f"{lower} and {upper} are joined by {cables}; such switches have {pair.expected} "
        f"to each other.{where}",
        remedy="Check both switches for a port that is down and a cable that is out or in a wrong port.",
    )


def _several_pairs(switch: str, group: Sequence[MissingCables], devices: Mapping[str, FabricDevice]) -> Finding:
    name = name_of(devices, switch)
    lacking = sum(pair.expected - pair.present for pair in group)
    others = []
    own: list[int] = []
    for pair in sorted(group, key=lambda pair: natural_key(name_of(devices, _other(pair, switch)))):
        far, near = (
            (pair.lower_ports, pair.upper_ports) if switch == pair.upper else (pair.upper_ports, pair.lower_ports)
        )
        own += near
        free = f", {ports_text(far)}" if far else ""
        others.append(f"{name_of(devices, _other(pair, switch))} ({pair.present} of {pair.expected}{free})")
    near_end = f" at its {ports_text(own)}" if own else ""
    return problem(
        kind=FindingKind.CABLES_MISSING,
        subject=device(name),
        statement=f"{name} lacks {count(lacking, 'cable')}{near_end} to "
        f"{count(len(group), 'switch', 'switches')}: {', '.join(others)}.",
        remedy="Check this switch and the listed ports for a port that is down and a cable that is out.",
    )


def _few_uplinks(few: FewUplinks, devices: Mapping[str, FabricDevice]) -> Finding:
    """A fault, or a note that names both of what it can be."""
    name, like = name_of(devices, few.switch), name_of(devices, few.example)
    uppers = ", ".join(f"{cables} to {name_of(devices, upper)}" for upper, cables in few.cables[:MOST_UPPERS])
    uppers += f" and {len(few.cables) - MOST_UPPERS} more" if len(few.cables) > MOST_UPPERS else ""
    others = f"{few.agreeing} of {count(few.peers, 'such switch', 'such switches')}, as {like}, have"
    others = others if few.peers > 1 else f"{like} has"
    lacking = few.usual - few.present
    usual = f"{few.usual}" if lacking else f"{few.usual}, shared evenly"
    fault = f"{name} lacks {count(lacking, 'cable')}" if lacking else "A cable leads to the wrong switch"
    statement = (
        f"{name} has {count(few.present, 'cable')} to switches {few.side} it ({uppers}), where {others} {usual}."
    )
    if not few.decided:
        statement += f" {fault}, or it was planned so: the map does not decide."
    return problem(
        kind=FindingKind.CABLES_MISSING,
        subject=device(name),
        statement=statement,
        remedy=f"Check {name} for an uplink port that is down and a cable that is out or in a wrong port.",
        note=not few.decided,
    )


def _short_pod(pod: ShortPod, devices: Mapping[str, FabricDevice]) -> Finding:
    names = natural_sorted(name_of(devices, switch) for switch in pod.switches)
    return problem(
        kind=FindingKind.CABLES_MISSING,
        subject=device(some(names, 1)),
        statement=f"{some(names, MOST_UPPERS)} share the switches above them and have at most "
        f"{count(pod.most, 'cable')} each to those, where {pod.agreeing} of {pod.pods} such groups, as that of "
        f"{name_of(devices, pod.example)}, have {pod.usual}. A switch above them is missing, or it was planned so: "
        "the map does not decide.",
        remedy="Check whether a switch above them is down, or misses all cables to them.",
        note=True,
    )


def _other(pair: MissingCables, switch: str) -> str:
    return pair.lower if switch == pair.upper else pair.upper
