"""Machines from one line of text, in every form in which a machine can be recorded.

`2 sockets x 16 cores x 2 threads, 4 NUMA nodes, 8 DIMMs x 32 GiB, HCA mlx5_0 4xHDR gen4 x16 on socket 1`; a card whose
link came up narrower is `gen4 x16 trained x8`, a card in a slower slot `gen4 x16 behind gen3 x8`.
"""

import re
from pathlib import Path

import msgspec

from tests.support.collecting import write

PARTS = (
    (re.compile(r"(\d+) sockets? x (\d+) cores?(?: x (\d+) threads?)?"), ("sockets", "cores_each", "threads")),
    (re.compile(r"(\d+) NUMA nodes?"), ("numa_nodes",)),
    (re.compile(r"(\d+) DIMMs x (\d+) GiB"), ("dimms", "dimm_gib")),
)
ADAPTER = re.compile(
    r"HCA (\w+) (\d+)x([A-Z]+) gen(\d) x(\d+)(?: trained x(\d+))?(?: behind gen(\d) x(\d+))? on socket (\d+)"
)
LANE_GIGABITS = {"QDR": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100}
GEN_GT_S = {2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0}
MODEL = "Generated Processor 1 @ 2.40GHz"
KERNEL = "6.1.0-generated"


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """An InfiniBand card with one port, and its slot."""

    name: str
    width: int
    speed: str
    generation: int
    lanes: int
    trained_lanes: int
    slot_generation: int
    slot_lanes: int
    socket: int

    @property
    def rate_text(self) -> str:
        """As the kernel prints it: `200 Gb/sec (4X HDR)`."""
        return f"{self.width * LANE_GIGABITS[self.speed]} Gb/sec ({self.width}X {self.speed})"

    @property
    def trained_gt_s(self) -> float:
        """Transfers per second of the link, in billions: those of the slower end."""
        return GEN_GT_S[min(self.generation, self.slot_generation)]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A server; processors are numbered as the kernel does, first threads first."""

    sockets: int
    cores_each: int
    threads: int = 1
    numa_nodes: int = 0
    dimms: int = 0
    dimm_gib: int = 0
    adapters: tuple[Adapter, ...] = ()

    @property
    def cores(self) -> int:
        """Of all sockets."""
        return self.sockets * self.cores_each

    def siblings(self, core: int) -> tuple[int, ...]:
        """The processors of a core."""
        return tuple(core + thread * self.cores for thread in range(self.threads))

    def socket_of(self, core: int) -> int:
        """The package of a core."""
        return core // self.cores_each

    def numa_of(self, core: int) -> int:
        """The NUMA node of a core."""
        return core * self.numa_nodes // self.cores

    def processors_of_numa(self, node: int) -> tuple[int, ...]:
        """Sorted."""
        cores = (core for core in range(self.cores) if self.numa_of(core) == node)
        return tuple(sorted(processor for core in cores for processor in self.siblings(core)))

    def distances(self, node: int) -> tuple[int, ...]:
        """As ACPI SLIT counts: 10 to itself, 12 within the socket, 32 to another one."""
        each = self.numa_nodes // self.sockets
        return tuple(
            10 if other == node else 12 if other // each == node // each else 32 for other in range(self.numa_nodes)
        )

    def bus_of(self, adapter: Adapter) -> int:
        """The bus of its root port."""
        before = [one for one in self.adapters[: self.adapters.index(adapter)] if one.socket == adapter.socket]
        return 0x20 + 0x40 * adapter.socket + 2 * len(before)

    def numa_of_adapter(self, adapter: Adapter) -> int:
        """The first NUMA node of its socket."""
        return adapter.socket * self.numa_nodes // self.sockets


def machine(text: str) -> Machine:
    """A machine from its description. Raises ValueError for a part that cannot be read."""
    values: dict[str, int] = {}
    adapters = []
    for part in text.split(", "):
        match = ADAPTER.fullmatch(part)
        if match:
            adapters.append(_adapter(*match.groups()))
            continue
        for pattern, fields in PARTS:
            if match := pattern.fullmatch(part):
                values |= {name: int(value) for name, value in zip(fields, match.groups(), strict=True) if value}
                break
        else:
            raise ValueError(f"{part!r} does not describe a part of a machine")
    values.setdefault("numa_nodes", values["sockets"])
    return Machine(adapters=tuple(adapters), **values)


def _adapter(name: str, width: str, speed: str, generation: str, lanes: str, *rest: str | None) -> Adapter:
    trained, slot_generation, slot_lanes, socket = rest
    slot = int(slot_lanes or lanes)
    return Adapter(
        name=name,
        width=int(width),
        speed=speed,
        generation=int(generation),
        lanes=int(lanes),
        trained_lanes=int(trained or min(int(lanes), slot)),
        slot_generation=int(slot_generation or generation),
        slot_lanes=slot,
        socket=int(socket or 0),
    )


def ranges(numbers: tuple[int, ...]) -> str:
    """`0-3,8`, as the kernel writes a set."""
    words, rest = [], list(numbers)
    while rest:
        end = next((place for place in range(1, len(rest)) if rest[place] != rest[0] + place), len(rest))
        words.append(f"{rest[0]}-{rest[end - 1]}" if end > 1 else f"{rest[0]}")
        rest = rest[end:]
    return ",".join(words)


def mask(numbers: tuple[int, ...]) -> str:
    """`0x0000000f`, as hwloc writes a set: words of 32 bits, the highest first."""
    value = sum(1 << number for number in numbers)
    words = [f"0x{value >> 32 * place & 0xFFFFFFFF:08x}" for place in range(max(numbers, default=0) // 32 + 1)]
    return ",".join(reversed(words))


def sysfs_tree(of: Machine, root: Path, hostname: str = "n1") -> Path:
    """The files of /proc and /sys that describe it, under a folder; the folder."""
    processors = range(of.cores * of.threads)
    cpu = "/sys/devices/system/cpu"
    files = {
        "/proc/sys/kernel/hostname": hostname,
        "/proc/sys/kernel/osrelease": KERNEL,
        "/proc/sys/kernel/random/boot_id": f"boot-of-{hostname}",
        "/proc/cpuinfo": "\n\n".join(f"processor\t: {one}\nmodel name\t: {MODEL}" for one in processors),
        "/proc/meminfo": f"MemTotal:       {(of.dimms * of.dimm_gib or 64) << 20} kB",
        f"{cpu}/online": f"0-{processors[-1]}",
        f"{cpu}/smt/active": str(int(of.threads > 1)),
        "/sys/class/dmi/id/sys_vendor": "Generated",
        "/sys/class/dmi/id/product_name": "Server 1",
    }
    for processor in processors:
        core = processor % of.cores
        siblings = of.siblings(core)
        files |= {
            f"{cpu}/cpu{processor}/topology/core_id": str(core % of.cores_each),
            f"{cpu}/cpu{processor}/topology/physical_package_id": str(of.socket_of(core)),
            f"{cpu}/cpu{processor}/topology/thread_siblings_list": ranges(siblings),
            f"{cpu}/cpu{processor}/cpufreq/scaling_governor": "performance",
            f"{cpu}/cpu{processor}/cpufreq/cpuinfo_max_freq": "3000000",
        }
        shared = {"0": ("1", "Data", "32K", siblings), "1": ("3", "Unified", "16384K", _package(of, core))}
        for index, (level, kind, size, sharers) in shared.items():
            cache = f"{cpu}/cpu{processor}/cache/index{index}"
            files |= {f"{cache}/level": level, f"{cache}/type": kind, f"{cache}/size": size}
            files[f"{cache}/shared_cpu_list"] = ranges(sharers)
    files |= _memory_files(of)
    for path, content in files.items():
        write(root, path, f"{content}\n")
    for number, adapter in enumerate(of.adapters):
        _write_adapter(of, adapter, root, f"ib{number}")
    return root


def _package(of: Machine, core: int) -> tuple[int, ...]:
    cores = (other for other in range(of.cores) if of.socket_of(other) == of.socket_of(core))
    return tuple(sorted(processor for other in cores for processor in of.siblings(other)))


def _memory_files(of: Machine) -> dict[str, str]:
    files = {}
    for node in range(of.numa_nodes):
        here = f"/sys/devices/system/node/node{node}"
        files[f"{here}/cpulist"] = ranges(of.processors_of_numa(node))
        files[f"{here}/distance"] = " ".join(map(str, of.distances(node)))
        kib = ((of.dimms * of.dimm_gib or 64) << 20) // of.numa_nodes
        files[f"{here}/meminfo"] = f"Node {node} MemTotal:       {kib} kB"
    files["/sys/devices/system/node/online"] = ranges(tuple(range(of.numa_nodes)))
    for number in range(of.dimms):
        socket, place = number % of.sockets, number // of.sockets
        controller = f"/sys/devices/system/edac/mc/mc{socket}"
        files |= {
            f"{controller}/ce_count": "0",
            f"{controller}/ue_count": "0",
            f"{controller}/dimm{place}/size": str(of.dimm_gib << 10),
            f"{controller}/dimm{place}/dimm_label": f"CPU_SrcID#{socket}_MC#0_Chan#{place}_DIMM#0",
            f"{controller}/dimm{place}/dimm_mem_type": "Registered-DDR4",
            f"{controller}/dimm{place}/dimm_location": f"channel {place} slot 0",
        }
    return files


def _write_adapter(of: Machine, adapter: Adapter, root: Path, interface: str) -> None:
    bus = of.bus_of(adapter)
    slot, card = f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0"
    folder = f"/sys/devices/pci0000:{bus:02x}/{slot}"
    numa = str(of.numa_of_adapter(adapter))
    trained = {"current_link_speed": f"{adapter.trained_gt_s} GT/s PCIe", "current_link_width": adapter.trained_lanes}
    ends = (
        (folder, "0x060400", "0x2030", "0x8086", adapter.slot_generation, adapter.slot_lanes),
        (f"{folder}/{card}", "0x020700", "0x101b", "0x15b3", adapter.generation, adapter.lanes),
    )
    for place, kind, device, vendor, generation, lanes in ends:
        link = {"max_link_speed": f"{GEN_GT_S[generation]} GT/s PCIe", "max_link_width": lanes}
        identity = {"class": kind, "device": device, "vendor": vendor, "numa_node": numa}
        for name, content in {**identity, **trained, **link}.items():
            write(root, f"{place}/{name}", f"{content}\n")
    port = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": adapter.rate_text, "link_layer": "InfiniBand",
            "lid": "0x7", "sm_lid": "0x1", "gids/0": "fe80:0000:0000:0000:0000:0000:0000:0001",
            "gid_attrs/ndevs/0": interface, "counters/symbol_error": "0", "counters/link_downed": "0"}  # fmt: skip
    hca = {"node_type": "1: CA", "fw_ver": "20.31.1014", "hca_type": "MT4123", "board_id": "GEN0000000001"}
    here = f"{folder}/{card}/infiniband/{adapter.name}"
    for name, content in {**hca, **{f"ports/1/{name}": text for name, text in port.items()}}.items():
        write(root, f"{here}/{name}", f"{content}\n")
    net = f"{folder}/{card}/net/{interface}"
    for name, content in {"type": "32", "mtu": "4092", "operstate": "up", "dev_port": "0", "dev_id": "0x0"}.items():
        write(root, f"{net}/{name}", f"{content}\n")
    links = {
        f"/sys/bus/pci/devices/{slot}": f"../../..{folder.removeprefix('/sys')}",
        f"/sys/bus/pci/devices/{card}": f"../../..{folder.removeprefix('/sys')}/{card}",
        f"/sys/class/infiniband/{adapter.name}": f"../..{here.removeprefix('/sys')}",
        f"/sys/class/net/{interface}": f"../..{net.removeprefix('/sys')}",
        f"{here}/device": f"../../../{card}",
        f"{net}/device": f"../../../{card}",
        f"{folder}/{card}/driver": "../../../../bus/pci/drivers/mlx5_core",
    }
    (root / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True, exist_ok=True)
    for path, target in links.items():
        place_of_link = root / path.lstrip("/")
        place_of_link.parent.mkdir(parents=True, exist_ok=True)
        place_of_link.symlink_to(target)
