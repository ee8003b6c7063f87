"""Cores, NUMA nodes and caches, from hwloc's XML where the node has it, else from sysfs."""

from seatrial.model.topology import Topology
from seatrial.node.frame import FactsFormatError, Frame
from seatrial.node.topology_sysfs import CPU, NODES, ROWS, sysfs_topology
from seatrial.node.topology_xml import xml_topology

HWLOC = tuple(
    f"{program} --of xml --no-io {option}"
    for program in ("lstopo-no-graphics", "lstopo")
    for option in ("--disallowed", "--whole-system")
)
"""What the collector may have run; hwloc 2 and hwloc 1 call the processors that a job may not use differently."""


def read_topology(frame: Frame) -> tuple[Topology, dict[str, str]]:
    """The topology of a frame. Second: name of a fact, with the group in front of it -> why it is not known.

    hwloc's XML wins where it is sound and whole. The kernel's files tell the same: cores, packages, NUMA nodes, caches.
    """
    absent: dict[str, str] = {}
    topology = _from_hwloc(frame, absent) or sysfs_topology(frame)
    if not topology.cores:
        absent["topology.cores"] = frame.reason(ROWS)
    if not topology.numa_nodes:
        absent["topology.numa_nodes"] = frame.reason(NODES)
    if not topology.caches:
        absent["topology.caches"] = frame.reason(f"{CPU}/cache/index0")
    return topology, absent


def _from_hwloc(frame: Frame, absent: dict[str, str]) -> Topology | None:
    for command in HWLOC:
        answer = frame.commands.get(command)
        if answer is None or answer.status != 0:
            continue
        try:
            return xml_topology("\n".join(answer.lines))
        except FactsFormatError as error:
            absent["topology.source"] = f"{command}: {error.what}"
    return None
