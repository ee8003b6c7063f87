"""Peer groups: nodes of the same hardware, the value of their majority, and how their networks differ."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from seatrial.model.facts import INFINIBAND, NetworkInterface, NodeFacts
from seatrial.model.hca import Port

Value = TypeVar("Value", bound=Hashable)


def usual(values: Mapping[str, Value]) -> Value | None:
    """The value that more than half of the nodes have; None where none has such a majority."""
    counts = Counter(values.values())
    return next((value for value, count in counts.items() if 2 * count > len(values)), None)


Make = tuple[str, str, str]
"""Vendor, product and processor model; "" where unknown."""


class PeerGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that should be alike, sorted: of one declared kind, else of one model.

    `name`: vendor, product and processor model as far as they are known, or the kind.
    """

    name: str
    nodes: tuple[str, ...]


def groups(facts: Mapping[str, NodeFacts]) -> tuple[PeerGroup, ...]:
    """Groups with the same vendor, product and processor model; the largest group first, then by name.

    Nodes of a kind that the site declares are a group whatever they are.

    Parts that can break do not count: a node that lost memory, a core or a card stays in its group.
    A node of unknown model (its facts broke off, or DMI is not readable) joins the only group that it
    could belong to, so that it has peers.
    """
    of_make: defaultdict[Make, list[str]] = defaultdict(list)
    of_kind: defaultdict[str, list[str]] = defaultdict(list)
    for node, node_facts in sorted(facts.items()):
        if node_facts.kind:
            of_kind[node_facts.kind].append(node)
        else:
            of_make[_make(node_facts)].append(node)
    joined: dict[Make, list[str]] = {}
    largest_first = sorted(of_make.items(), key=lambda each: (-len(each[1]), each[1]))
    for make, nodes in sorted(largest_first, key=lambda each: each[0].count("")):
        fitting = [other for other in joined if all(a in ("", b) for a, b in zip(make, other, strict=True))]
        joined.setdefault(fitting[0] if "" in make and len(fitting) == 1 else make, []).extend(nodes)
    named = [PeerGroup(name=_name(make), nodes=tuple(sorted(nodes))) for make, nodes in joined.items()]
    named += [PeerGroup(name=f"kind {kind}", nodes=tuple(nodes)) for kind, nodes in of_kind.items()]
    return tuple(sorted(named, key=lambda group: (-len(group.nodes), group.nodes)))


def hardware_groups(facts: Mapping[str, NodeFacts]) -> tuple[tuple[str, ...], ...]:
    """The nodes of `groups`, without the names."""
    return tuple(group.nodes for group in groups(facts))


def gpu_models(facts: Mapping[str, NodeFacts]) -> dict[str, str]:
    """Node -> its model as far as it differs from that of other nodes: the group of `groups`, and its GPUs' names.

    A node whose GPUs are not known is taken for one of its group if that has one model of GPU. Empty texts: all nodes
    are alike.
    """
    models: dict[str, tuple[str, str]] = {}
    for group in groups(facts):
        own = {node: " and ".join(sorted({gpu.name for gpu in facts[node].gpus})) for node in group.nodes}
        named = set(own.values()) - {""}
        only = named.pop() if len(named) == 1 else ""
        models |= {node: (group.name, gpus or only) for node, gpus in own.items()}
    varied = [len(set(column)) > 1 for column in zip(*models.values(), strict=True)]
    return {
        node: ", ".join(text for text, varies in zip(model, varied, strict=True) if varies and text)
        for node, model in models.items()
    }


DESIGN_NODES, DESIGN_SHARE = 2, 0.25
"""Nodes of one model, at least and as a share of them, whose links have another rate than the others': that is taken
for a design. Where fewer have it, their links are worse than they should be."""


def comparable(facts: Mapping[str, NodeFacts]) -> tuple[PeerGroup, ...]:
    """`groups`, where nodes of one model with other adapters or another link rate are groups of their own.

    A kind that the site declares is one group, also where its links differ.

    The largest group first; of equal ones that with the faster links.
    """
    result: list[PeerGroup] = []
    for group in groups(facts):
        if facts[group.nodes[0]].kind:
            result.append(group)
            continue
        by_link: defaultdict[Link, list[str]] = defaultdict(list)
        for node in group.nodes:
            by_link[link_of(facts[node])].append(node)
        least = max(DESIGN_NODES, DESIGN_SHARE * len(group.nodes))
        by_size = sorted(by_link, key=lambda link: (-len(by_link[link]), -link[0], link))
        apart = [link for link in by_size[1:] if len(by_link[link]) >= least]
        rest = sorted(node for link in by_link if link not in apart for node in by_link[link])
        result.append(PeerGroup(name=group.name, nodes=tuple(rest)))
        result += [PeerGroup(name=group.name, nodes=tuple(by_link[link])) for link in apart]
    fastest = {group.nodes: max(link_of(facts[node])[0] for node in group.nodes) for group in result}
    return tuple(sorted(result, key=lambda group: (-len(group.nodes), -fastest[group.nodes], group.nodes)))


Link = tuple[float, str, str]
"""Bits per second, adapter, and speed by name; 0 and "" where unknown."""
ALL_LANES = 4


def link_of(facts: NodeFacts) -> Link:
    """The fastest active port of an adapter, or the fastest Ethernet interface. Lost lanes are not another rate."""
    ports = [(_intact(port), hca.hca_type, port.speed_name) for hca in facts.active_hcas for port in hca.ports]
    if ports:
        return max(ports)
    interface = facts.fabric_interface
    return (interface.speed_bits_per_s or 0.0, "", "") if interface else (0.0, "", "")


