"""Generated machines as other tools record them: hwloc's XML, a sysinfo file, a tar archive, a text archive (ttar)."""

import json
import tarfile
from pathlib import Path

from seatrial.model.facts import NodeFacts
from seatrial.model.pcie import ENCODINGS
from seatrial.node.node import parse_facts
from tests.support.collecting import collected_text
from tests.support.machines import KERNEL, MODEL, Adapter, Machine, mask, ranges, sysfs_tree


def facts_of(of: Machine, folder: Path, hostname: str = "n1") -> NodeFacts:
    """What the collector reads from the tree of the machine."""
    return parse_facts(collected_text(str(sysfs_tree(of, folder, hostname))))


def hwloc_xml(of: Machine, hostname: str = "n1") -> str:
    """As lstopo of hwloc 2 exports it, I/O devices included."""
    packages = "".join(_package(of, socket) for socket in range(of.sockets))
    devices = "".join(_devices(of, adapter, f"ib{number}") for number, adapter in enumerate(of.adapters))
    values = " ".join(str(distance) for node in range(of.numa_nodes) for distance in of.distances(node))
    indexes = " ".join(map(str, range(of.numa_nodes)))
    infos = _infos(HostName=hostname, OSRelease=KERNEL, DMISysVendor="Generated", DMIProductName="Server 1")
    everything = mask(tuple(range(of.cores * of.threads)))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0">\n'
        f'<object type="Machine" os_index="0" cpuset="{everything}" nodeset="{mask(tuple(range(of.numa_nodes)))}">\n'
        f"{infos}{packages}{devices}</object>\n"
        f'<distances2 type="NUMANode" nbobjs="{of.numa_nodes}" kind="5" name="NUMALatency" indexing="os">'
        f'<indexes length="{len(indexes)}">{indexes}</indexes>'
        f'<u64values length="{len(values)}">{values}</u64values></distances2>\n</topology>\n'
    )


def _infos(**values: str) -> str:
    return "".join(f'<info name="{name}" value="{value}"/>\n' for name, value in values.items())


def _package(of: Machine, socket: int) -> str:
    cores = range(socket * of.cores_each, (socket + 1) * of.cores_each)
    nodes = sorted({of.numa_of(core) for core in cores})
    memory = ((of.dimms * of.dimm_gib or 64) << 30) // of.numa_nodes
    groups = []
    for node in nodes:
        near = mask(of.processors_of_numa(node))
        inside = "".join(_core(of, core) for core in cores if of.numa_of(core) == node)
        groups.append(
            f'<object type="Group" cpuset="{near}" nodeset="{mask((node,))}">\n'
            f'<object type="NUMANode" os_index="{node}" cpuset="{near}" nodeset="{mask((node,))}" '
            f'local_memory="{memory}"/>\n{inside}</object>\n'
        )
    mine = mask(tuple(sorted(one for core in cores for one in of.siblings(core))))
    return (
        f'<object type="Package" os_index="{socket}" cpuset="{mine}" nodeset="{mask(tuple(nodes))}">\n'
        f"{_infos(CPUModel=MODEL)}"
        f'<object type="L3Cache" cpuset="{mine}" cache_size="{16384 << 10}" depth="3" cache_type="0">\n'
        f"{''.join(groups)}</object>\n</object>\n"
    )


def _core(of: Machine, core: int) -> str:
    own = mask(of.siblings(core))
    threads = "".join(
        f'<object type="PU" os_index="{processor}" cpuset="{mask((processor,))}"/>\n' for processor in of.siblings(core)
    )
    return (
        f'<object type="L1Cache" cpuset="{own}" cache_size="{32 << 10}" depth="1" cache_type="1">\n'
        f'<object type="Core" os_index="{core % of.cores_each}" cpuset="{own}">\n{threads}</object>\n</object>\n'
    )


def _devices(of: Machine, adapter: Adapter, interface: str) -> str:
    bus = of.bus_of(adapter)
    transfers = adapter.trained_gt_s * 1e9
    speed = f"{transfers * ENCODINGS[transfers] / 8e9 * adapter.trained_lanes:.6f}"
    ports = {"Port1State": "4", "Port1LID": "0x7", "Port1GID0": "fe80:0000:0000:0000:0000:0000:0000:0001"}
    return (
        f'<object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[{bus:02x}-{bus + 1:02x}]" '
        f'nodeset="{mask((of.numa_of_adapter(adapter),))}">\n'
        f'<object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[{bus + 1:02x}-{bus + 1:02x}]" '
        f'pci_busid="0000:{bus:02x}:01.0" pci_type="0604 [8086:2030] [0000:0000] 00 00" pci_link_speed="{speed}">\n'
        f'<object type="PCIDev" pci_busid="0000:{bus + 1:02x}:00.0" pci_type="0207 [15b3:101b] [0000:0000] 00 00" '
        f'pci_link_speed="{speed}">\n'
        f'<object type="OSDev" name="{interface}" osdev_type="2"/>\n'
        f'<object type="OSDev" name="{adapter.name}" osdev_type="3">\n{_infos(**ports)}</object>\n'
        "</object>\n</object>\n</object>\n"
    )


def sysinfo(of: Machine, names: tuple[str, ...]) -> str:
    """A sysinfo file of nodes that are alike: the words of lscpu, DMI and the network interfaces."""
    cpu = {
        "CPU(s)": str(of.cores * of.threads),
        "Thread(s) per core": str(of.threads),
        "Core(s) per socket": str(of.cores_each),
        "Socket(s)": str(of.sockets),
        "NUMA node(s)": str(of.numa_nodes),
        "Model name": MODEL,
        **{f"NUMA node{node} CPU(s)": ranges(of.processors_of_numa(node)) for node in range(of.numa_nodes)},
    }
    net = {
        f"ib{number}": {
            "descr": f"{of.bus_of(adapter) + 1:02x}:00.0 Infiniband controller [0207]: Generated [15b3:101b] (rev 00)",
            "rate": adapter.rate_text,
            "link_layer": "InfiniBand",
        }
        for number, adapter in enumerate(of.adapters)
    }
    chassis = {"sys_vendor": "Generated", "product_name": "Server 1"}
    node = {"os": {"kernel": KERNEL}, "chassis": chassis, "cpu": cpu, "net": net}
    return json.dumps({name: {"hostname": name, **node} for name in names})


def tarball(tree: Path, path: Path, mode: str = "w:bz2") -> Path:
    """The tree in a compressed tar archive; its path."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(tree, arcname=tree.name)
    return path


def ttar(tree: Path, path: Path) -> Path:
    """The tree in the text archive of Prometheus' exporters; its path."""
    lines = ["# Archive created by ttar -c"]
    for entry in sorted(tree.rglob("*")):
        name = entry.relative_to(tree)
        if entry.is_symlink():
            lines += [f"Path: {name}", f"SymlinkTo: {entry.readlink()}"]
        elif entry.is_dir():
            lines += [f"Directory: {name}", "Mode: 755"]
        else:
            content = entry.read_text().splitlines()
            lines += [f"Path: {name}", f"Lines: {len(content)}", *content, "Mode: 644"]
        lines.append("# ttar - - - - - - - - - - - -")
    path.write_text("\n".join(lines) + "\n")
    return path
