"""How facts differ between nodes, and between two readings of one node."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from seatrial.drift.peer_groups import usual
from seatrial.model.facts import INFINIBAND, NetworkInterface, NodeFacts


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
