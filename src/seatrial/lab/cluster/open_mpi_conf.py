"""Open MPI's settings in the lab: TCP over eth0 between nodes and shared memory within one, or as it comes."""

import enum
from collections.abc import Sequence

PARAMETERS_FILE = "/etc/openmpi/openmpi-mca-params.conf"


class MpiSettings(enum.StrEnum):
    """What the nodes' own openmpi-mca-params.conf chooses."""

    TCP = "tcp"
    """ob1 over TCP and shared memory; ranks give way while they wait."""
    NONE = "none"
    """No transport: Open MPI takes what it prefers by itself."""


COMMON = ("oob_tcp_if_include = eth0", "mpi_yield_when_idle = 1", "btl_base_warn_component_unused = 0")
"""Nodes share this machine's cores, so ranks that wait must not spin, whatever carries their messages."""
CHOICE = ("pml = ob1", "btl = tcp,self,vader")


def parameters(chosen: MpiSettings = MpiSettings.TCP, rails: Sequence[str] = ("eth0",)) -> str:
    """The private openmpi-mca-params.conf of every node and of the login node; messages go over all `rails`."""
    choice = (*CHOICE, f"btl_tcp_if_include = {','.join(rails)}")
    return "\n".join([*(choice if chosen is MpiSettings.TCP else ()), *COMMON, ""])
