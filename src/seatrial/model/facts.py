"""What a node is, as far as it has been read. None: the node did not report it; `absent` holds the reason."""

import msgspec

from seatrial.model.hardware import Gpu, MemoryFacts, PciDevice, ProcessorFacts, Topology
from seatrial.model.hca import Hca
from seatrial.model.system import KernelFacts, SoftwareFacts, SystemFacts

ETHERNET = 1
"""ARPHRD number of Ethernet, include/uapi/linux/if_arp.h."""
INFINIBAND = 32
"""ARPHRD number of InfiniBand, include/uapi/linux/if_arp.h."""


class NetworkInterface(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of /sys/class/net."""

    name: str
    link_type: int | None = None
    """ARPHRD number: 1 Ethernet, 32 InfiniBand, 772 loopback."""
    state: str = "unknown"
    carrier: bool | None = None
    speed_bits_per_s: float | None = None
    mtu_bytes: int | None = None
    driver: str = ""
    enslaved: bool = False
    """Part of a bond or a bridge, which carries the traffic instead."""
    bridge: bool = False
    lower: tuple[str, ...] = ()
    """Interfaces it is stacked on: a bond's members, the device under a VLAN."""
    duplex: str = ""
    """full or half, in the kernel's word."""
    mode: str = ""
    """The mode of IPoIB: connected or datagram."""
    pci_address: str = ""
    errors: dict[str, int] = {}
    """rx_errors, tx_errors, rx_dropped, tx_dropped: totals."""

    @property
    def carries_ethernet(self) -> bool:
        """Whether it can carry a job's TCP: Ethernet, up, no bridge, and no part of a bond or a bridge.

        State "unknown" (drivers that do not report one) counts as up where there is a carrier.
        """
        up = self.state == "up" or (self.state == "unknown" and self.carrier is True)
        return self.link_type == ETHERNET and up and not self.enslaved and not self.bridge


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of one node at one time."""

    hostname: str
    complete: bool
    """False where the stream ended before its closing line."""
    kernel: str = ""
    boot_id: str = ""
    """Two nodes with the same one run on one kernel: containers or namespaces of one machine."""
    kind: str = ""
    """The kind of nodes to which the site's file says that it belongs; empty: it says nothing of the node."""
    cpu_model: str = ""
    processors: int | None = None
    cores: int | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    memory_bytes: int | None = None
    interfaces: tuple[NetworkInterface, ...] = ()
    hcas: tuple[Hca, ...] = ()
    """InfiniBand, Omni-Path and RoCE devices, sorted by name."""
    pci: tuple[PciDevice, ...] = ()
    """Network, GPU and NVMe devices, sorted by address."""
    gpus: tuple[Gpu, ...] = ()
    """GPUs as their drivers' programs describe them, sorted by address."""
    topology: Topology = Topology()
    processor: ProcessorFacts = ProcessorFacts()
    memory: MemoryFacts = MemoryFacts()
    settings: KernelFacts = KernelFacts()
    system: SystemFacts = SystemFacts()
    software: SoftwareFacts = SoftwareFacts()
    tcp_segments_sent: int | None = None
    tcp_segments_resent: int | None = None
    oom_kills: int | None = None
    """Processes that the kernel has killed for lack of memory since boot."""
    mpi_versions: tuple[str, ...] = ()
    absent: dict[str, str] = {}
    """Fact that could not be read -> why."""

    @property
    def active_hcas(self) -> tuple[Hca, ...]:
        """Adapters with a port that is active, or whose state could not be read."""
        return tuple(hca for hca in self.hcas if hca.active)

    @property
    def ethernet_interfaces(self) -> tuple[NetworkInterface, ...]:
        """The interfaces that can carry a job's TCP, each exit once: without interfaces stacked on others."""
        able = {each.name: each for each in self.interfaces if each.carries_ethernet}
        return tuple(each for each in able.values() if not any(lower in able for lower in each.lower))

    @property
    def fabric_interface(self) -> NetworkInterface | None:
        """The fastest with a known speed; the first by name among equals. None without any."""
        with_speed = [
            (-each.speed_bits_per_s, each.name, each) for each in self.ethernet_interfaces if each.speed_bits_per_s
        ]
        return min(with_speed)[2] if with_speed else None
