"""Ports of a node that can carry a job's messages, each with its limit: InfiniBand, RoCE, TCP over Ethernet."""

from collections.abc import Sequence

import msgspec

from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice
from seatrial.model.hca import LANES, Hca, Port, PortFamily
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


NOMINAL_BITS_PER_S = {PortFamily.OMNI_PATH: 100e9, PortFamily.TRUE_SCALE: 32e9}
"""Rates of families whose ports report none.

Omni-Path 100: four lanes of 25.78125 Gb/s, of whose link transfer packets of 1056 bits 1024 are flits' data; True
Scale: 4X QDR, four lanes of 10 Gb/s in 8b/10b. EFA differs from instance to instance.
"""
PACKET_OVERHEAD_BYTES = 26
"""LRH 8, BTH 12, ICRC 4, VCRC 2: InfiniBand Architecture Specification, volume 1, chapters 7.7, 7.8, 9.2. A routed
packet has 40 more (GRH), the first packet of an RDMA write 16 (RETH): not in every packet, so not counted."""

GREATEST_MTU = 4096
"""Same, 7.7: MTUs are 256, 512, 1024, 2048 and 4096 bytes."""


def nominal_terms(port: Port, node: str, label: str, where: str = "") -> Terms:
    """The data rate of the port in bytes per second, one direction; nominal, since packets' headers are not known."""
    family = port.family
    reported = port.data_bits_per_s
    bits_per_s = reported or (NOMINAL_BITS_PER_S.get(family) if isinstance(family, PortFamily) else None)
    if bits_per_s is None:
        return Terms(unknown=(f"{node} {label}: active, and its data rate is not known",))
    term = LimitTerm(
        name=f"{node} {label}: {family} at {bits_per_s / 1e9:g} Gb/s, nominal",
        bytes_per_s=bits_per_s / 8,
        inputs={"data_bits_per_s": bits_per_s},
        source=f"{where or label}/rate on {node}" if reported else f"the name {family}",
        formula="data_bits_per_s / 8",
        nominal=True,
    )
    return Terms(terms=(term,), unknown=(f"{node} {label}: packet overhead of {family} is not counted",))


ON_ETHERNET = (PortFamily.ROCE, PortFamily.IWARP)


class NodePort(msgspec.Struct, frozen=True, kw_only=True):
    """One active port, with what belongs to it."""

    node: str
    hca: Hca
    port: Port
    interface: NetworkInterface | None = None
    """The Ethernet side of a RoCE or iWARP port."""
    device: PciDevice | None = None

    @property
    def label(self) -> str:
        """mlx5_0, or mlx5_0 port 2 where the device has more than one."""
        return self.hca.name if len(self.hca.ports) == 1 else f"{self.hca.name} port {self.port.number}"

    @property
    def mtu_bytes(self) -> int | None:
        """The InfiniBand MTU, read or derived from the interface's."""
        return port_mtu(self.port, self.interface)[0]

    def terms(self, mtu_bytes: int | None = None) -> Terms:
        """The term of the port itself, at the lesser of its own and the path's InfiniBand MTU."""
        family = self.port.family
        where = f"/sys/class/infiniband/{self.hca.name}/ports/{self.port.number}"
        if family is PortFamily.INFINIBAND:
            return infiniband_terms(self.port, self.node, self.label, mtu_bytes, where)
        if family is PortFamily.ROCE:
            return roce_terms(
                self.port, self.node, self.label, interface=self.interface, mtu_bytes=mtu_bytes, where=where
            )
        if family is PortFamily.IWARP and self.interface is not None:
            term = tcp_payload_term(self.interface, self.node)
            return Terms(terms=(term,)) if term else Terms(unknown=(f"{self.node} {self.label}: rate is not known",))
        return nominal_terms(self.port, self.node, self.label, where)


def node_ports(facts: NodeFacts) -> tuple[NodePort, ...]:
    """All ports that are active, or whose state could not be read, in the order of their devices."""
    devices = {device.address: device for device in facts.pci}
    return tuple(
        NodePort(
            node=facts.hostname,
            hca=hca,
            port=port,
            interface=side_of(port, facts.interfaces) if port.family in ON_ETHERNET else None,
            device=devices.get(hca.pci_address),
        )
        for hca in facts.hcas
        for port in hca.ports
        if port.active
    )


def unreadable(facts: NodeFacts) -> str:
    """The first device that MPI may use and whose limit is not known: no ports, or an unknown family; or ""."""
    for hca in facts.active_hcas:
        if not hca.ports:
            return f"{hca.name}, whose ports could not be read"
        for port in hca.ports:
            if port.active and not isinstance(port.family, PortFamily):
                return f"{hca.name}, which uses {port.family}"
    return ""


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