def _intact(port: Port) -> float:
    """Bits per second of an active port as it should be: one that is left with a single lane has lost the others."""
    rate = (port.data_bits_per_s or 0.0) if port.active else 0.0
    return rate * ALL_LANES if port.width == 1 else rate


LEAST_PEERS = 3
"""Nodes of one model beside which a single other machine is reported."""


class LoneMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is alone in its group, and a node of the largest group for comparison."""

    node: str
    peer: str
    peers: int
    """Nodes of the largest group."""
    of: int
    """All nodes."""


def lone_machines(facts: Mapping[str, NodeFacts]) -> tuple[LoneMachine, ...]:
    """Nodes that are alone in their group, where more than half of all nodes, and at least 3, are of one other model.

    A node that is alone in its declared kind is there by design.
    Two or more equal machines are a group of their own, as every large cluster has. A node whose model is unknown, or
    known in part and not in contradiction, is not another machine.
    """
    of_model = groups(facts)
    if not of_model or len(of_model[0].nodes) < LEAST_PEERS or 2 * len(of_model[0].nodes) <= len(facts):
        return ()
    most = of_model[0].nodes
    peer = min(most, key=lambda node: _make(facts[node]).count(""))
    return tuple(
        LoneMachine(node=group.nodes[0], peer=peer, peers=len(most), of=len(facts))
        for group in of_model[1:]
        if len(group.nodes) == 1
        and not facts[group.nodes[0]].kind
        and _contradict(_make(facts[group.nodes[0]]), _make(facts[peer]))
    )


def _contradict(make: Make, other: Make) -> bool:
    return any(a and b and a != b for a, b in zip(make, other, strict=True))


def _make(facts: NodeFacts) -> Make:
    return facts.system.firmware.vendor, facts.system.firmware.product, facts.cpu_model


def _name(make: Make) -> str:
    vendor, product, processor = make
    machine = " ".join(filter(None, (vendor, product)))
    return ", ".join(filter(None, (machine, processor))) or "of unknown model"


def one_kernel(facts: Iterable[NodeFacts]) -> bool:
    """Whether any two of the nodes share a kernel, as virtual ones on one machine do."""
    kernels = [known.boot_id for known in facts if known.boot_id]
    return len(set(kernels)) < len(kernels)


class MtuDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose fabric interface has another MTU than most. `usual_mtu_bytes` None: no MTU has a majority."""

    node: str
    interface: str
    mtu_bytes: int
    usual_mtu_bytes: int | None
    ipoib: bool = False
    """The interface is one of IP over InfiniBand, where the mode of the interface decides."""


class TcpSegments(msgspec.Struct, frozen=True, kw_only=True):
    """TCP segments a node sent, and sent again, between two readings."""

    sent: int
    resent: int


def mtu_differences(facts: Mapping[str, NodeFacts]) -> tuple[MtuDifference, ...]:
    """Nodes whose MTU is not that of more than half of all nodes whose MTU is known, sorted by node.

    Interfaces of Ethernet are compared with each other, and so are those of IP over InfiniBand.

    Where no MTU has such a majority, every node is listed, since there is no majority value. Nodes whose fabric
    interface or its MTU is unknown are left out. The interface is the fabric interface, or where no speed is known the
    only one that could be.
    """
    interfaces = {node: _interface(each) for node, each in sorted(facts.items())}
    known = {
        node: (interface.name, interface.mtu_bytes)
        for node, interface in interfaces.items()
        if interface is not None and interface.mtu_bytes is not None
    }
    most = usual({node: mtu for node, (_, mtu) in known.items()})
    ethernet = (
        MtuDifference(node=node, interface=name, mtu_bytes=mtu, usual_mtu_bytes=most)
        for node, (name, mtu) in known.items()
        if mtu != most
    )
    return tuple(sorted((*ethernet, *_ipoib_differences(facts)), key=lambda each: each.node))


def _ipoib_differences(facts: Mapping[str, NodeFacts]) -> Iterator[MtuDifference]:
    """MTUs of interfaces of IP over InfiniBand by name; a name of one node alone is compared with all."""
    of_name: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for node, node_facts in sorted(facts.items()):
        for interface in node_facts.interfaces:
            if interface.link_type == INFINIBAND and interface.mtu_bytes is not None and interface.state != "down":
                of_name[interface.name][node] = interface.mtu_bytes
    everything = usual({f"{node} {name}": mtu for name, mtus in of_name.items() for node, mtu in mtus.items()})
    for name, mtus in of_name.items():
        most = usual(mtus) if len(mtus) > 1 else everything
        alone = len(mtus) == 1 and everything is None
        for node, mtu in mtus.items():
            if mtu != most and not alone:
                yield MtuDifference(node=node, interface=name, mtu_bytes=mtu, usual_mtu_bytes=most, ipoib=True)


def _interface(facts: NodeFacts) -> NetworkInterface | None:
    candidates = facts.ethernet_interfaces
    return facts.fabric_interface or (candidates[0] if len(candidates) == 1 else None)


def tcp_resent_between(before: NodeFacts, after: NodeFacts) -> TcpSegments | None:
    """Segments of the whole node (not of one job alone) between two readings.

    None: a counter is missing in one of them, went backwards, or was reset by another boot.
    """
    if before.boot_id != after.boot_id:
        return None
    sent = growth(before.tcp_segments_sent, after.tcp_segments_sent)
    resent = growth(before.tcp_segments_resent, after.tcp_segments_resent)
    return None if sent is None or resent is None else TcpSegments(sent=sent, resent=resent)


def growth(before: int | None, after: int | None) -> int | None:
    """How much a counter has grown; None if it is unknown or was reset."""
    return after - before if before is not None and after is not None and after >= before else None
