"""What one RoCE port carries: InfiniBand's packets inside UDP inside Ethernet frames."""

from collections.abc import Sequence

from seatrial.model.facts import NetworkInterface
from seatrial.model.hca import Port
from seatrial.model.limit import LimitTerm, Terms

PACKET_OVERHEAD_BYTES = 82
"""Around the payload of each packet: preamble 8, Ethernet header 14, IPv4 20, UDP 8, BTH 12, ICRC 4, check sequence 4,
gap 12 (IEEE 802.3; InfiniBand Architecture Specification, annex A17, RoCEv2). RoCEv1 has 12 more."""

VLAN_BYTES = 4

MTUS = (4096, 2048, 1024, 512, 256)

HEADROOM_BYTES = 96
"""What Linux takes off the interface's MTU before it looks for the InfiniBand MTU that fits: iboe_get_mtu in
include/rdma/ib_addr.h (GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4)."""


def payload_share(mtu_bytes: int, *, vlan: bool = False) -> float:
    """Part of the line rate that is payload at an InfiniBand MTU: 0.9259 at 1024, 0.9804 at 4096."""
    return mtu_bytes / (mtu_bytes + PACKET_OVERHEAD_BYTES + (VLAN_BYTES if vlan else 0))


def fitting_mtu(interface_mtu_bytes: int) -> int | None:
    """The greatest InfiniBand MTU that fits an interface's: 1024 in 1500, 4096 in 9000. None: not even 256."""
    return next((mtu for mtu in MTUS if mtu <= interface_mtu_bytes - HEADROOM_BYTES), None)


def side_of(port: Port, interfaces: Sequence[NetworkInterface]) -> NetworkInterface | None:
    """The Ethernet interface of a RoCE or iWARP port; the fastest where it has several (VLANs among them)."""
    ours = [each for each in interfaces if each.name in port.interfaces]
    return max(ours, key=lambda each: (each.speed_bits_per_s or 0.0, not each.lower), default=None)


def port_mtu(port: Port, interface: NetworkInterface | None) -> tuple[int | None, str]:
    """The InfiniBand MTU and where it comes from; None where neither port nor interface tells one."""
    if port.mtu_bytes:
        return port.mtu_bytes, "active MTU"
    if interface is not None and interface.mtu_bytes:
        fits = fitting_mtu(interface.mtu_bytes)
        return fits, f"MTU derived from {interface.name}'s {interface.mtu_bytes}"
    return None, ""


def roce_terms(
    port: Port,
    node: str,
    label: str,
    *,
    interface: NetworkInterface | None = None,
    mtu_bytes: int | None = None,
    vlan: bool = False,
    where: str = "",
) -> Terms:
    """The most payload through a RoCE port in bytes per second, one direction.

    `interface` is its Ethernet side; the line rate is the interface's, since ports print InfiniBand's nearest speed
    instead. `mtu_bytes`: the path's, where it is less. Where no MTU is known 4096 is taken, an upper bound.
    """
    line_bits_per_s = interface.speed_bits_per_s if interface is not None else None
    bits_per_s = line_bits_per_s or port.data_bits_per_s
    if not bits_per_s:
        return Terms(unknown=(f"{node} {label}: active, and its data rate is not known",))
    own, origin = port_mtu(port, interface)
    mtus = [mtu for mtu in (own, mtu_bytes) if mtu]
    mtu = min(mtus, default=MTUS[0])
    unknown = () if mtus else (f"{node} {label}: neither its MTU nor its interface's is known; {mtu} bytes at most",)
    overhead = PACKET_OVERHEAD_BYTES + (VLAN_BYTES if vlan else 0)
    rate_source = (
        f"/sys/class/net/{interface.name}/speed" if interface and line_bits_per_s else f"{where or label}/rate"
    )
    term = LimitTerm(
        name=f"{node} {label}: RoCE at {bits_per_s / 1e9:g} Gb/s, MTU {mtu if mtus else 'unknown'}",
        bytes_per_s=bits_per_s / 8 * payload_share(mtu, vlan=vlan),
        inputs={"data_bits_per_s": bits_per_s, "mtu_bytes": float(mtu)},
        source=f"{rate_source}{f', {origin}' if origin else ''} on {node}",
        formula=f"data_bits_per_s / 8 * mtu_bytes / (mtu_bytes + {overhead})",
    )
    return Terms(terms=(term,), unknown=unknown)
