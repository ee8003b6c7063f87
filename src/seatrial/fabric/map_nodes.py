"""Nodes, and adapters of nodes, that a map should have and lacks; named by the descriptions of their adapters."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.fabric.ibnetdiscover import adapters_of, no_such_nodes, short
from seatrial.fabric.link_problem import link_text, name_of, problem
from seatrial.model.fabric import DeviceKind, FabricLink, FabricMap
from seatrial.model.subject import link as link_subject
from seatrial.model.subject import node
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, natural_sorted, some, verb

UNNAMED = re.compile(r"^$|^(?:MT\d|localhost\b|Mellanox\b|ConnectX|Infiniscale|\(none\)|Custom\b)", re.IGNORECASE)
"""Descriptions of adapters without the name of a node: those that firmware and drivers begin with."""
FEWEST_ALIKE = 3
"""Nodes that have the same adapters, before another can lack one of them."""
MOST_AT = 2 / 3
"""Share of the adapters at a switch that are of one rail, before it is the switch of that rail."""
OR_PLANNED = ", or it was planned so: the map does not decide"
SHOWN = 3
REMEDY = (
    "Check that the node is up and that its ports have a link (ibstat), then the cable to its switch; read the map "
    "again."
)
Rail = tuple[str, int]
"""Name of an adapter and number of its port."""


def absent_nodes(fabric: FabricMap, nodes: Sequence[str], *, complete: bool) -> tuple[Finding, ...]:
    """The `nodes` without a cable in the map: faults, if it is `complete` and each of its adapters has a node's name.

    Raises UsageError where it has none of them.
    """
    if not nodes or not fabric.links:
        return ()
    wired = _wired(fabric)
    present = adapters_of(fabric, wired.keys(), nodes)
    hosts = {device.key: device.name for device in fabric.devices if device.key in wired}
    if not present:
        raise no_such_nodes(nodes, hosts.values())
    unnamed = [name or key for key, name in hosts.items() if UNNAMED.match(name)]
    perhaps = (
        f" {count(len(unnamed), 'adapter')} {verb(len(unnamed), 'does', 'do')} not have the name of a node and can be "
        f"of it: {some(unnamed, SHOWN)}."
        if unnamed
        else ""
        if complete
        else " The map is incomplete."
    )
    return tuple(
        msgspec.structs.replace(
            _missing(name, f"No adapter of {name} has a cable in the map.{perhaps}"),
            verdict=Verdict.INCONCLUSIVE if perhaps else FindingKind.NOT_IN_MAP.verdict,
        )
        for name in dict.fromkeys(nodes)
        if name not in present
    )


def absent_adapters(fabric: FabricMap) -> Iterator[Finding]:
    """Nodes that lack some of the adapters that several others have: a note where that may be planned.

    It may be if they have half of them, or if another node lacks the same; it is with both, or with less than half.
    """
    rails = _rails(fabric)
    alike = Counter(rails.values())
    for name in natural_sorted(rails):
        own = rails[name]
        fuller = [each for each in alike if own < each and alike[each] >= max(FEWEST_ALIKE, alike[own])]
        if not fuller:
            continue
        usual = max(fuller, key=lambda each: (alike[each], sorted(each)))
        planned = (2 * len(own) <= len(usual)) + (2 * len(own) < len(usual)) + (alike[own] > 1)
        if planned > 1:
            continue
        lacking = some([_text(rail, usual) for rail in sorted(usual - own)], SHOWN)
        statement = (
            f"{name} has {len(own)} of the {count(len(usual), 'port')} that {count(alike[usual], 'node')} have in the "
            f"map, and lacks {lacking}{OR_PLANNED if planned else ''}."
        )
        yield _missing(name, statement, brief=f"lacks {lacking}", note=bool(planned))


def misplaced_adapters(fabric: FabricMap) -> Iterator[Finding]:
    """Adapters at a switch that has other adapters of such nodes: where each rail has a switch of its own.

    A note where several nodes have the same adapter there. Nodes are compared with those that have the same adapters.
    """
    devices, rails = fabric.by_key, _rails(fabric)
    at: defaultdict[tuple[frozenset[Rail], str], dict[FabricLink, tuple[str, Rail]]] = defaultdict(dict)
    for link in fabric.links:
        for near_end, far_end in link.ways:
            adapter, name = devices[near_end.device], short(devices[near_end.device].host)
            if name in rails and adapter.kind is DeviceKind.ADAPTER and len(rails[name]) > 1:
                at[rails[name], far_end.device][link] = name, (adapter.rail.lower(), near_end.port)
    for (usual, switch), links in at.items():
        often = Counter(rail for _, rail in links.values())
        (main, number), *_ = often.most_common()
        if number < max(FEWEST_ALIKE, MOST_AT * len(links)):
            continue
        for link, (name, rail) in links.items():
            if rail == main:
                continue
            own, most = (_text(each, usual) for each in (rail, main))
            planned = often[rail] > 1
            statement = (
                f"{own} of {name} is connected to {name_of(devices, switch)}, where {number} of "
                f"{count(len(links), 'port')} of such nodes are {most}{OR_PLANNED if planned else ''}."
            )
            yield problem(
                kind=FindingKind.LINK_MISPLACED,
                subject=link_subject(link_text(link, devices)),
                statement=statement,
                remedy="Compare with the plan of the cables; another cable of this node may be in a wrong port, too.",
                note=planned,
            )


def _missing(name: str, statement: str, *, brief: str = "", note: bool = False) -> Finding:
    kind = FindingKind.NOT_IN_MAP
    return problem(kind=kind, subject=node(name), statement=statement, remedy=REMEDY, brief=brief, note=note)


def _wired(fabric: FabricMap) -> dict[str, list[int]]:
    """Adapter that has cables -> its ports."""
    devices = fabric.by_key
    ports: defaultdict[str, list[int]] = defaultdict(list)
    for link in fabric.links:
        for end in link.ends:
            if devices[end.device].kind is DeviceKind.ADAPTER:
                ports[end.device].append(end.port)
    return ports


def _rails(fabric: FabricMap) -> dict[str, frozenset[Rail]]:
    """Node -> its adapters and ports with cables. Names of which two adapters are called alike are left out."""
    devices = fabric.by_key
    listed: defaultdict[str, list[Rail]] = defaultdict(list)
    for key, ports in _wired(fabric).items():
        if not UNNAMED.match(devices[key].name):
            listed[short(devices[key].host)] += [(devices[key].rail.lower(), port) for port in ports]
    return {name: frozenset(rails) for name, rails in listed.items() if len(set(rails)) == len(rails)}


def _text(rail: Rail, among: frozenset[Rail]) -> str:
    """The adapter, with its port if others of its ports have cables."""
    name, port = rail
    return f"{name}[{port}]" if sum(other == name for other, _ in among) > 1 else name or f"port {port}"
