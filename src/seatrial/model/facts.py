"""What a node is, as far as it has been read. None: the node did not report it; `absent` holds the reason."""

import enum

import msgspec

from seatrial.model.hca import Hca, Port
from seatrial.model.system import KernelFacts, SoftwareFacts, SystemFacts


class GpuVendor(enum.StrEnum):
    """Whose program lists a GPU."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. None and empty texts: the program does not report it. Serial numbers and UUIDs are left out."""

    address: str
    """domain:bus:device.function, 0000:01:00.0, as the kernel writes it."""
    index: int | None = None
    """Number among the GPUs of the node, as nvidia-smi or rocm-smi counts them."""
    vendor: GpuVendor = GpuVendor.NVIDIA
    name: str = ""
    driver: str = ""
    firmware: str = ""
    """Version of the firmware of its system processor (GSP), or of the SMC of an AMD GPU."""
    vbios: str = ""
    memory_bytes: int | None = None
    persistence: bool | None = None
    """Whether the driver keeps it initialised while no program uses it."""
    mig: bool | None = None
    """Whether it is divided into instances (MIG)."""
    ecc: bool | None = None
    corrected_errors: int | None = None
    """Memory errors that ECC corrected since the driver was loaded."""
    uncorrected_errors: int | None = None
    """Memory errors that ECC did not correct since the driver was loaded."""
    repair_pending: bool | None = None
    """Whether rows or pages of its memory wait for a reset to be replaced by spare ones."""
    repair_failed: bool | None = None
    """Whether spare rows are used up."""
    sram_worn: bool | None = None
    """Whether the uncorrected errors of its SRAM, over its whole life, exceed the vendor's threshold."""
    reset_required: bool | None = None
    lost: bool | None = None
    """Whether the driver lists it and cannot reach it: GPU is lost, Unknown Error."""
    link_generation: int | None = None
    """Present PCIe generation; an idle GPU lowers it."""
    link_generation_max: int | None = None
    """What both the GPU and the port above it can do."""
    link_width: int | None = None
    link_width_max: int | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    clock_max_hz: float | None = None
    clock_application_hz: float | None = None
    """Clock that is set for programs; None: not set, or not reported."""
    state: str = ""
    """Performance state: P0 is the fastest, P8 and above are idle."""
    use: float | None = None
    """Share of the last second in which a program ran on it, 0 to 1."""
    slowdowns: tuple[str, ...] = ()
    """Reasons for a lower clock that are active now, in words of nvidia-smi or amd-smi: hw_thermal_slowdown, ..."""
    temperature_celsius: float | None = None
    fabric_state: str = ""
    """State of its registration with the NVLink fabric: Completed, In Progress, Not Started."""
    fabric_faults: tuple[str, ...] = ()
    """What the NVLink fabric reports to be wrong with its part: `bandwidth degraded`, `route unhealthy`, ..."""
    node_fabric: bool | None = None
    """Whether its NVLinks reach the GPUs of other nodes: the fabric has the number of a cluster, which is not 0."""
    nvlinks: tuple[float, ...] = ()
    """Rate of each NVLink in one direction, bytes/s; 0: the link is inactive."""
    nvlink_errors: dict[str, int] = {}
    """Errors over all its NVLinks by kind: `Replay Errors`, `CRC Errors`, ..."""
    paths: dict[str, str] = {}
    """GPU or adapter -> the path to it in the words of `nvidia-smi topo`: NV12, PIX, PXB, PHB, NODE, SYS."""

    @property
    def label(self) -> str:
        """`GPU 3`, or its address where it has no number."""
        return f"GPU {self.address}" if self.index is None else f"GPU {self.index}"

    @property
    def under_load(self) -> bool:
        """Whether a program uses it: an idle GPU lowers clocks and the rate of its link."""
        return bool(self.use) or self.state in ("P0", "P1")


IN_NAME = "the model's name"
"""Source of a base frequency that is only part of the processor's name."""


class IdleState(msgspec.Struct, frozen=True, kw_only=True):
    """One C-state of processor 0."""

    name: str
    latency_s: float | None
    disabled: bool


class ProcessorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Frequencies in Hz. Tuples over processors are in the order of their numbers."""

    vendor: str = ""
    microcode: str = ""
    instruction_sets: tuple[str, ...] = ()
    """The vector and matrix extensions that are there, in /proc/cpuinfo's words: sse2 avx avx2 fma avx512f."""
    family: int | None = None
    model_number: int | None = None
    stepping: int | None = None
    frequency_driver: str = ""
    governors: dict[str, int] = {}
    """Governor -> on how many processors."""
    energy_preferences: dict[str, int] = {}
    minimum_hz: tuple[float, ...] = ()
    maximum_hz: tuple[float, ...] = ()
    """What the policy allows (scaling_max_freq)."""
    hardware_maximum_hz: tuple[float, ...] = ()
    """cpuinfo_max_freq: with turbo, where there is turbo."""
    present_hz: tuple[float, ...] = ()
    """A momentary sample."""
    base_hz: float | None = None
    base_hz_source: str = ""
    """cpufreq/base_frequency, acpi_cppc/nominal_freq, hwloc's FrequencyBaseMHz, or IN_NAME."""
    turbo: bool | None = None
    smt_active: bool | None = None
    idle_states: tuple[IdleState, ...] = ()
    mitigations: dict[str, str] = {}
    """Vulnerability -> what the kernel does about it, in its words."""
    throttle_events: int | None = None
    """Sum of core and package thermal throttle counts since boot."""
    allowed: tuple[int, ...] = ()
    """Processors on which this job may run (its cpuset, and Cpus_allowed_list of the collector)."""
    quota_processors: float | None = None
    """How many processors' time its control groups leave to this job; -1: as much as there is."""
    quota_file: str = ""
    """The file that sets the least of these quotas: `cpu.max`, or `cpu.cfs_quota_us`, of a control group."""
    quota_text: str = ""
    """The content of `quota_file`."""


