"""The kernel's settings and what else a node is: firmware, limits, clock, mounts, sensors."""

import msgspec

from seatrial.model.words import Unknown


class KernelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Settings in the kernel's own names and units."""

    command_line: str = ""
    scheduler: dict[str, str] = {}
    """Granularity and its relatives, wherever this kernel keeps them: base_slice_ns, min_granularity_ns, ...; in ns."""
    sysctls: dict[str, str] = {}
    """Dotted name -> content: kernel.numa_balancing, vm.swappiness, vm.zone_reclaim_mode, net.ipv4.tcp_rmem, ..."""
    transparent_huge_pages: str = ""
    """always, madvise or never: the word in brackets."""
    modules: dict[str, str] = {}
    """Loaded module -> its version, or "" where it reports none."""


class Firmware(msgspec.Struct, frozen=True, kw_only=True):
    """DMI, and what is like it."""

    vendor: str = ""
    product: str = ""
    board: str = ""
    bios_vendor: str = ""
    bios_version: str = ""
    bios_date: str = ""
    bmc_version: str = ""
    management_engine: str = ""
    """Version of Intel's Management Engine."""
    settings: dict[str, str] = {}
    """Settings of the firmware as the kernel shows them: `NodeInterleave` -> `Disabled`."""
    memory_mode: str = ""
    """Knights Landing's and its like: flat, cache, hybrid."""
    cluster_mode: str = ""
    """quadrant, hemisphere, all2all, snc2, snc4; or sub-NUMA clustering as the topology shows it."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Soft limits of this job's processes; None: not read; math.inf is written as -1: unlimited."""

    locked_memory_bytes: int | None = None
    stack_bytes: int | None = None
    open_files: int | None = None
    processes: int | None = None


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether and how the clock is kept right."""

    source: str = ""
    """chrony, ntp or timedatectl: the source."""
    synchronised: bool | None = None
    offset_s: float | None = None
    stratum: int | None = None
    kernel_clock: str = ""
    """tsc, hpet, kvm-clock, ...: the kernel's current clocksource."""


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One mounted file system. `reachable` None: not asked."""

    path: str
    source: str
    kind: str
    options: tuple[str, ...] = ()
    reachable: bool | None = None


class AutomountKey(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the automounter, in the order in which it reads them."""

    path: str
    """The path that it takes: its key below the mount point; for a mount point itself, or a wildcard, that point."""
    map: str
    """The file, or the map of another kind (`ldap:auto.home`)."""
    location: str = ""
    """What is mounted there; empty for a line of the master map."""
    whole: bool = False
    """Whether everything below it belongs to the automounter: a mount point of the master map with keys below it."""


class Sensor(msgspec.Struct, frozen=True, kw_only=True):
    """One reading. `unit`: degC, rpm, W, V, A."""

    name: str
    unit: str
    value: float
    critical: float | None = None


class LoadedGpu(msgspec.Struct, frozen=True, kw_only=True):
    """What samples show of one GPU while programs ran on it; None: not reported."""

    node: str
    gpu: str
    samples: int
    """Samples in which it was not idle."""
    celsius: float | None
    """The hottest of them."""
    hertz: float | None
    """Median of the clock of its multiprocessors."""
    least_hz: float | None
    watts: float | None
    """Median of the power that it draws."""
    slowdowns: dict[str, float] = {}
    """Reason for a lower clock, in nvidia-smi's words -> share of the samples in which it was active."""


class SystemFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Firmware, limits, clock, mounts, sensors, and when the kernel was started."""

    firmware: Firmware = Firmware()
    limits: Limits = Limits()
    clock: ClockState = ClockState()
    mounts: tuple[Mount, ...] = ()
    paths: dict[str, bool] = {}
    """Paths that were asked for by name -> whether they answered within seconds."""
    automounts: tuple[AutomountKey, ...] = ()
    """Read where paths are asked for."""
    sensors: tuple[Sensor, ...] = ()
    alarms: dict[str, str] = {}
    """Sensor -> why the hardware or its BMC reports it as bad: `fault`, `crit_alarm`, `critical`."""
    kernel_log: dict[str, int] = {}
    """Kind of hardware error -> lines about it in the kernel's log, of the last 400 of all kinds."""
    kernel_log_last: dict[str, str] = {}
    """Kind -> the last of these lines."""
    power_limits_w: dict[str, float] = {}
    """RAPL domain ("package-0 long_term") -> its limit."""
    booted_s: int | None = None
    """Unix time of the start of the kernel."""


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """One MPI or transport library and what is compiled into it."""

    name: str
    version: str
    components: dict[str, tuple[str, ...]] = {}
    """Framework -> components: btl -> (self, tcp, vader); UCX transports -> (tcp, sysv, ...)."""
    configure: str = ""
    """The options with which an MPI was built, quotation marks left out."""
    lacks: tuple[str, ...] = ()
    """Transports that these options ask for, and that no component carries: psm, ofi."""


class MpiFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that MPI's programs on the node are made of; another build of the same version shows in nothing else."""

    name: str
    """mpirun, libmpi, libopen-pal, libmpich, libpmix, libucp, libfabric, ..."""
    path: str
    """The path that PATH or the dynamic linker finds."""
    size_bytes: int | None = None
    checksum: int | None = None
    """POSIX's cksum; None where it is missing: the file is larger than 64 MiB, or the command does not exist."""


class SoftwareFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Versions, as far as commands report them."""

    slurm_client: str = ""
    slurm_daemon: str = ""
    libraries: tuple[Library | Unknown, ...] = ()
    mpi_settings: dict[str, str] = {}
    """Open MPI's MCA parameters as its files of settings on the node have them; the user's own file comes last."""
    mpi_files: tuple[MpiFile, ...] = ()
    modules_system: str = ""
    """Lmod 8.7, Environment Modules 5.2; "" where there is none."""
