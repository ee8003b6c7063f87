"""Facts that must differ or may differ a little, each with the reason, and facts that must be equal on all nodes."""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.node.mounts import FACT as PASSING_MOUNT


class Excuse(msgspec.Struct, frozen=True):
    """Facts whose differences are ignored. `pattern` matches the whole dotted name."""

    pattern: str
    reason: str
    over_time: bool = True


class Tolerance(msgspec.Struct, frozen=True):
    """Numbers that count as equal while they are within `share` of the lesser one."""

    pattern: str
    share: float
    reason: str


EXCUSES = (
    Excuse(r"hostname", "each node's own name", over_time=False),
    Excuse(r"boot_id", "random at each boot"),
    Excuse(r"system\.booted_s", "nodes boot at different times"),
    Excuse(r"tcp_segments_(sent|resent)", "counts since boot: only its growth matters"),
    Excuse(r"oom_kills", "counts since boot: only its growth matters"),
    Excuse(r"interfaces\..*\.errors\..*", "counts since the driver was loaded: only its growth matters"),
    Excuse(r"hcas\..*\.counters\..*", "counts since some time unknown, saturating: only its growth matters"),
    Excuse(r"hcas\..*\.lid", "the port's own address in its subnet", over_time=False),
    Excuse(r"memory\.(un)?corrected_errors", "EDAC counts since boot: only its growth matters"),
    Excuse(r"processor\.throttle_events", "counts since boot: only its growth matters"),
    Excuse(r"processor\.allowed", "assigned to the job by the scheduler"),
    Excuse(
        r"gpus\..*\.(corrected_errors|link_generation|state|use|slowdowns|temperature_celsius|nvlink_errors\..*)",
        "they follow the load, or count since the driver was loaded: rules judge them",
    ),
    Excuse(r"pci\..*\.iommu_group", "numbered in the order in which the kernel meets devices"),
    Excuse(r"pci\..*\.errors\..*", "counts since boot: only its growth matters"),
    Excuse(r"system\.kernel_log(_last)?\..*", "lines since boot: only their growth matters"),
    Excuse(r"system\.alarms\..*", "momentary states of sensors, which rules judge"),
    Excuse(r"system\.sensors\..*", "temperatures, fans, voltages, power: momentary readings"),
    Excuse(r"system\.clock\.(offset_s|stratum)", "the clock's momentary error"),
    Excuse(
        r"settings\.command_line\.(BOOTIF|ip|root|resume|rd\.luks\.uuid|rd\.lvm\.lv|systemd\.hostname|nodename)",
        "addresses, names and disks of the node's own",
        over_time=False,
    ),
    Excuse(r"settings\.sysctls\.kernel\.hostname", "each node's own name", over_time=False),
    Excuse(
        r"settings\.sysctls\.(fs\.(file-nr|inode-nr|inode-state|dentry-state)|kernel\.random\..+|kernel\.ns_last_pid)",
        "states that are shown among the settings",
    ),
    Excuse(
        r"interfaces\.(veth|cali|tap|vnet|lxc|flannel|cni|br-|docker).*",
        "created and removed for containers and virtual machines",
    ),
    Excuse(PASSING_MOUNT, "created and removed for sessions, jobs and containers, or by the kernel"),
)

OF_ONE_NODE = re.compile(r"settings\.command_line\..+|system\.firmware\.settings\..+", re.DOTALL)
"""Facts whose names are the makers', and some of which are names, addresses or numbers of the single machine."""
OWN_VALUES = 4
"""Nodes from which on a value of such a fact that differs on each of them is taken for one of these."""


def own_to_each(fact: str, values: Mapping[str, object]) -> bool:
    """Whether each node has a value of its own: one that contains its name; of free facts (OF_ONE_NODE) any."""
    if len(set(map(str, values.values()))) < len(values) or None in values.values():
        return False
    if len(values) >= OWN_VALUES and OF_ONE_NODE.fullmatch(fact):
        return True
    return all(
        re.search(rf"(?<![a-zA-Z0-9]){re.escape(node)}(?![a-zA-Z0-9])", str(text)) for node, text in values.items()
    )


