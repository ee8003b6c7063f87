"""What a node is, as far as it has been read. None: the node did not say; `absent` holds the reason."""

import msgspec


class NetworkInterface(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of /sys/class/net."""

    name: str
    link_type: int | None = None
    """ARPHRD number: 1 Ethernet, 32 InfiniBand, 772 loopback."""
    state: str = "unknown"
    speed_bits_per_s: float | None = None
    mtu_bytes: int | None = None
    driver: str = ""
    enslaved: bool = False
    """Part of a bond or a bridge, which carries the traffic in its stead."""
    bridge: bool = False


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of one node at one time."""

    hostname: str
    complete: bool
    """False where the stream ended before its closing line."""
    kernel: str = ""
    boot_id: str = ""
    """Two nodes with the same one run on one kernel: containers or namespaces of one machine."""
    cpu_model: str = ""
    processors: int | None = None
    cores: int | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    memory_bytes: int | None = None
    interfaces: tuple[NetworkInterface, ...] = ()
    hcas: tuple[str, ...] = ()
    """InfiniBand, Omni-Path and RoCE devices, by name."""
    tcp_segments_sent: int | None = None
    tcp_segments_resent: int | None = None
    slurm_version: str = ""
    mpi_versions: tuple[str, ...] = ()
    absent: dict[str, str] = {}
    """Fact that could not be read -> why."""
