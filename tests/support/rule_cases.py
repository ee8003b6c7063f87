"""For every kind of finding that the rules make: readings that fire it on n2, and readings that must not."""

from typing import Any

from seatrial.model.facts import Core, PciDevice, PciKind, Topology
from seatrial.model.hca import Port, PortFamily, PortState
from seatrial.model.measurement import RankPlace
from seatrial.model.system import ClockState, Firmware, Library, Limits, MpiFile, Sensor, SoftwareFacts
from seatrial.model.verdict import FindingKind
from seatrial.model.words import Unknown
from seatrial.node.mpi import NOTHING_SET
from seatrial.rules.base import Readings
from tests.support.facts_examples import (
    CARD,
    all_alike,
    cluster,
    device,
    dimm,
    hca,
    hop,
    interface,
    memory,
    mount,
    odd,
    port,
    processor,
    server,
    settings,
    system,
)
from tests.support.gpu_machines import GPU_FIRING, GPU_SILENT

BRIDGE = "0000:40:01.0"
FIRMWARE = server().system.firmware
DOWN = port(state=PortState.DOWN, physical_state="Polling", data_bits_per_s=None)
WAITING = port(state=PortState.INIT, data_bits_per_s=None)
MOUNTS = server().system.mounts
STATES = server().processor.idle_states
FEATURES = dict.fromkeys(("n1", "n3", "n4"), ("knl", "quad", "flat")) | {"n2": ("hemi", "cache")}


def firmware(**changes: str) -> Firmware:
    """The firmware of the healthy server, changed."""
    told = {name: getattr(FIRMWARE, name) for name in FIRMWARE.__struct_fields__}
    return Firmware(**{**told, **changes})


def mpi(checksum: int | None, path: str = "/opt/lib/libmpi.so.40", version: str = "") -> SoftwareFacts:
    """A node's libmpi, and which UCX it tells of."""
    libraries = (Library(name="UCX", version=version),) if version else ()
    file = MpiFile(name="libucp" if version else "libmpi", path=path, size_bytes=1229432, checksum=checksum)
    return SoftwareFacts(mpi_files=(file,), libraries=libraries)


def card(*path_widths: int) -> dict[str, Any]:
    """An adapter whose link is so wide: port above, then the card."""
    above, own = (hop(address, width=width) for address, width in zip((BRIDGE, CARD), path_widths, strict=True))
    return {"pci": (device(CARD, above, own=own), *server().pci[1:])}


def in_subnet(lid: int, prefix: str = "fe80:0000:0000:0000") -> Port:
    """An active port with a LID."""
    return port(lid=lid, subnet_prefix=prefix)


def with_errors(**errors: int) -> tuple[PciDevice, ...]:
    """The healthy server's devices, and errors that the kernel has counted on its adapter."""
    return (device(CARD, hop("0000:40:01.0"), own=hop(CARD, errors=errors)), *server().pci[1:])


def fan(rpm: float, name: str = "nct6779 fan1") -> Sensor:
    """A fan that turns at this rate."""
    return Sensor(name=name, unit="rpm", value=rpm)


def promised(*, flat: bool) -> Readings:
    """All nodes are in quadrant and flat or cache mode, and n2's features say otherwise."""
    facts = cluster(every={"system": system(firmware=firmware(memory_mode="flat" if flat else "cache"))})
    return Readings(facts=facts, features=FEATURES if flat else dict.fromkeys(facts, ("cache", "flat", "quad")))


def ranks_on(node: str, *masks: tuple[int, ...], first: int = 0) -> tuple[RankPlace, ...]:
    """One rank for each mask."""
    return tuple(
        RankPlace(rank=rank, place=f"{node}:{rank - first}", node=node, host=node, cpus=mask)
        for rank, mask in enumerate(masks, start=first)
    )


def placed(masks: tuple[tuple[int, ...], ...], of_n2: tuple[tuple[int, ...], ...], **every: Any) -> Readings:
    """Ranks with these masks on every node, and with others on n2."""
    facts = cluster(every=every)
    ranks = {
        node: ranks_on(node, *(of_n2 if node == "n2" else masks), first=place * len(masks))
        for place, node in enumerate(facts)
    }
    return Readings(facts=facts, after=facts, ranks=ranks)


