"""What TCP can carry over one Ethernet interface."""

from seatrial.model.facts import NetworkInterface
from seatrial.model.limit import LimitTerm

TCP_IPV4_HEADER_BYTES = 52
"""Inside the MTU: 20 of IPv4 (RFC 791), 20 of TCP (RFC 9293), 12 of the padded timestamp option (RFC 7323)."""

FRAME_OVERHEAD_BYTES = 38
"""Around it: preamble 7, start delimiter 1, header 14, check sequence 4, gap 12 (IEEE 802.3, 3.1.1 and 4.4.2)."""

FORMULA = "speed_bits_per_s / 8 * (mtu_bytes - 52) / (mtu_bytes + 38)"


def payload_share(mtu_bytes: int) -> float:
    """Part of the line rate that is left for TCP payload in full frames: 0.9415 at MTU 1500, 0.9900 at 9000.

    TCP over IPv4 with timestamps, no VLAN tag: (MTU - 52) / (MTU + 38). Zero where the headers fill the MTU.
    """
    return max(mtu_bytes - TCP_IPV4_HEADER_BYTES, 0) / (mtu_bytes + FRAME_OVERHEAD_BYTES)


def tcp_payload_term(
    interface: NetworkInterface, node: str, *, mtu_bytes: int | None = None, mtu_node: str = ""
) -> LimitTerm | None:
    """The most payload, in bytes per second and one direction, that `interface` of `node` passes.

    `mtu_bytes` and `mtu_node` replace its own MTU where the other end's is smaller. None: speed or MTU is unknown, or
    the MTU leaves no room for payload.
    """
    mtu = interface.mtu_bytes if mtu_bytes is None else mtu_bytes
    speed = interface.speed_bits_per_s
    if speed is None or mtu is None or payload_share(mtu) == 0:
        return None
    here = f"/sys/class/net/{interface.name}"
    foreign = mtu_bytes is not None and mtu_node not in ("", node)
    return LimitTerm(
        name=f"{node} {interface.name}: TCP payload at {speed / 1e6:.0f} Mb/s, MTU {mtu}",
        bytes_per_s=speed / 8 * payload_share(mtu),
        inputs={"speed_bits_per_s": speed, "mtu_bytes": float(mtu)},
        source=f"{here}/speed on {node}, MTU of {mtu_node}" if foreign else f"{here}/speed and mtu on {node}",
        formula=FORMULA,
    )
