"""Payload limits of Ethernet ports: TCP over an interface, and RoCE, which is InfiniBand packets in UDP."""

from collections.abc import Sequence

from seatrial.model.facts import NetworkInterface
from seatrial.model.hca import Port
from seatrial.model.limit import LimitTerm, Terms

TCP_IPV4_HEADER_BYTES = 52
"""Inside the MTU: 20 of IPv4 (RFC 791), 20 of TCP (RFC 9293), 12 of the padded timestamp option (RFC 7323)."""

FRAME_OVERHEAD_BYTES = 38
"""Around it: preamble 7, start delimiter 1, header 14, check sequence 4, gap 12 (IEEE 802.3, 3.1.1 and 4.4.2)."""

FORMULA = "speed_bits_per_s / 8 * (mtu_bytes - 52) / (mtu_bytes + 38)"


def tcp_payload_share(mtu_bytes: int) -> float:
    """Part of the line rate that is left for TCP payload in full frames: 0.9415 at MTU 1500, 0.9900 at 9000.

    TCP over IPv4 with timestamps, no VLAN tag: (MTU - 52) / (MTU + 38). Zero where the headers fill the MTU.
    """
    return max(mtu_bytes - TCP_IPV4_HEADER_BYTES, 0) / (mtu_bytes + FRAME_OVERHEAD_BYTES)


def tcp_payload_term(
    interface: NetworkInterface, node: str, *, mtu_bytes: int | None = None, mtu_node: str = ""
) -> LimitTerm | None:
    """The largest payload rate of `interface` of `node`, in bytes per second and one direction.

    `mtu_bytes` and `mtu_node` replace its own MTU where the other end's is smaller. None: speed or MTU is unknown, or
    the MTU leaves no room for payload.
    """
    mtu = interface.mtu_bytes if mtu_bytes is None else mtu_bytes
    speed = interface.speed_bits_per_s
    if speed is None or mtu is None or tcp_payload_share(mtu) == 0:
        return None
    folder = f"/sys/class/net/{interface.name}"
    foreign = mtu_bytes is not None and mtu_node not in ("", node)
    return LimitTerm(
        name=f"{node} {interface.name}: TCP payload at {speed / 1e6:.0f} Mb/s, MTU {mtu}",
        bytes_per_s=speed / 8 * tcp_payload_share(mtu),
        inputs={"speed_bits_per_s": speed, "mtu_bytes": float(mtu)},
        source=f"{folder}/speed on {node}, MTU of {mtu_node}" if foreign else f"{folder}/speed and mtu on {node}",
        formula=FORMULA,
    )


# RoCE: the packets of InfiniBand inside UDP inside Ethernet frames.

ROCE_PACKET_OVERHEAD_BYTES = 82
"""Around the payload of each packet: preamble 8, Ethernet header 14, IPv4 20, UDP 8, BTH 12, ICRC 4, check sequence 4,
gap 12 (IEEE 802.3; InfiniBand Architecture Specification, annex A17, RoCEv2). RoCEv1 has 12 more."""


MTUS = (4096, 2048, 1024, 512, 256)

HEADROOM_BYTES = 96
"""What Linux subtracts from the interface's MTU before it chooses the InfiniBand MTU that fits: iboe_get_mtu in
include/rdma/ib_addr.h (GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4)."""


def roce_payload_share(mtu_bytes: int) -> float:
    """Part of the line rate that is payload at an InfiniBand MTU: 0.9259 at 1024, 0.9804 at 4096."""
    return mtu_bytes / (mtu_bytes + ROCE_PACKET_OVERHEAD_BYTES)


def fitting_mtu(interface_mtu_bytes: int) -> int | None:
    """The largest InfiniBand MTU that fits an interface's: 1024 in 1500, 4096 in 9000. None: not even 256."""
    return next((mtu for mtu in MTUS if mtu <= interface_mtu_bytes - HEADROOM_BYTES), None)


def side_of(port: Port, interfaces: Sequence[NetworkInterface]) -> NetworkInterface | None:
    """The Ethernet interface of a RoCE or iWARP port; the fastest where it has several (VLANs among them)."""
    ours = [each for each in interfaces if each.name in port.interfaces]
    return max(ours, key=lambda each: (each.speed_bits_per_s or 0.0, not each.lower), default=None)


def port_mtu(port: Port, interface: NetworkInterface | None) -> tuple[int | None, str]:
    """The InfiniBand MTU and where it comes from; None where neither port nor interface reports one."""
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
    where: str = "",
) -> Terms:
    """The most payload through a RoCE port in bytes per second, one direction.

    `interface` is its Ethernet side; the line rate is the interface's, since ports print InfiniBand's nearest speed
    instead. `mtu_bytes`: the path's, where it is less. Without a known MTU, 4096 is assumed, an upper bound.
    """
    line_bits_per_s = interface.speed_bits_per_s if interface is not None else None
    bits_per_s = line_bits_per_s or port.data_bits_per_s
    if not bits_per_s:
        return Terms(unknown=(f"{node} {label}: active, and its data rate is not known",))
    own, origin = port_mtu(port, interface)
    mtus = [mtu for mtu in (own, mtu_bytes) if mtu]
    mtu = min(mtus, default=MTUS[0])
    unknown = () if mtus else (f"{node} {label}: neither its MTU nor its interface's is known; {mtu} bytes at most",)
    rate_source = (
        f"/sys/class/net/{interface.name}/speed" if interface and line_bits_per_s else f"{where or label}/rate"
    )
    term = LimitTerm(
        name=f"{node} {label}: RoCE at {bits_per_s / 1e9:g} Gb/s, MTU {mtu if mtus else 'unknown'}",
        bytes_per_s=bits_per_s / 8 * roce_payload_share(mtu),
        inputs={"data_bits_per_s": bits_per_s, "mtu_bytes": float(mtu)},
        source=f"{rate_source}{f', {origin}' if origin else ''} on {node}",
        formula=f"data_bits_per_s / 8 * mtu_bytes / (mtu_bytes + {ROCE_PACKET_OVERHEAD_BYTES})",
    )
    return Terms(terms=(term,), unknown=unknown)
