"""The plan of a lab: names, addresses, design rates and MPI settings, all derived from a few values."""

import enum
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from seatrial.model.errors import UsageError

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


MAX_NODES = 64
LOGIN = "login"
FABRIC = "fabric"
SPINE = "spine"
MOST_RAILS = 2
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?")
RATE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(kbit|mbit|gbit)")
BITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


class LabPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One lab as designed. `folders` stay visible in the nodes although each has a `/tmp` of its own."""

    name: str
    nodes: int
    leaves: int
    rate_bit_per_s: int
    uplink_rate_bit_per_s: int
    mtu: int = 1500
    folders: tuple[str, ...] = ()
    mpi_settings: MpiSettings = MpiSettings.TCP
    rails: int = 1
    """Networks of every node, each with its own switches."""
    suspend_after_s: int = 0
    """Slurm suspends a node after this many idle seconds; 0: never."""
    modes: bool = False
    """Whether nodes have a memory mode, which Slurm switches by a restart."""
    accounts: bool = False
    """Whether slurmdbd enforces accounts and QOS, and nodes have a GRES."""
    second_rate_bit_per_s: int = 0
    """Design rate of the second half of the nodes; 0: that of the others."""
    ssh: bool = False
    """Whether an sshd runs on every node."""

    @property
    def node_names(self) -> tuple[str, ...]:
        """`n1` to `nN`."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """`leaf1` to `leafL`."""
        return tuple(f"leaf{number}" for number in range(1, self.leaves + 1))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every machine with a hostname of its own: the login node and the nodes."""
        return (LOGIN, *self.node_names)

    @property
    def spaces(self) -> tuple[str, ...]:
        """The network namespaces of this lab."""
        return tuple(self.space(part) for part in (FABRIC, *self.hosts))

    def space(self, part: str) -> str:
        """The network namespace of a host, or of the switches (`fabric`)."""
        return f"st-{self.name}-{part}"

    @property
    def rail_names(self) -> tuple[str, ...]:
        """The interfaces of a node, `eth0` and with two rails `eth1`."""
        return tuple(f"eth{number}" for number in range(self.rails))

    def leaf_of(self, node: str) -> str:
        """The leaf switch of a node; nodes are spread over the leaves in contiguous, even blocks."""
        return f"leaf{self.node_names.index(node) * self.leaves // self.nodes + 1}"

    def rate_of(self, host: str) -> int:
        """The design rate of a host's links."""
        return self.second_rate_bit_per_s if host in self.second_nodes else self.rate_bit_per_s

    @property
    def fastest_bit_per_s(self) -> int:
        """The greater design rate of both."""
        return max(self.rate_bit_per_s, self.second_rate_bit_per_s)

    def feature_of(self, node: str) -> str:
        """How Slurm describes a node where there are two rates: by its rate."""
        return rate_text(self.rate_of(node))

    @property
    def second_nodes(self) -> tuple[str, ...]:
        """The nodes with the second design rate, which are another model."""
        return self.node_names[(self.nodes + 1) // 2 :] if self.second_rate_bit_per_s else ()

    def members(self, leaf: str) -> tuple[str, ...]:
        """The nodes of a leaf switch."""
        return tuple(node for node in self.node_names if self.leaf_of(node) == leaf)

    def address(self, host: str, rail: int = 0) -> str:
        """The IPv4 address of a host within 10.77.0.0/16, or on the second rail 10.78.0.0/16."""
        return f"10.{77 + rail}.0.1" if host == LOGIN else f"10.{77 + rail}.1.{self.node_names.index(host) + 1}"


def own_space(name: str, space: str) -> bool:
    """Whether a network namespace belongs to the lab of that name."""
    return re.fullmatch(rf"st-{re.escape(name)}-({FABRIC}|{LOGIN}|n\d+)", space) is not None


def make_plan(
    *,
    name: str,
    nodes: int,
    leaves: int | None = None,
    rate: str = "1gbit",
    uplink_rate: str | None = None,
    second_rate: str | None = None,
    mpi_settings: str = MpiSettings.TCP,
    **others: Any,  # noqa: ANN401 - fields of the plan
) -> LabPlan:
    """Check the values a user gave and fill in the others. Raises UsageError that shows the value."""
    check_name(name)
    leaves = min(2, nodes) if leaves is None else leaves
    if not 1 <= nodes <= MAX_NODES:
        raise UsageError(f"A lab cannot have {nodes} nodes.", f"Give --nodes between 1 and {MAX_NODES}.")
    if not 1 <= leaves <= nodes:
        raise UsageError(
            f"A lab of {nodes} nodes cannot have {leaves} leaves.", f"Give --leaves between 1 and {nodes}."
        )
    if mpi_settings not in list(MpiSettings):
        raise UsageError(
            f"{mpi_settings!r} is not a valid choice of MPI settings.", f"Give one of {', '.join(MpiSettings)}."
        )
    plan = LabPlan(
        name=name,
        nodes=nodes,
        leaves=leaves,
        rate_bit_per_s=parse_rate(rate),
        uplink_rate_bit_per_s=parse_rate(uplink_rate or rate),
        mpi_settings=MpiSettings(mpi_settings),
        second_rate_bit_per_s=parse_rate(second_rate) if second_rate else 0,
        **others,
    )
    check_mtu(plan.mtu)
    if not 1 <= plan.rails <= MOST_RAILS:
        raise UsageError(f"A lab cannot have {plan.rails} rails.", f"Give --rails between 1 and {MOST_RAILS}.")
    return plan


def check_name(name: str) -> None:
    """Refuse a lab name that does not fit into the names of namespaces and sockets."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a lab.",
            "Use up to 16 small letters, digits and hyphens, no hyphen at an end.",
        )


def check_mtu(mtu: int) -> None:
    """Refuse an MTU that IPv4 or an Ethernet link could not carry."""
    if not 576 <= mtu <= 9216:
        raise UsageError(f"{mtu} is not a valid MTU for an Ethernet link.", "Give bytes between 576 and 9216.")


def parse_rate(text: str) -> int:
    """`1gbit`, `600mbit` or `2.5gbit` in bits per second. Raises UsageError that shows the text."""
    match = RATE.fullmatch(text.strip().lower())
    rate = round(float(match[1]) * BITS[match[2]]) if match else 0
    if not 1e6 <= rate <= 100e9:
        raise UsageError(f"{text!r} is not a valid rate for a link.", "Give 1mbit to 100gbit, as in 600mbit.")
    return rate


def rate_text(rate_bit_per_s: float) -> str:
    """A rate as `parse_rate` reads it, in the largest unit that keeps it at or above one."""
    for unit in ("gbit", "mbit"):
        if rate_bit_per_s >= BITS[unit]:
            return f"{rate_bit_per_s / BITS[unit]:.6g}{unit}"
    return f"{rate_bit_per_s / BITS['kbit']:.6g}kbit"
