"""What should be alike on all nodes, whatever their hardware."""

import re
from collections.abc import Mapping

from seatrial.model.facts import NodeFacts

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