def smt() -> Topology:
    """The healthy server's topology with two threads a core: 0 and 16, 1 and 17, ..."""
    whole = server().topology
    cores = tuple(
        Core(processors=(number, number + 16), package=number // 8, numa_node=number // 8) for number in range(16)
    )
    return Topology(cores=cores, numa_nodes=whole.numa_nodes, source="sysfs")


NEAR = ((8,), (9,))
"""Two cores of the adapter's socket."""
EVERYWHERE = tuple(range(16))


FIRING: dict[str, Readings] = GPU_FIRING | {
    FindingKind.RANKS_SHARE_CORE: placed(NEAR, ((8,), (8,))),
    FindingKind.SMT_SIBLINGS_USED: placed(NEAR, ((8,), (24,)), topology=smt(), processors=32),
    FindingKind.RANKS_UNBOUND: placed(NEAR, (EVERYWHERE, EVERYWHERE)),
    FindingKind.RANK_ACROSS_SOCKETS: placed(((8, 9), (10, 11)), ((7, 8), (9, 10))),
    FindingKind.PCIE_LINK_DEGRADED: odd(
        pci=(device(CARD, hop(BRIDGE, current_width=8), own=hop(CARD, current_width=8)),)
    ),
    FindingKind.PORT_DOWN: odd(hcas=(hca("mlx5_0", DOWN),)),
    FindingKind.NO_SUBNET_MANAGER: odd(hcas=(hca("mlx5_0", WAITING),)),
    FindingKind.SUBNET_SHARED: odd(hcas=(hca("mlx5_0", in_subnet(5)), hca("mlx5_1", in_subnet(5)))),
    FindingKind.PCIE_ERRORS: odd(pci=with_errors(fatal=1)),
    FindingKind.KERNEL_LOG: odd(
        system=system(kernel_log={"GPU error (Xid)": 2}, kernel_log_last={"GPU error (Xid)": "NVRM: Xid 79"})
    ),
    FindingKind.FAN_STOPPED: Readings(
        facts=cluster(every={"system": system(sensors=(fan(4200.0),))}, odd={"system": system(sensors=(fan(0.0),))})
    ),
    FindingKind.HARDWARE_ALARM: odd(system=system(alarms={"BMC PS2 Status": "failure detected"})),
    FindingKind.MEMORY_INTERLEAVED: odd(
        sockets=2, topology=Topology(), system=system(firmware=firmware(cluster_mode="interleaved"))
    ),
    FindingKind.PORT_NARROW: odd(hcas=(hca("mlx5_0", port(width=1, speed_name="HDR", data_bits_per_s=50e9)),)),
    FindingKind.PORT_RATE_DIFFERS: odd(hcas=(hca("mlx5_0", port(data_bits_per_s=100e9)),)),
    FindingKind.INTERFACE_SPEED_DIFFERS: odd(interfaces=(interface(speed_bits_per_s=10e9),)),
    FindingKind.ERROR_COUNTERS_RISING: odd(
        after={"hcas": (hca("mlx5_0", port(counters={"symbol_error": 9, "link_downed": 1})),)}
    ),
    FindingKind.HCA_MISSING: odd(hcas=()),
    FindingKind.DEVICE_MISSING: odd(pci=server().pci[:1]),
    FindingKind.PCIE_STARVES_PORT: odd(**card(4, 16)),
    FindingKind.HALF_DUPLEX: odd(interfaces=(interface(duplex="half"),)),
    FindingKind.MTU_DIFFERS: odd(interfaces=(interface(mtu_bytes=1500),)),
    FindingKind.GOVERNOR: odd(processor=processor(governors={"powersave": 16})),
    FindingKind.FREQUENCY_CAPPED: odd(processor=processor(maximum_hz=(3.5e9,) * 12 + (2.0e9,) * 4)),
    FindingKind.PROCESSOR_QUOTA: odd(processor=processor(quota_processors=6.4)),
    FindingKind.THROTTLED: odd(after={"processor": processor(throttle_events=6)}),
    FindingKind.TURBO_OFF: odd(processor=processor(turbo=False)),
    FindingKind.POWER_LIMIT_DIFFERS: odd(system=system(power_limits_w={"package-0 long_term": 150.0})),
    FindingKind.MEMORY_ERRORS: odd(memory=memory(uncorrected_errors=1)),
    FindingKind.MACHINE_DIFFERS: odd(cpu_model="Another Processor"),
    FindingKind.CORES_DIFFER: odd(cores=15, processors=15),
    FindingKind.MEMORY_DIFFERS: odd(memory_bytes=120 << 30),
    FindingKind.MEMORY_CHANNEL_EMPTY: odd(
        memory=memory(dimms=(dimm("A", 0), dimm("B", 0, size_gib=0), dimm("A", 1), dimm("B", 1)))
    ),
    FindingKind.MEMORY_SLOW: odd(memory=memory(dimms=(dimm("A", 0, configured=2666e6), *server().memory.dimms[1:]))),
    FindingKind.MOUNT_DEAD: odd(system=system(mounts=(*MOUNTS[:2], mount("/scratch", "lustre", reachable=False)))),
    FindingKind.MOUNT_MISSING: odd(system=system(mounts=MOUNTS[:2])),
    FindingKind.MEMLOCK_TOO_SMALL: odd(system=system(limits=Limits(locked_memory_bytes=64 << 10))),
    FindingKind.NIC_FAR_FROM_RANKS: odd(processor=processor(allowed=(0, 1, 2, 3))),
    FindingKind.PCIE_PAYLOAD_SMALL: odd(
        pci=(device(CARD, hop(BRIDGE), own=hop(CARD, max_payload_bytes=128)), *server().pci[1:])
    ),
    FindingKind.PCIE_READ_REQUEST_SMALL: odd(
        pci=(device(CARD, hop(BRIDGE), own=hop(CARD, max_read_request_bytes=256)), *server().pci[1:])
    ),
    FindingKind.ADAPTER_PLACE_DIFFERS: odd(hcas=(hca(numa_node=0),)),
    FindingKind.SUBNET_MANAGER_DIFFERS: odd(hcas=(hca("mlx5_0", port(subnet_manager_lid=7)),)),
    FindingKind.FIRMWARE_MODE: promised(flat=True),
    FindingKind.SMT_DIFFERS: odd(processor=processor(smt_active=True)),
    FindingKind.CLOCK_UNSYNCHRONISED: odd(
        system=system(clock=ClockState(source="chrony", synchronised=False, kernel_clock="tsc"))
    ),
    FindingKind.CLOCK_SOURCE_DIFFERS: odd(
        system=system(clock=ClockState(source="chrony", synchronised=True, kernel_clock="hpet"))
    ),
    FindingKind.KERNEL_DIFFERS: odd(kernel="5.14.0-362.el9"),
    FindingKind.KERNEL_PARAMETERS_DIFFER: odd(settings=settings(command_line="mitigations=off audit=0")),
    FindingKind.SCHEDULER_GRANULARITY_DIFFERS: odd(settings=settings(scheduler={"base_slice_ns": "24000000"})),
    FindingKind.SYSCTL_DIFFERS: odd(settings=settings(sysctls={"vm.swappiness": "60", "vm.nr_hugepages": "0"})),
    FindingKind.HUGE_PAGES_DIFFER: odd(settings=settings(transparent_huge_pages="never")),
    FindingKind.IDLE_STATES_DIFFER: odd(processor=processor(idle_states=STATES[:1])),
    FindingKind.HCA_FIRMWARE_DIFFERS: odd(hcas=(hca(firmware="20.28.2006"),)),
    FindingKind.BIOS_DIFFERS: odd(system=system(firmware=firmware(bios_version="2.1.8"))),
    FindingKind.MICROCODE_DIFFERS: odd(processor=processor(microcode="0xd0002a0")),
    FindingKind.MITIGATIONS_DIFFER: odd(processor=processor(mitigations={"mds": "Vulnerable"})),
    FindingKind.MODULE_VERSION_DIFFERS: odd(settings=settings(modules={"mlx5_core": "5.4"})),
    FindingKind.MOUNT_OPTIONS_DIFFER: odd(
        system=system(mounts=(MOUNTS[0], mount("/home", "nfs4", "ro", "hard"), MOUNTS[2]))
    ),
    FindingKind.SOFTWARE_DIFFERS: odd(
        software=SoftwareFacts(slurm_client="slurm 23.11.4", slurm_daemon="slurm 23.02.7")
    ),
    FindingKind.MPI_BUILD_DIFFERS: Readings(facts=cluster(every={"software": mpi(1)}, odd={"software": mpi(2)})),
    FindingKind.MPI_SETTINGS_DIFFER: Readings(
        facts=cluster(
            every={"absent": {"software.mpi_settings": NOTHING_SET}},
            odd={"software": SoftwareFacts(mpi_settings={"pml": "cm"})},
        )
    ),
}

SILENT: dict[str, Readings] = GPU_SILENT | {
    FindingKind.RANKS_SHARE_CORE: placed(((8, 9), (8, 9)), ((8,), (8, 9))),
    # as many ranks as threads: no core is free
    FindingKind.SMT_SIBLINGS_USED: placed(
        tuple((number,) for number in range(32)),
        tuple((number,) for number in range(32)),
        topology=smt(),
        processors=32,
    ),
    FindingKind.RANKS_UNBOUND: placed((EVERYWHERE,), (EVERYWHERE,)),
    FindingKind.RANK_ACROSS_SOCKETS: placed((EVERYWHERE,), (EVERYWHERE,)),
    # sys.ttar of prometheus/node_exporter, 0000:01:00.0: a device faster than its bridge, on half of the bridge's lanes
    FindingKind.PCIE_LINK_DEGRADED: odd(
        pci=(
            device(
                "0000:01:00.0",
                hop("0000:00:02.1", speed=8e9, width=8, current_width=4),
                own=hop("0000:01:00.0", speed=16e9, width=4, current_transfers_per_s=8e9),
                kind=PciKind.NVME,
            ),
        )
    ),
    FindingKind.PORT_DOWN: odd(hcas=(hca("mlx5_0", port(state=Unknown(word="7: NEW"))),)),
    FindingKind.NO_SUBNET_MANAGER: all_alike(
        hcas=(hca("mlx5_0", port(family=PortFamily.ROCE, state=PortState.ACTIVE, subnet_manager_lid=0)),)
    ),
    # two rails with a subnet each, both with the same LIDs
    FindingKind.SUBNET_SHARED: odd(
        hcas=(hca("mlx5_0", in_subnet(5)), hca("mlx5_1", in_subnet(5, "fe80:0000:0000:0001")))
    ),
    FindingKind.PCIE_ERRORS: odd(pci=with_errors(correctable=12, fatal=0)),
    FindingKind.KERNEL_LOG: odd(system=system(kernel_log={"corrected PCIe error": 3, "heat": 1})),
    # a connector without a fan
    FindingKind.FAN_STOPPED: all_alike(system=system(sensors=(fan(4200.0), fan(0.0, "nct6779 fan5")))),
    FindingKind.HARDWARE_ALARM: all_alike(system=system(alarms={})),
    FindingKind.MEMORY_INTERLEAVED: odd(
        sockets=1, topology=Topology(), system=system(firmware=firmware(cluster_mode="nps0"))
    ),
    # HDR100 everywhere
    FindingKind.PORT_NARROW: all_alike(hcas=(hca("mlx5_0", port(width=2, speed_name="HDR", data_bits_per_s=100e9)),)),
    FindingKind.PORT_RATE_DIFFERS: odd(hcas=(hca("mlx5_0", port(data_bits_per_s=None)),)),
    FindingKind.INTERFACE_SPEED_DIFFERS: odd(interfaces=(interface(speed_bits_per_s=100e9),)),
    FindingKind.ERROR_COUNTERS_RISING: odd(
        after={"boot_id": "another", "hcas": (hca("mlx5_0", port(counters={"symbol_error": 9000})),)}
    ),
    FindingKind.HCA_MISSING: odd(hcas=(), complete=False),
    FindingKind.DEVICE_MISSING: odd(pci=()),
    # two ports that only together are more than the slot has: 2 x 200 Gb/s on PCIe 4.0 x16, 252 Gb/s
    FindingKind.PCIE_STARVES_PORT: all_alike(hcas=(hca("mlx5_0", port(), port(number=2)),)),
    FindingKind.HALF_DUPLEX: all_alike(interfaces=(interface(), interface("eth1", duplex="half", state="down"))),
    FindingKind.MTU_DIFFERS: odd(interfaces=(interface(mtu_bytes=None),)),
    FindingKind.GOVERNOR: odd(
        processor=processor(
            frequency_driver="intel_pstate", governors={"powersave": 16}, energy_preferences={"performance": 16}
        )
    ),
    FindingKind.FREQUENCY_CAPPED: all_alike(processor=processor(turbo=False, maximum_hz=(2.4e9,) * 16)),
    FindingKind.PROCESSOR_QUOTA: odd(processor=processor(quota_processors=-1.0)),
    FindingKind.THROTTLED: all_alike(processor=processor(throttle_events=123456)),
    FindingKind.TURBO_OFF: all_alike(processor=processor(turbo=False)),
    FindingKind.POWER_LIMIT_DIFFERS: odd(system=system(power_limits_w={"package-0 long_term": 205.125})),
    FindingKind.MEMORY_ERRORS: all_alike(memory=memory(corrected_errors=77)),
    # two of one model and one of another: not many
    FindingKind.MACHINE_DIFFERS: odd(3, cpu_model="Another Processor"),
    FindingKind.CORES_DIFFER: odd(cores=16, processors=32, processor=processor(smt_active=True)),
    FindingKind.MEMORY_DIFFERS: odd(memory_bytes=(128 << 30) * 99 // 100),
    FindingKind.MEMORY_CHANNEL_EMPTY: odd(memory=memory(dimms=(dimm("A", 0), dimm("B", 0, size_gib=None)))),
    FindingKind.MEMORY_SLOW: odd(memory=memory(dimms=(dimm("A", 0, configured=3199e6), dimm("B", 0, 0, 800e6)))),
    FindingKind.MOUNT_DEAD: all_alike(system=system(mounts=(mount("/home"),), paths={})),
    FindingKind.MOUNT_MISSING: odd(system=system(mounts=(*MOUNTS, mount("/run/user/1000"), mount("/mnt/usb")))),
    FindingKind.MEMLOCK_TOO_SMALL: all_alike(hcas=(), system=system(limits=Limits(locked_memory_bytes=64 << 10))),
    FindingKind.NIC_FAR_FROM_RANKS: all_alike(processor=processor(allowed=(0, 8))),
    FindingKind.PCIE_PAYLOAD_SMALL: odd(
        pci=(
            device(CARD, hop(BRIDGE, max_payload_supported_bytes=128), own=hop(CARD, max_payload_bytes=128)),
            *server().pci[1:],
        )
    ),
    FindingKind.PCIE_READ_REQUEST_SMALL: all_alike(
        pci=(device(CARD, hop(BRIDGE), own=hop(CARD, max_read_request_bytes=512)), *server().pci[1:])
    ),
    FindingKind.ADAPTER_PLACE_DIFFERS: odd(hcas=(hca(numa_node=None),)),
    FindingKind.SUBNET_MANAGER_DIFFERS: all_alike(
        hcas=(hca("mlx5_0", port()), hca("mlx5_1", port(subnet_manager_lid=7, subnet_prefix="fe80:0000:0000:0001")))
    ),
    FindingKind.FIRMWARE_MODE: promised(flat=False),
    FindingKind.SMT_DIFFERS: odd(processor=processor(smt_active=None)),
    # one kernel for all: containers and virtual labs share its clock
    FindingKind.CLOCK_UNSYNCHRONISED: all_alike(
        boot_id="one", system=system(clock=ClockState(synchronised=False, kernel_clock="tsc"))
    ),
    FindingKind.CLOCK_SOURCE_DIFFERS: odd(system=system(clock=ClockState(synchronised=True))),
    FindingKind.KERNEL_DIFFERS: odd(kernel=""),
    FindingKind.KERNEL_PARAMETERS_DIFFER: odd(
        settings=settings(command_line="root=UUID=2 audit=0 mitigations=auto BOOTIF=01-00")
    ),
    FindingKind.SCHEDULER_GRANULARITY_DIFFERS: odd(settings=settings(scheduler={"min_granularity_ns": "3000000"})),
    FindingKind.SYSCTL_DIFFERS: odd(
        settings=settings(sysctls={"vm.swappiness": "10", "net.ipv4.tcp_mem": "4 5 6", "vm.nr_hugepages": "0"})
    ),
    FindingKind.HUGE_PAGES_DIFFER: odd(settings=settings(transparent_huge_pages="", sysctls={})),
    FindingKind.IDLE_STATES_DIFFER: odd(processor=processor(idle_states=())),
    FindingKind.HCA_FIRMWARE_DIFFERS: odd(hcas=(hca(firmware="16.1", board_id="DEL0000000005"),)),
    FindingKind.BIOS_DIFFERS: odd(system=system(firmware=firmware(bios_version="", bmc_version=""))),
    FindingKind.MICROCODE_DIFFERS: odd(processor=processor(microcode="0x1", stepping=7)),
    FindingKind.MITIGATIONS_DIFFER: odd(
        processor=processor(mitigations={"mds": "Mitigation: Clear CPU buffers; SMT vulnerable", "gds": "Vulnerable"})
    ),
    FindingKind.MODULE_VERSION_DIFFERS: odd(kernel="6.1", settings=settings(modules={"mlx5_core": "6.1"})),
    FindingKind.MOUNT_OPTIONS_DIFFER: odd(
        system=system(mounts=(MOUNTS[0], mount("/home", "nfs4", "rw", "hard", "clientaddr=10.0.0.2"), MOUNTS[2]))
    ),
    # the same file in another folder
    FindingKind.MPI_BUILD_DIFFERS: Readings(
        facts=cluster(every={"software": mpi(1)}, odd={"software": mpi(1, "/usr/lib/libmpi.so")})
    ),
    # other nodes did not tell what their files say
    FindingKind.MPI_SETTINGS_DIFFER: odd(software=SoftwareFacts(mpi_settings={"pml": "cm"})),
    FindingKind.SOFTWARE_DIFFERS: odd(
        mpi_versions=(),
        software=SoftwareFacts(
            slurm_client="slurm 23.11.4", libraries=(Unknown(word="?"), Library(name="UCX", version="1"))
        ),
    ),
}
