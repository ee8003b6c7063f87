"""What one InfiniBand port carries: lanes, line encoding, and the packet overhead at its MTU."""

from seatrial.model.hca import LANES, Port
from seatrial.model.limit import LimitTerm, Terms

PACKET_OVERHEAD_BYTES = 26
"""LRH 8, BTH 12, ICRC 4, VCRC 2: InfiniBand Architecture Specification, volume 1, chapters 7.7, 7.8, 9.2. A routed
packet has 40 more (GRH), the first packet of an RDMA write 16 (RETH): not in every packet, so not counted."""

GREATEST_MTU = 4096
"""Same, 7.7: MTUs are 256, 512, 1024, 2048 and 4096 bytes."""


def payload_share(mtu_bytes: int) -> float:
    """Part of the data rate that is payload in packets of a whole MTU: 0.9937 at 4096."""
    return mtu_bytes / (mtu_bytes + PACKET_OVERHEAD_BYTES)


def infiniband_terms(port: Port, node: str, label: str, mtu_bytes: int | None = None, where: str = "") -> Terms:
    """The most payload through an InfiniBand port in bytes per second, one direction.

    `mtu_bytes`: the path's, where it is less than the port's. Where none is known 4096 is taken, an upper bound.
    `where`: the port's folder in /sys.
    """
    mtus = [mtu for mtu in (port.mtu_bytes, mtu_bytes) if mtu]
    mtu = min(mtus, default=GREATEST_MTU)
    rate = _rate(port)
    if rate is None:
        return Terms(unknown=(f"{node} {label}: active, and its data rate is not known",))
    bits_per_s, inputs, formula = rate
    unknown = () if mtus else (f"{node} {label}: MTU is not known (ibv_devinfo prints it); {mtu} bytes at most",)
    speed = f"{port.speed_name or f'{bits_per_s / 1e9:.4g} Gb/s'}{f' {port.width}X' if port.width else ''}"
    term = LimitTerm(
        name=f"{node} {label}: InfiniBand {speed}, MTU {mtu if mtus else 'unknown'}",
        bytes_per_s=bits_per_s / 8 * payload_share(mtu),
        inputs={**inputs, "mtu_bytes": float(mtu)},
        source=f"{where or label}/rate{' and active MTU' if mtus else ''} on {node}",
        formula=f"{formula} / 8 * mtu_bytes / (mtu_bytes + {PACKET_OVERHEAD_BYTES})",
    )
    return Terms(terms=(term,), unknown=unknown)


def _rate(port: Port) -> tuple[float, dict[str, float], str] | None:
    """Bits per second, what they were computed from and how; the rate that was read where the speed has no name."""
    if port.speed_name in LANES and port.width:
        lane_bits_per_s, encoding = map(float, LANES[port.speed_name])
        inputs = {"lane_bits_per_s": lane_bits_per_s, "encoding": encoding, "width": float(port.width)}
        return lane_bits_per_s * encoding * port.width, inputs, "lane_bits_per_s * encoding * width"
    if port.data_bits_per_s:
        return port.data_bits_per_s, {"data_bits_per_s": port.data_bits_per_s}, "data_bits_per_s"
    return None
