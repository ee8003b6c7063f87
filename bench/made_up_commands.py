"""What commands would print on the made-up node, as long as on a real one. Command -> exit status and output."""

from made_up_node import CORES, SOCKETS

DIMMS = [f"P{socket}_DIMM_{letter}1" for socket in range(SOCKETS) for letter in "ABCDEFGH"]
COMPONENTS = {
    "btl": ("self", "ofi", "sm", "tcp", "uct", "usnic"),
    "coll": ("adapt", "basic", "han", "inter", "libnbc", "monitoring", "self", "sync", "tuned", "hcoll", "ucc"),
    "ess": ("env", "hnp", "pmi", "singleton", "slurm", "tool"),
    "io": ("ompio", "romio341"),
    "mtl": ("ofi", "psm2"),
    "op": ("avx",),
    "osc": ("monitoring", "rdma", "sm", "ucx"),
    "plm": ("isolated", "rsh", "slurm"),
    "pml": ("cm", "monitoring", "ob1", "ucx", "v"),
    "ras": ("simulator", "slurm"),
}
TRANSPORTS = ("posix", "sysv", "self", "tcp", "rc_verbs", "rc_mlx5", "dc_mlx5", "ud_verbs", "ud_mlx5", "cma", "xpmem")
DEVICES = ("memory", "eno1", "eno2", "ib0", "ib1", "lo", "mlx5_0:1", "mlx5_1:1")
PROVIDERS = ("psm2", "tcp", "verbs", "verbs;ofi_rxm", "shm", "udp", "ofi_rxd", "ofi_hook_noop", "off_coll")

OUTPUTS = {
    "uname -m": (0, "x86_64"),
    "sinfo --version": (0, "slurm 23.02.7"),
    "slurmd -V": (0, "slurm 23.02.7"),
    "mpirun --version": (0, "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/"),
    "ompi_info --version": (0, "Open MPI v4.1.6\n\nhttp://www.open-mpi.org/community/help/"),
    "ompi_info --parsable": (
        0,
        "\n".join(f"mca:{framework}:{name}:version" for framework, names in COMPONENTS.items() for name in names),
    ),
    "ucx_info -v": (0, "# Library version: 1.15.0"),
    "ucx_info -d": (
        0,
        "\n".join(f"#      Transport: {name}\n#         Device: {device}" for name in TRANSPORTS for device in DEVICES),
    ),
    "fi_info --version": (0, "fi_info: 1.18.1\nlibfabric: 1.18.1\nlibfabric api: 1.18"),
    "fi_info -l": (0, "\n".join(f"{name}:" for name in PROVIDERS)),
    "chronyc -n tracking": (
        0,
        "Stratum         : 3\nSystem time     : 0.000012345 seconds fast of NTP time\nLeap status     : Normal",
    ),
    "dmidecode -t 17": (
        0,
        "\n".join(
            f"Memory Device\nSize: 32 GB\nLocator: {name}\nBank Locator: {name[:2]} CHANNEL {name[-2]}\nType: DDR4\n"
            "Speed: 3200 MT/s\nConfigured Memory Speed: 3200 MT/s"
            for name in DIMMS
        ),
    ),
}


def hwloc_xml() -> dict[str, tuple[int, str]]:
    """The topology as lstopo tells it, which is parsed in place of /sys where it is there."""
    per_socket, per_node = CORES // SOCKETS, CORES // 8
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<topology version="2.0">',
        '<object type="Machine" os_index="0">',
    ]
    for socket in range(SOCKETS):
        lines.append(f'<object type="Package" os_index="{socket}">')
        for node in range(socket * 4, socket * 4 + 4):
            first = node * per_node
            cpuset = _mask(range(first, first + per_node))
            lines.append('<object type="Group" depth="0" kind="1">')
            lines.append(f'<object type="NUMANode" os_index="{node}" cpuset="{cpuset}" local_memory="{64 * 2**30}"/>')
            lines.append('<object type="L3Cache" cache_size="33554432" depth="3" cache_linesize="64" cache_type="0">')
            lines += [line for core in range(first, first + per_node) for line in _core(core, per_socket)]
            lines += ["</object>", "</object>"]
        lines.append("</object>")
    values = [10 if a == b else 12 if a // 4 == b // 4 else 32 for a in range(8) for b in range(8)]
    lines += ["</object>", '<distances2 type="NUMANode" nbobjs="8" kind="5" name="NUMALatency" indexing="os">']
    lines.append('<indexes length="16">0 1 2 3 4 5 6 7 </indexes>')
    lines.append(f'<u64values length="160">{" ".join(map(str, values))} </u64values>')
    lines += ["</distances2>", "</topology>"]
    return {"lstopo-no-graphics --of xml --no-io --disallowed": (0, "\n".join(lines))}


def _core(core: int, per_socket: int) -> list[str]:
    return [
        '<object type="L2Cache" cache_size="524288" depth="2" cache_linesize="64" cache_type="0">',
        '<object type="L1Cache" cache_size="32768" depth="1" cache_linesize="64" cache_type="1">',
        '<object type="L1iCache" cache_size="32768" depth="1" cache_linesize="64" cache_type="2">',
        f'<object type="Core" os_index="{core % per_socket}">',
        f'<object type="PU" os_index="{core}"/>',
        f'<object type="PU" os_index="{core + CORES}"/>',
        *["</object>"] * 4,
    ]


def _mask(cores: range) -> str:
    """hwloc's bitmap: words of 32 bits, the greatest first."""
    bits = sum(1 << core | 1 << (core + CORES) for core in cores)
    words = [f"0x{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(96, -1, -32)]
    return ",".join(words)
