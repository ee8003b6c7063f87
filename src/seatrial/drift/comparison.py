"""Which facts differ between nodes that should be alike, and which nodes have which value.

Every machine has identifiers of its own: random PCI domains, and names and values with addresses or UUIDs. They mean
nothing, and are replaced before nodes are compared, and only there.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

import msgspec

from seatrial.drift.expected_differences import (
    EVERYONE,
    alike_everywhere,
    excused_between_nodes,
    own_to_each,
    shared_mounts,
    tolerated_share,
)
from seatrial.drift.flat_facts import FactGroup, Flat, Scalar, parts
from seatrial.drift.peer_groups import groups, lone_machines
from seatrial.drift.severity import family, leading
from seatrial.model.facts import NodeFacts, PciDevice

Value = Scalar | None
"""None: unknown or absent on this node."""
Holders = tuple[tuple[Value, tuple[str, ...]], ...]
"""Each value and the nodes that have it: the rarest first, then by the nodes' names."""
Whole = Mapping[str, NodeFacts]

_ENCODER = msgspec.msgpack.Encoder()
VIRTUAL_DOMAINS = range(0x100, 0x10000)
"""Hyper-V derives the PCI domain of a passed-through device from a random identifier of the virtual machine (Linux,
drivers/pci/controller/pci-hyperv.c). Firmware numbers domains from 0, and volume management devices from 0x10000."""

ADDRESS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
OF_DOMAIN = re.compile(r"(?<![a-zA-Z0-9])([a-z]{2,8})P([0-9]{3,5})(?=[ps][0-9])")
"""enP40166p0s2: predictable names contain the domain, in decimal (systemd.net-naming-scheme(7))."""
OF_MAC = re.compile(r"(?<![a-zA-Z0-9])([a-z]{2})x[0-9a-f]{12}(?![0-9a-f])")
"""enx001122334455: a name made of the MAC address."""
IDENTIFIER = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUID
    r"|(?:[0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4}"  # MAC address, GUID of a port or a card
    r"|(?:0x|eui\.|nvme\.|wwn-0x)[0-9a-f]{16,32})(?![0-9a-f])",
    re.IGNORECASE,
)


def fingerprint(part: FactGroup) -> object:
    """Equal for parts of one name only where the content is; what cannot be encoded equals only itself."""
    try:
        return _ENCODER.encode(part.content)
    except (ValueError, OverflowError, TypeError):  # lone surrogates, numbers beyond 64 bits
        return id(part.content)


def unlike(facts: Whole, excused: Callable[[str], bool]) -> Iterator[tuple[str, Holders]]:
    """The facts that differ, without those that `excused` names or that are within their tolerance.

    Part of the facts that is the same on all nodes is never flattened. A node whose stream broke off does not
    count where a fact is missing: the broken stream is a difference of its own.
    """
    pieces: defaultdict[str, dict[object, tuple[FactGroup, list[str]]]] = defaultdict(dict)
    for node, node_facts in sorted(facts.items()):
        for part in parts(without_identifiers(node_facts), steady=True):
            pieces[part.name].setdefault(fingerprint(part), (part, []))[1].append(node)
    broken = {node for node, node_facts in facts.items() if not node_facts.complete}
    for classes in pieces.values():
        flats = [(part.flat(steady=True), nodes) for part, nodes in classes.values()]
        without = facts.keys() - {node for _, nodes in flats for node in nodes}
        if without:
            flats.append(({}, sorted(without)))
        if len(flats) > 1:
            yield from _unlike_in_piece(flats, broken, excused)


def _unlike_in_piece(
    flats: Sequence[tuple[Flat, list[str]]], broken: set[str], excused: Callable[[str], bool]
) -> Iterator[tuple[str, Holders]]:
    for fact in dict.fromkeys(fact for flat, _ in flats for fact in flat if not excused(fact)):
        nodes_of: defaultdict[Value, list[str]] = defaultdict(list)
        for flat, nodes in flats:
            value = flat.get(fact)
            nodes_of[value].extend(nodes if value is not None else (node for node in nodes if node not in broken))
        share = tolerated_share(fact)
        values = holders((value, nodes) for value, nodes in (within(nodes_of, share) if share else nodes_of).items())
        own = own_to_each(fact, {node: value for value, nodes in values for node in nodes})
        if len(values) > 1 and not own and (names_network(fact) or not identifiers_only(value for value, _ in values)):
            yield fact, values


def holders(nodes_of: Iterable[tuple[Value, Iterable[str]]]) -> Holders:
    """The rarest value first, then by the nodes' names; a value that no node has is left out."""
    named = ((value, tuple(sorted(nodes))) for value, nodes in nodes_of)
    return tuple(sorted(((value, nodes) for value, nodes in named if nodes), key=lambda each: (len(each[1]), each[1])))


