"""A made-up node of two sockets and 128 processors as a tree of /proc and /sys, for the collector to read.

Numbers that differ from node to node are written as marks (`MARKS`), which `facts_of_1000_nodes.py` fills in.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CORES, SOCKETS, THREADS = 64, 2, 2
PROCESSORS = CORES * THREADS
MARKS = re.compile(r"\b(?:70000[0-9]{4}|7100[0-9]{3}|720[0-9]{2})\b")
"""Counters, present frequencies in kHz, temperatures in thousandths of a degree."""
HOSTNAME, BOOT_ID, LID, BOOTED = "made-up-name", "made-up-boot", "0x7a1c", "1700001234"
SECOND_LID = "0x7a1d"
"""Of the second adapter."""
FLAGS = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat sse sse2 ssse3 fma sse4_1 sse4_2 avx avx2"
GIB = 2**30
CPU = "/sys/devices/system/cpu"
HCAS = ("mlx5_0", "0000:40:01.0", "0000:41:00.0", "ib0"), ("mlx5_1", "0000:c0:01.0", "0000:c1:00.0", "ib1")
BOARD = (
    ("0000:20:01.0", "0000:21:00.0", "0x020000", "bnxt_en", "eno1"),
    ("0000:20:01.0", "0000:21:00.1", "0x020000", "bnxt_en", "eno2"),
    ("0000:60:03.0", "0000:61:00.0", "0x010802", "nvme", ""),
    ("0000:60:03.1", "0000:62:00.0", "0x010802", "nvme", ""),
)
COUNTERS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_xmit_wait",
    "VL15_dropped",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_data",
    "port_xmit_data",
    "port_rcv_packets",
    "port_xmit_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
)
SYSCTLS = {
    "kernel/numa_balancing": "0", "kernel/sched_autogroup_enabled": "1", "kernel/nmi_watchdog": "0",
    "kernel/watchdog": "1", "kernel/perf_event_paranoid": "2", "vm/swappiness": "10", "vm/zone_reclaim_mode": "0",
    "vm/overcommit_memory": "0", "vm/nr_hugepages": "0", "vm/dirty_ratio": "20", "net/core/rmem_max": "16777216",
    "net/core/wmem_max": "16777216", "net/core/netdev_max_backlog": "250000", "net/core/default_qdisc": "fq_codel",
    "net/ipv4/tcp_rmem": "4096\t87380\t16777216", "net/ipv4/tcp_wmem": "4096\t65536\t16777216",
    "net/ipv4/tcp_congestion_control": "cubic", "net/ipv4/tcp_sack": "1", "net/ipv4/tcp_timestamps": "0",
    "net/ipv4/tcp_window_scaling": "1", "kernel/sched_migration_cost_ns": "500000",
    "kernel/sched_min_granularity_ns": "10000000", "kernel/sched_wakeup_granularity_ns": "15000000",
}  # fmt: skip


def write(root: Path) -> None:
    """The whole tree below `root`."""
    links = dict(_links())
    for path, content in _files():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n", encoding="utf-8")
    for path, target in links.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        (root / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
        link.symlink_to(root / target.lstrip("/"))


def _files() -> Iterator[tuple[str, str]]:
    yield from _kernel()
    for number in range(PROCESSORS):
        yield from _processor(number)
    yield from _memory()
    for position, (name, port, card, interface) in enumerate(HCAS):
        yield from _pci(port, card, "0x020700", position, "16.0 GT/s PCIe", 16)
        yield from _hca(position, name, port, card, interface)
    for port, card, kind, _, interface in BOARD:
        yield from _pci(port, card, kind, 0, "8.0 GT/s PCIe", 8 if interface else 4)
        if interface:
            yield from _interface(_folder(port, card), interface, kind="1", speed="25000", mtu="9000")
    yield from _interface("/sys/devices/virtual", "lo", kind="772", speed="", mtu="65536")
    yield from _sensors()


def _kernel() -> Iterator[tuple[str, str]]:
    yield "/proc/sys/kernel/hostname", HOSTNAME
    yield "/proc/sys/kernel/ostype", "Linux"
    yield "/proc/sys/kernel/osrelease", "5.14.0-362.24.1.el9_3.x86_64"
    yield "/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Thu Feb 15 07:18:13 EST 2024"
    yield "/proc/sys/kernel/random/boot_id", BOOT_ID
    for name, content in SYSCTLS.items():
        yield f"/proc/sys/{name}", content
    yield "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"
    yield "/proc/cmdline", "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0-362 ro crashkernel=512M mitigations=auto console=ttyS0"
    yield "/proc/modules", "\n".join(f"module_{number} 16384 0 - Live 0x0" for number in range(120))
    yield "/proc/mounts", "\n".join(_mounts())
    yield "/proc/stat", f"cpu 1 2 3\nbtime {BOOTED}\nprocesses 12"
    header = f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}Units"
    rows = (("locked memory", "bytes"), ("stack size", "bytes"), ("open files", "files"), ("processes", "processes"))
    yield (
        "/proc/self/limits",
        "\n".join([header, *(f"{f'Max {what}':<26}{'unlimited':<21}{'unlimited':<21}{unit}" for what, unit in rows)]),
    )
    yield "/proc/self/status", f"Cpus_allowed_list:\t0-{PROCESSORS - 1}"
    yield "/proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 700000001 700000002 700000003"
    names = [interface for *_, interface in (*HCAS, *BOARD) if interface]
    yield "/proc/net/dev", "\n".join(["Inter-|", " face |", *(f"  {name}: 0 0" for name in ("lo", *names))])
    dmi = {"sys_vendor": "Made Up", "product_name": "MU-2000", "board_name": "MU1", "bios_vendor": "Made Up",
           "bios_version": "2.14.1", "bios_date": "12/17/2023"}  # fmt: skip
    for name, content in dmi.items():
        yield f"/sys/class/dmi/id/{name}", content
    yield "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"


def _mounts() -> Iterator[str]:
    for kind, path in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("cgroup2", "/sys/fs/cgroup")):
        yield f"{kind} {path} {kind} rw,nosuid,nodev,noexec,relatime 0 0"
    for number, path in enumerate(("/", "/boot", "/var", "/local")):
        yield f"/dev/nvme0n1p{number} {path} xfs rw,relatime,attr2,inode64,logbufs=8,logbsize=32k,noquota 0 0"
    for path in ("/home", "/apps", "/project", "/archive", "/opt/site"):
        yield f"nfs:{path} {path} nfs4 rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp 0 0"
    yield "10.1.1.1@o2ib:/scratch /scratch lustre rw,checksum,flock,nouser_xattr,lruresize,lazystatfs 0 0"


def _processor(number: int) -> Iterator[tuple[str, str]]:
    core, per_socket = number % CORES, CORES // SOCKETS
    here, socket = f"{CPU}/cpu{number}", core // per_socket
    yield f"{here}/topology/core_id", str(core % per_socket)
    yield f"{here}/topology/physical_package_id", str(socket)
    yield f"{here}/topology/thread_siblings_list", f"{core},{core + CORES}"
    frequencies = {
        "scaling_driver": "acpi-cpufreq", "scaling_governor": "performance", "scaling_min_freq": "1500000",
        "scaling_max_freq": "2450000", "scaling_cur_freq": f"7100{number:03}", "cpuinfo_max_freq": "3500000",
    }  # fmt: skip
    for name, content in frequencies.items():
        yield f"{here}/cpufreq/{name}", content
    first = socket * per_socket
    everyone = f"{first}-{first + per_socket - 1},{first + CORES}-{first + CORES + per_socket - 1}"
    for index, (level, kind, size) in enumerate(
        (("1", "Data", "32K"), ("1", "Instruction", "32K"), ("2", "Unified", "512K"), ("3", "Unified", "32768K"))
    ):
        yield f"{here}/cache/index{index}/level", level
        yield f"{here}/cache/index{index}/type", kind
        yield f"{here}/cache/index{index}/size", size
        yield f"{here}/cache/index{index}/shared_cpu_list", everyone if level == "3" else f"{core},{core + CORES}"
    if number == 0:
        yield from _first_processor(here)


def _first_processor(here: str) -> Iterator[tuple[str, str]]:
    yield f"{CPU}/online", f"0-{PROCESSORS - 1}"
    yield f"{CPU}/possible", f"0-{PROCESSORS - 1}"
    yield f"{CPU}/smt/active", "1"
    yield f"{CPU}/cpufreq/boost", "1"
    for state, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C2", 400))):
        yield f"{here}/cpuidle/state{state}/name", name
        yield f"{here}/cpuidle/state{state}/latency", str(latency)
        yield f"{here}/cpuidle/state{state}/disable", "0"
    for name in ("gather_data_sampling", "itlb_multihit", "l1tf", "mds", "meltdown", "mmio_stale_data", "retbleed"):
        yield f"{CPU}/vulnerabilities/{name}", "Not affected"
    yield (
        f"{CPU}/vulnerabilities/spectre_v2",
        "Mitigation: Retpolines, IBPB: conditional, STIBP: always-on, RSB filling",
    )
    info = {"processor": "0", "vendor_id": "AuthenticAMD", "cpu family": "25", "model": "1", "stepping": "1",
            "model name": "Made Up 7763 64-Core Processor", "microcode": "0xa0011d1", "flags": FLAGS}  # fmt: skip
    yield "/proc/cpuinfo", "\n".join(f"{name}\t: {content}" for name, content in info.items()) + "\n"


def _memory() -> Iterator[tuple[str, str]]:
    yield "/proc/meminfo", f"MemTotal: {512 * GIB // 1024} kB\nMemFree: 1 kB\nMemAvailable: 1 kB"
    yield "/sys/devices/system/node/online", "0-7"
    for node in range(8):
        here, first = f"/sys/devices/system/node/node{node}", node * 8
        yield f"{here}/cpulist", f"{first}-{first + 7},{first + CORES}-{first + CORES + 7}"
        yield f"{here}/meminfo", f"Node {node} MemTotal: {64 * GIB // 1024} kB"
        distances = ("10" if node == other else "12" if node // 4 == other // 4 else "32" for other in range(8))
        yield f"{here}/distance", " ".join(distances)
    for socket in range(SOCKETS):
        here = f"/sys/devices/system/edac/mc/mc{socket}"
        yield f"{here}/ce_count", "0"
        yield f"{here}/ue_count", "0"
        for slot in range(8):
            dimm = f"{here}/dimm{slot}"
            yield f"{dimm}/size", str(32 * 1024)
            yield f"{dimm}/dimm_label", f"mc#{socket}csrow#0channel#{slot}"
            yield f"{dimm}/dimm_mem_type", "Registered-DDR4"
            yield f"{dimm}/dimm_location", f"csrow 0 channel {slot}"


def _folder(port: str, card: str) -> str:
    return f"/sys/devices/pci{port[:7]}/{port}/{card}"


def _pci(port: str, card: str, kind: str, node: int, speed: str, width: int) -> Iterator[tuple[str, str]]:
    folder = _folder(port, card)
    for here, code in ((folder.rpartition("/")[0], "0x060400"), (folder, kind)):
        contents = {"class": code, "vendor": "0x15b3", "device": "0x101b", "numa_node": str(node * 4),
                    "current_link_speed": speed, "max_link_speed": speed, "current_link_width": str(width),
                    "max_link_width": str(width)}  # fmt: skip
        for name, content in contents.items():
            yield f"{here}/{name}", content


def _hca(position: int, name: str, port: str, card: str, interface: str) -> Iterator[tuple[str, str]]:
    folder = _folder(port, card)
    here = f"{folder}/infiniband/{name}"
    contents = {"node_type": "1: CA", "board_id": "MT_0000000223", "fw_ver": "20.35.3006", "hca_type": "MT4123"}
    one = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)", "link_layer": "InfiniBand",
           "lid": LID if position == 0 else SECOND_LID, "sm_lid": "0x1", "gid_attrs/ndevs/0": interface,
           "gids/0": "fe80:0000:0000:0000:0000:0000:0000:0000"}  # fmt: skip
    for item, content in contents.items():
        yield f"{here}/{item}", content
    for item, content in one.items():
        yield f"{here}/ports/1/{item}", content
    for number, counter in enumerate(COUNTERS):
        yield f"{here}/ports/1/counters/{counter}", f"70000{1000 + 100 * position + number}"
    yield from _interface(folder, interface, kind="32", speed="200000", mtu="4092")


def _interface(folder: str, name: str, *, kind: str, speed: str, mtu: str) -> Iterator[tuple[str, str]]:
    here = f"{folder}/net/{name}"
    contents = {"type": kind, "operstate": "up", "mtu": mtu, "carrier": "1", "flags": "0x1003", "duplex": "full"}
    if speed:
        contents["speed"] = speed
    for item, content in contents.items():
        yield f"{here}/{item}", content
    for number, item in enumerate(("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")):
        yield f"{here}/statistics/{item}", f"700002{number:03}"


def _sensors() -> Iterator[tuple[str, str]]:
    for socket in range(SOCKETS):
        here = f"/sys/class/hwmon/hwmon{socket}"
        yield f"{here}/name", "k10temp"
        for number in range(1, 9):
            yield f"{here}/temp{number}_input", f"720{10 * socket + number:02}"
            yield f"{here}/temp{number}_label", f"Tccd{number}"


def _links() -> Iterator[tuple[str, str]]:
    for name, port, card, interface in HCAS:
        folder = _folder(port, card)
        yield from _bus(port, card, "mlx5_core")
        yield f"/sys/class/infiniband/{name}", f"{folder}/infiniband/{name}"
        yield f"{folder}/infiniband/{name}/device", folder
        yield f"/sys/class/net/{interface}", f"{folder}/net/{interface}"
        yield f"{folder}/net/{interface}/device", folder
    for port, card, _, driver, interface in BOARD:
        yield from _bus(port, card, driver)
        if interface:
            yield f"/sys/class/net/{interface}", f"{_folder(port, card)}/net/{interface}"
            yield f"{_folder(port, card)}/net/{interface}/device", _folder(port, card)
    yield "/sys/class/net/lo", "/sys/devices/virtual/net/lo"


def _bus(port: str, card: str, driver: str) -> Iterator[tuple[str, str]]:
    yield f"/sys/bus/pci/devices/{port}", f"/sys/devices/pci{port[:7]}/{port}"
    yield f"/sys/bus/pci/devices/{card}", _folder(port, card)
    yield f"{_folder(port, card)}/driver", f"/sys/bus/pci/drivers/{driver}"