# Topology.


class Core(msgspec.Struct, frozen=True, kw_only=True):
    """One physical core. `processors`: the logical processors (SMT siblings) on it, by the kernel's numbers, sorted."""

    processors: tuple[int, ...]
    package: int | None = None
    numa_node: int | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node; one without processors is memory alone (HBM, CXL)."""

    index: int
    processors: tuple[int, ...] = ()
    memory_bytes: int | None = None
    distances: tuple[int, ...] = ()
    """The kernel's relative distances (10: local) to the nodes of the topology, in their order."""


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of cache: `count` of them, each `size_bytes` and shared by `shared_by` logical processors."""

    level: int
    kind: str
    """data, instruction or unified."""
    size_bytes: int | None
    shared_by: int | None
    count: int


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `source`: "hwloc XML" or "sysfs"."""

    cores: tuple[Core, ...] = ()
    numa_nodes: tuple[NumaNode, ...] = ()
    caches: tuple[Cache, ...] = ()
    source: str = ""
    order: tuple[int, ...] = ()
    """The first processors of the cores as hwloc numbers these: of its core 0, its core 1, and so on."""

    @property
    def packages(self) -> tuple[int, ...]:
        """The distinct packages (sockets) that are known, sorted."""
        return tuple(sorted({core.package for core in self.cores if core.package is not None}))

    @property
    def processors(self) -> tuple[int, ...]:
        """All logical processors, sorted."""
        return tuple(sorted(number for core in self.cores for number in core.processors))

    def package_of(self, numa_node: int) -> int | None:
        """The package with cores on a NUMA node; None for no package or several."""
        packages = {core.package for core in self.cores if core.numa_node == numa_node}
        return next(iter(packages)) if len(packages) == 1 else None


# Memory.


class Dimm(msgspec.Struct, frozen=True, kw_only=True):
    """One slot for memory. `size_bytes` 0: empty."""

    locator: str
    channel: str = ""
    """What identifies its channel: "P0 A", "mc0 csrow0 channel1"; empty where the firmware's description does not
    identify it.
    """
    size_bytes: int | None = None
    kind: str = ""
    """DDR4, DDR5, HBM2, ..."""
    rated_transfers_per_s: float | None = None
    """The module's highest rate: 3200e6 for 3200 MT/s."""
    configured_transfers_per_s: float | None = None
    package: int | None = None


class MemoryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`source`: "dmidecode" (needs root), "EDAC", or "" with the reason in the node's `absent`."""

    dimms: tuple[Dimm, ...] = ()
    source: str = ""
    corrected_errors: int | None = None
    """EDAC's ce_count over all controllers, since boot."""
    uncorrected_errors: int | None = None


# PCIe.


class PciKind(enum.StrEnum):
    """What a device is for, from its class code."""

    NETWORK = "network"
    GPU = "gpu"
    NVME = "nvme"
    BRIDGE = "bridge"
    OTHER = "other"


class PciHop(msgspec.Struct, frozen=True, kw_only=True):
    """One PCI function and the link between it and what is above it.

    Speeds are raw transfer rates per lane: 8e9 for "8.0 GT/s". A device and a switch's upstream port report the link
    above them; a root port and a switch's downstream port the link below.
    """

    address: str
    """domain:bus:device.function, 0000:01:00.0."""
    current_transfers_per_s: float | None = None
    max_transfers_per_s: float | None = None
    current_width: int | None = None
    """Lanes; None where unknown or 0."""
    max_width: int | None = None
    current_bytes_per_s: float | None = None
    """After line encoding, one direction; only where the whole link's rate was reported, as hwloc's XML does."""
    max_payload_bytes: int | None = None
    """MaxPayload that is set (DevCtl)."""
    max_payload_supported_bytes: int | None = None
    max_read_request_bytes: int | None = None
    errors: dict[str, int] = {}
    """correctable, nonfatal, fatal: errors that the kernel has counted on it since boot (AER)."""


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A network, GPU or NVMe device and its path up to the root port."""

    address: str
    kind: PciKind
    class_code: int | None = None
    """24 bits: class, subclass, programming interface."""
    vendor: int | None = None
    device: int | None = None
    driver: str = ""
    names: tuple[str, ...] = ()
    """What the kernel calls it: mlx5_0, ib0, eth0, nvme0, sorted."""
    numa_node: int | None = None
    """None: the firmware reports none (the kernel's -1)."""
    path: tuple[PciHop, ...] = ()
    """The path from the root port down to the device itself, which is the last."""
    virtual_function: bool = False
    iommu_group: int | None = None
    """Number of the kernel's group of devices that no IOMMU keeps apart; None: no IOMMU is in use, or not known."""
    iommu_type: str = ""
    """What the IOMMU does to the addresses of that group: `identity` (nothing), `DMA`, `DMA-FQ` (translate), others."""


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
    attached_gpus: int | None = None
    """GPUs that nvidia-smi counts on the node, of which it may describe fewer; None: it was not asked."""
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
    def ports(self) -> dict[str, Port]:
        """The ports of its adapters by name, as mlx5_0/1."""
        return {f"{hca.name}/{port.number}": port for hca in self.hcas for port in hca.ports}

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