def within(nodes_of: Mapping[Value, list[str]], share: float) -> dict[Value, list[str]]:
    """Numbers within `share` of the smallest of their cluster count as the most frequent one of it."""
    numbers = sorted(value for value in nodes_of if _is_number(value))
    clusters: list[list[float]] = []
    for number in numbers:
        if clusters and number - clusters[-1][0] <= share * abs(clusters[-1][0]):
            clusters[-1].append(number)
        else:
            clusters.append([number])
    merged = {value: nodes for value, nodes in nodes_of.items() if not _is_number(value)}
    for cluster in clusters:
        most = max(cluster, key=lambda number: len(nodes_of[number]))
        merged[most] = [node for number in cluster for node in nodes_of[number]]
    return merged


def majority(holders: Holders) -> tuple[str, ...]:
    """The nodes with the value that more than half of all have; empty where no value has such a majority."""
    everyone = sum(len(nodes) for _, nodes in holders)
    return holders[-1][1] if holders and 2 * len(holders[-1][1]) > everyone else ()


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


IDENTITY = frozenset(
    {"system.firmware.vendor", "system.firmware.product", "cpu_model", "cores", "sockets", "processors", "memory_bytes"}
)
"""What shows that a machine is another."""
LOGIN_AND_COMPUTE = "login and compute nodes"


class FactDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One fact that is not the same on nodes that should be alike."""

    fact: str
    group: str
    """The model of the nodes that were compared, "all nodes", or "login and compute nodes"."""
    usual: Value
    """The majority value; None where there is none, or where most do not have the fact."""
    values: Holders
    """Every value (None: unknown or absent) and its nodes, the rarest first."""
    weight: int
    """100: known to affect everything; 10: no effect is known."""
    along_with: tuple[str, ...] = ()
    """Facts of the same family (a device, a mount) that differ on the same nodes."""

    @property
    def odd(self) -> tuple[str, ...]:
        """The nodes without the majority value; all where there is none."""
        usual = majority(self.values)
        return tuple(node for _, nodes in self.values for node in nodes if nodes != usual)

    @property
    def compared(self) -> int:
        """How many nodes there are in all."""
        return sum(len(nodes) for _, nodes in self.values)


def drift(facts: Mapping[str, NodeFacts]) -> tuple[FactDifference, ...]:
    """The facts that differ within each group of like hardware, the most telling first.

    A machine that is alone in its group among many is compared with the largest group, in what makes it another.
    Then those that are one within each group and differ between groups, which hardware does not explain (versions,
    shared mounts: `everywhere.alike_everywhere`). Order: what the fact is known to cost, then how few nodes are odd,
    then the name. Facts that must differ are left out (`EXCUSES`).
    """
    makes = groups(facts)
    differences: list[FactDifference] = []
    for make in makes:
        differences += _folded(make.name, unlike({node: facts[node] for node in make.nodes}, excused_between_nodes))
    lone = lone_machines(facts)
    if lone:
        compared = {node: facts[node] for node in (*makes[0].nodes, *(each.node for each in lone))}
        differences += _folded(EVERYONE, unlike(compared, lambda fact: fact not in IDENTITY))
    if len(makes) > 1:
        reported = {fact for each in differences for fact in (each.fact, *each.along_with)}
        shared = shared_mounts(facts)
        apart = unlike(
            facts, lambda fact: fact in reported or excused_between_nodes(fact) or not alike_everywhere(fact, shared)
        )
        differences += _folded(EVERYONE, apart)
    return tuple(sorted(differences, key=_most_telling_first))


def against(login: NodeFacts, nodes: Mapping[str, NodeFacts]) -> tuple[FactDifference, ...]:
    """What programs built on the login node would miss on the compute nodes: versions, libraries, shared mounts, paths.

    A difference is reported where the login node lacks the majority value of the compute nodes; without such a value,
    if none of them has it.
    """
    name = login.hostname if login.hostname not in nodes else f"{login.hostname} (login)"
    everyone = {name: login, **nodes}
    shared = shared_mounts(everyone)
    differences = []
    for fact, holders in unlike(
        everyone, lambda fact: excused_between_nodes(fact) or not alike_everywhere(fact, shared)
    ):
        others = tuple((value, tuple(node for node in holding if node != name)) for value, holding in holders)
        of_login = next((holding for value, holding in holders if name in holding), (name,))
        usual = majority(tuple(sorted(others, key=lambda each: len(each[1]))))
        if (set(of_login) - {name}) and (not usual or usual[0] in of_login):
            continue
        differences.append((fact, holders))
    return tuple(sorted(_folded(LOGIN_AND_COMPUTE, differences), key=_most_telling_first))


def _folded(group: str, unlike_facts: Iterable[tuple[str, Holders]]) -> list[FactDifference]:
    """One difference for all facts of a family that part the nodes in the same way."""
    together: defaultdict[tuple[object, ...], list[tuple[str, Holders]]] = defaultdict(list)
    for fact, holders in unlike_facts:
        of_presence = len(holders) == 2 and any(value is None for value, _ in holders)
        parted = tuple(nodes for _, nodes in holders)
        together[(family(fact, of_presence=of_presence), *parted)].append((fact, holders))
    return [_difference(group, each) for each in together.values()]


def _difference(group: str, facts: list[tuple[str, Holders]]) -> FactDifference:
    fact, weight, others = leading(name for name, _ in facts)
    holders = next(holders for name, holders in facts if name == fact)
    usual = majority(holders)
    return FactDifference(
        fact=fact,
        group=group,
        usual=next((value for value, nodes in holders if nodes == usual), None),
        values=holders,
        weight=weight,
        along_with=others,
    )


def _most_telling_first(difference: FactDifference) -> tuple[int, float, int, str, str]:
    odd = len(difference.odd)
    return -difference.weight, odd / difference.compared, odd, difference.fact, difference.group


def without_identifiers(facts: NodeFacts) -> NodeFacts:
    """The node with random PCI domains numbered in the order of their devices, and names without addresses.

    Two nodes with the same devices then have the same names for them.
    """
    if not _has_any(facts):
        return facts
    domains = _domains(facts.pci)
    devices = [
        msgspec.structs.replace(
            device,
            address=_place(device.address, domains),
            names=tuple(sorted(_name(name, domains) for name in device.names)),
            path=tuple(msgspec.structs.replace(hop, address=_place(hop.address, domains)) for hop in device.path),
        )
        for device in facts.pci
    ]
    hcas = tuple(
        msgspec.structs.replace(
            hca,
            name=_name(hca.name, domains),
            pci_address=_place(hca.pci_address, domains),
            ports=tuple(
                msgspec.structs.replace(
                    port, interfaces=tuple(_name(interface, domains) for interface in port.interfaces)
                )
                for port in hca.ports
            ),
        )
        for hca in facts.hcas
    )
    interfaces = tuple(
        msgspec.structs.replace(
            interface,
            name=_name(interface.name, domains),
            pci_address=_place(interface.pci_address, domains),
            lower=tuple(_name(lower, domains) for lower in interface.lower),
        )
        for interface in facts.interfaces
    )
    return msgspec.structs.replace(
        facts, pci=tuple(sorted(devices, key=lambda device: device.address)), hcas=hcas, interfaces=interfaces
    )


def names_network(fact: str) -> bool:
    """Whether a fact is the prefix of a subnet, which has the form of a GUID and is the same on a whole fabric."""
    return fact.endswith(".subnet_prefix")


def identifiers_only(texts: Iterable[object]) -> bool:
    """Whether values differ in nothing but identifiers: UUIDs, MAC addresses, GUIDs."""
    words = list(texts)
    return all(isinstance(text, str) and IDENTIFIER.search(text) for text in words) and (
        len({IDENTIFIER.sub("", str(text)) for text in words}) == 1
    )


def _has_any(facts: NodeFacts) -> bool:
    names = [*(each.name for each in facts.interfaces), *(each.name for each in facts.hcas)]
    return bool(_domains(facts.pci)) or any(OF_MAC.search(name) for name in names)


def _domains(devices: Iterable[PciDevice]) -> dict[str, str]:
    """Random domain -> "vm1", "vm2", ... by what is in it, never by its number."""
    inside: dict[str, list[str]] = {}
    for device in devices:
        match = ADDRESS.fullmatch(device.address)
        if match and int(match[1], 16) in VIRTUAL_DOMAINS:
            names = sorted(OF_DOMAIN.sub(r"\1P", name) for name in device.names)
            inside.setdefault(match[1], []).append(
                f"{device.kind} {device.vendor} {device.device} {device.numa_node} {match[2]} {names}"
            )
    in_order = sorted(inside, key=lambda domain: (sorted(inside[domain]), domain))
    return {domain: f"vm{place}" for place, domain in enumerate(in_order, start=1)}


def _place(address: str, domains: dict[str, str]) -> str:
    domain, colon, rest = address.partition(":")
    return f"{domains.get(domain, domain)}{colon}{rest}"


def _name(name: str, domains: dict[str, str]) -> str:
    """enP40166p0s2 -> enPvm1p0s2, enx001122334455 -> enx."""
    numbered = OF_DOMAIN.sub(lambda match: f"{match[1]}P{domains.get(f'{int(match[2]):04x}', match[2])}", name)
    return OF_MAC.sub(r"\1x", numbered)
