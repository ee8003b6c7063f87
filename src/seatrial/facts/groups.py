"""Nodes of like hardware, by name; and what should be alike on all nodes, whatever their hardware."""

import re
from collections.abc import Mapping

import msgspec

from seatrial.facts.alike import hardware_groups
from seatrial.model.facts import NodeFacts

EVERYONE = "all nodes"
SHARED_FILE_SYSTEMS = re.compile(
    r"autofs|nfs4?|lustre|gpfs|beegfs|beegfs_nodev|ceph|cifs|smb3|panfs|pvfs2|orangefs|afs|wekafs|9p|glusterfs"
    r"|fuse\.(?:glusterfs|ceph|ceph-fuse|sshfs|juicefs|dfuse|cvmfs2?)|cvmfs2?"
)
_EVERYWHERE = re.compile(
    r"kernel|slurm_version|mpi_versions|software\.(?:slurm_client|slurm_daemon|modules_system)"
    r"|software\.libraries\.(?:(?!\.components\.).)+|system\.paths\..+",
    re.DOTALL,
)
_MOUNT = re.compile(r"system\.mounts\.(.+?)(?:\.(?:source|kind|options|reachable))?", re.DOTALL)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one make. `name`: vendor, product and processor model, as far as they were told."""

    name: str
    nodes: tuple[str, ...]


def groups(facts: Mapping[str, NodeFacts]) -> tuple[Group, ...]:
    """`alike.hardware_groups` with names; the largest first.

    A node that did not tell its make (its facts broke off, or DMI is not readable) is put to the only group that it
    could be of, so that it is compared with somebody.
    """
    makes = {nodes: _make(facts[nodes[0]]) for nodes in hardware_groups(facts)}
    joined: dict[tuple[str, ...], list[str]] = {}
    for nodes, make in sorted(makes.items(), key=lambda each: "" in each[1]):
        fitting = [other for other in joined if all(a in ("", b) for a, b in zip(make, other, strict=True))]
        joined.setdefault(fitting[0] if "" in make and len(fitting) == 1 else make, []).extend(nodes)
    named = [Group(name=_name(make), nodes=tuple(sorted(nodes))) for make, nodes in joined.items()]
    return tuple(sorted(named, key=lambda group: (-len(group.nodes), group.nodes)))


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


def _make(known: NodeFacts) -> tuple[str, ...]:
    return known.system.firmware.vendor, known.system.firmware.product, known.cpu_model


def _name(make: tuple[str, ...]) -> str:
    vendor, product, processor = make
    machine = " ".join(filter(None, (vendor, product)))
    return ", ".join(filter(None, (machine, processor))) or "of a make that was not told"
