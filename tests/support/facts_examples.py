"""Facts of made-up nodes, written briefly: a healthy server and what changes of it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from seatrial.model.facts import (
    Core,
    Dimm,
    IdleState,
    MemoryFacts,
    NetworkInterface,
    NodeFacts,
    NumaNode,
    PciDevice,
    PciHop,
    PciKind,
    ProcessorFacts,
    Topology,
)
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.system import ClockState, Firmware, KernelFacts, Limits, Mount, SoftwareFacts, SystemFacts
from seatrial.rules.base import Readings

GPU = "0000:81:00.0"
CARD = "0000:41:00.0"
CORES_PER_PACKAGE = 8


def hop(address: str, speed: float = 16e9, width: int = 16, **changes: Any) -> PciHop:
    """A function whose link runs as fast as it can."""
    whole = PciHop(
        address=address,
        current_transfers_per_s=speed,
        max_transfers_per_s=speed,
        current_width=width,
        max_width=width,
        max_payload_bytes=256,
        max_payload_supported_bytes=512,
    )
    return msgspec.structs.replace(whole, **changes)


def device(
    address: str, *above: PciHop, kind: PciKind = PciKind.NETWORK, own: PciHop | None = None, **more: Any
) -> PciDevice:
    """A device below these hops."""
    path = (*(above or (hop("0000:40:01.0"),)), own or hop(address))
    return PciDevice(**{"address": address, "kind": kind, "vendor": 0x15B3, "device": 0x101B, "path": path, **more})


def port(**changes: Any) -> Port:
    """An active port of an HDR adapter."""
    whole = Port(
        number=1,
        family=PortFamily.INFINIBAND,
        state=PortState.ACTIVE,
        physical_state="LinkUp",
        data_bits_per_s=200e9,
        subnet_manager_lid=1,
        counters={"symbol_error": 7, "link_downed": 1},
    )
    return msgspec.structs.replace(whole, **changes)


def hca(name: str = "mlx5_0", *ports: Port, **changes: Any) -> Hca:
    """An adapter of one port."""
    whole = Hca(
        name=name,
        driver="mlx5_core",
        firmware="20.35.1012",
        board_id="MT_0000000223",
        pci_address=CARD,
        numa_node=1,
        ports=ports or (port(),),
    )
    return msgspec.structs.replace(whole, **changes)


def interface(name: str = "eth0", **changes: Any) -> NetworkInterface:
    """An Ethernet interface that is up."""
    whole = NetworkInterface(
        name=name,
        link_type=1,
        state="up",
        speed_bits_per_s=25e9,
        mtu_bytes=9000,
        duplex="full",
        errors={"rx_errors": 3, "tx_errors": 0},
    )
    return msgspec.structs.replace(whole, **changes)


def dimm(channel: str, package: int, size_gib: int | None = 32, configured: float = 3200e6) -> Dimm:
    """A module of 3200 MT/s, or an empty slot."""
    return Dimm(
        locator=f"P{package} {channel}1",
        channel=f"P{package} {channel}",
        package=package,
        size_bytes=None if size_gib is None else size_gib << 30,
        rated_transfers_per_s=3200e6,
        configured_transfers_per_s=configured,
    )


def topology() -> Topology:
    """Two packages of eight cores, a NUMA node each."""
    cores = tuple(
        Core(processors=(number,), package=number // CORES_PER_PACKAGE, numa_node=number // CORES_PER_PACKAGE)
        for number in range(2 * CORES_PER_PACKAGE)
    )
    return Topology(cores=cores, numa_nodes=(NumaNode(index=0), NumaNode(index=1)), source="sysfs")


def processor(**changes: Any) -> ProcessorFacts:
    """Sixteen processors at their best."""
    whole = ProcessorFacts(
        microcode="0xd000389",
        frequency_driver="intel_cpufreq",
        governors={"performance": 16},
        maximum_hz=(3.5e9,) * 16,
        hardware_maximum_hz=(3.5e9,) * 16,
        base_hz=2.4e9,
        turbo=True,
        smt_active=False,
        idle_states=(
            IdleState(name="POLL", latency_s=0, disabled=False),
            IdleState(name="C1", latency_s=1e-6, disabled=False),
            IdleState(name="C6", latency_s=1e-4, disabled=True),
        ),
        mitigations={"meltdown": "Not affected", "mds": "Mitigation: Clear CPU buffers; SMT disabled"},
        throttle_events=4,
        allowed=tuple(range(16)),
    )
    return msgspec.structs.replace(whole, **changes)


def settings(**changes: Any) -> KernelFacts:
    """A tuned kernel."""
    whole = KernelFacts(
        command_line="BOOT_IMAGE=/vmlinuz root=UUID=1 mitigations=auto audit=0",
        scheduler={"base_slice_ns": "2800000"},
        sysctls={"vm.swappiness": "10", "net.ipv4.tcp_mem": "1 2 3", "vm.nr_hugepages": "0"},
        transparent_huge_pages="madvise",
        modules={"mlx5_core": "5.8", "nfs": ""},
    )
    return msgspec.structs.replace(whole, **changes)


def mount(path: str, kind: str = "nfs4", *options: str, reachable: bool | None = None) -> Mount:
    """A file system that is mounted."""
    return Mount(path=path, source=f"server:{path}", kind=kind, options=options or ("rw", "hard"), reachable=reachable)


def system(**changes: Any) -> SystemFacts:
    """Firmware, limits, clock and mounts as they should be."""
    whole = SystemFacts(
        firmware=Firmware(
            vendor="Maker",
            product="Server",
            bios_version="2.4.1",
            bios_date="03/14/2023",
            bmc_version="1.7",
            memory_mode="cache",
            cluster_mode="quadrant",
        ),
        limits=Limits(locked_memory_bytes=-1),
        clock=ClockState(source="chrony", synchronised=True, kernel_clock="tsc"),
        mounts=(mount("/", "ext4"), mount("/home"), mount("/scratch", "lustre", reachable=True)),
        paths={"/scratch/project": True},
        power_limits_w={"package-0 long_term": 205.0},
    )
    return msgspec.structs.replace(whole, **changes)


def memory(**changes: Any) -> MemoryFacts:
    """Two channels with a module each on either socket."""
    whole = MemoryFacts(
        dimms=tuple(dimm(channel, package) for package in (0, 1) for channel in "AB"),
        source="dmidecode",
        corrected_errors=5,
        uncorrected_errors=0,
    )
    return msgspec.structs.replace(whole, **changes)


def server(name: str = "n1", **changes: Any) -> NodeFacts:
    """A healthy node."""
    whole = NodeFacts(
        hostname=name,
        complete=True,
        kernel="5.14.0-427.el9",
        boot_id=f"boot of {name}",
        cpu_model="Processor 8358",
        processors=16,
        cores=16,
        sockets=2,
        numa_nodes=2,
        memory_bytes=128 << 30,
        interfaces=(interface(),),
        hcas=(hca(),),
        pci=(device(CARD, names=("ib0", "mlx5_0")), device(GPU, hop("0000:80:01.0"), kind=PciKind.GPU, vendor=0x10DE)),
        topology=topology(),
        processor=processor(),
        memory=memory(),
        settings=settings(),
        system=system(),
        software=SoftwareFacts(slurm_client="slurm 23.11.4", slurm_daemon="slurm 23.11.4"),
        mpi_versions=("Open MPI 5.0.3",),
    )
    return msgspec.structs.replace(whole, **changes)


def cluster(
    count: int = 4, odd: Mapping[str, Any] | None = None, every: Mapping[str, Any] | None = None
) -> dict[str, NodeFacts]:
    """n1, n2, ...: healthy; `every` changes all of them, `odd` n2 alone."""
    facts = {f"n{number}": server(f"n{number}", **(every or {})) for number in range(1, count + 1)}
    if odd:
        facts["n2"] = msgspec.structs.replace(facts["n2"], **odd)
    return facts


def odd(count: int = 4, after: Mapping[str, Any] | None = None, **changes: Any) -> Readings:
    """Readings of a cluster whose n2 is changed; `after`: what its second reading changes beyond that."""
    facts = cluster(count, changes)
    return Readings(facts=facts, after={**facts, "n2": msgspec.structs.replace(facts["n2"], **(after or {}))})


def all_alike(count: int = 4, **changes: Any) -> Readings:
    """Readings of a cluster all of whose nodes are changed, read twice without a change between."""
    facts = cluster(count, every=changes)
    return Readings(facts=facts, after=facts)
