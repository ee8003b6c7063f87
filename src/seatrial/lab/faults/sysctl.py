"""sysctl: a node's kernel is set otherwise than its peers' are."""

from seatrial.lab.cluster.host_argv import in_space
from seatrial.lab.cluster.host_setup import SETTINGS
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call
from seatrial.lab.faults.base import Fault, Parameters

KEY = "net/ipv4/tcp_rmem"
PLANTED = "4096 131072 6291456"
"""What Linux long chose by itself (net/ipv4/tcp.c), which still suffices to fill 1gbit here."""


def plant(plan: LabPlan, subject: str, _parameters: Parameters) -> None:
    """What a kernel has that nobody has tuned."""
    _set(plan, subject, PLANTED)


def clear(plan: LabPlan, subject: str) -> None:
    """As every host of the lab is dressed."""
    _set(plan, subject, SETTINGS[KEY])


def _set(plan: LabPlan, node: str, value: str) -> None:
    call(in_space(plan.space(node), ["tee", f"/proc/sys/{KEY}"]), stdin=f"{value}\n")


FAULT = Fault(
    kind="sysctl",
    description="net.ipv4.tcp_rmem, the memory that a TCP connection may fill with what it receives, is at the "
    "6 MiB of an untuned kernel where the peers have 32 MiB: a file lost from /etc/sysctl.d. For real, in the node's "
    "network namespace.",
    takes="node",
    marks="sysctl",
    plant=plant,
    clear=clear,
)