_MEMORY = "the kernel keeps a different few MiB for itself on each boot; one module of 32 is 3 %"

TOLERANCES = (
    Tolerance(r"memory_bytes", 0.01, _MEMORY),
    Tolerance(r"topology\.numa_nodes\..*\.memory_bytes", 0.02, _MEMORY),
    Tolerance(r"system\.limits\.processes", 0.02, "its default follows the memory"),
    Tolerance(r"memory\.dimms\..*_transfers_per_s", 0.01, "firmwares report one speed as 2933 or 2934 MT/s"),
    Tolerance(r"processor\.base_hz", 0.01, "where the kernel measures it at boot, it varies a little between boots"),
)

_FROM_MEMORY = re.compile(
    r"settings\.sysctls\.(kernel\.threads-max|fs\.(file-max|epoll\.max_user_watches|inotify\.max_user_watches)"
    r"|vm\.(min_free_kbytes|user_reserve_kbytes|admin_reserve_kbytes)|net\.ipv4\.(tcp_mem|udp_mem|tcp_max_orphans)"
    r"|net\.netfilter\.nf_conntrack_max|user\.max_.+)"
)
FROM_MEMORY_SHARE = 0.02

_BETWEEN_NODES = re.compile("|".join(f"(?:{each.pattern})" for each in EXCUSES), re.DOTALL)
_OVER_TIME = re.compile("|".join(f"(?:{each.pattern})" for each in EXCUSES if each.over_time), re.DOTALL)


@lru_cache(maxsize=1 << 17)
def excused_between_nodes(fact: str) -> bool:
    """Whether a fact may differ between equal nodes."""
    return _BETWEEN_NODES.fullmatch(fact) is not None


@lru_cache(maxsize=1 << 17)
def excused_over_time(fact: str) -> bool:
    """Whether a fact may differ between two readings of one node."""
    return _OVER_TIME.fullmatch(fact) is not None


@lru_cache(maxsize=1 << 14)
def tolerated_share(fact: str) -> float:
    """Difference, as a share of the lesser value, below which two values count as equal; 0 for most facts."""
    if _FROM_MEMORY.fullmatch(fact):
        return FROM_MEMORY_SHARE
    return next((each.share for each in TOLERANCES if re.fullmatch(each.pattern, fact, re.DOTALL)), 0.0)


# Facts that must be equal on all nodes, whatever their hardware.

EVERYONE = "all nodes"
SHARED_FILE_SYSTEMS = re.compile(
    r"autofs|nfs4?|lustre|gpfs|beegfs|beegfs_nodev|ceph|cifs|smb3|panfs|pvfs2|orangefs|afs|wekafs|9p|glusterfs"
    r"|fuse\.(?:glusterfs|ceph|ceph-fuse|sshfs|juicefs|dfuse|cvmfs2?)|cvmfs2?"
)
_EVERYWHERE = re.compile(
    r"kernel|mpi_versions|software\.(?:slurm_client|slurm_daemon|modules_system)"
    r"|software\.libraries\.(?:(?!\.components\.).)+|system\.paths\..+",
    re.DOTALL,
)
_MOUNT = re.compile(r"system\.mounts\.(.+?)(?:\.(?:source|kind|options|reachable))?", re.DOTALL)


def shared_mounts(facts: Mapping[str, NodeFacts]) -> frozenset[str]:
    """Paths at which some node has a file system that others can have too."""
    return frozenset(
        mount.path
        for known in facts.values()
        for mount in known.system.mounts
        if SHARED_FILE_SYSTEMS.fullmatch(mount.kind)
    )


def alike_everywhere(fact: str, shared: frozenset[str]) -> bool:
    """Whether a fact should be the same on nodes of different hardware, login nodes included.

    Kernel, Slurm, MPI and libraries, paths, and the mounts of `shared_mounts`; not what is compiled into libraries
    or how the kernel is set, which follow the hardware.
    """
    if mount := _MOUNT.fullmatch(fact):
        return mount[1] in shared
    return _EVERYWHERE.fullmatch(fact) is not None
