"""A budget of node-hours: the allocation is cut to fit, first its time, then its nodes; and that is said."""

import math
from collections.abc import Sequence

import msgspec

from seatrial.experiment.settings import CheckSettings
from seatrial.launch.contract import Hosts
from seatrial.launch.slurm_argv import SPARE_MINUTES, minutes
from seatrial.model.errors import UsageError
from seatrial.model.run import NodeState

SHORTEST_BUDGET_S = 60.0
"""Rather than measure for less than this, fewer nodes are taken."""
AROUND_S = 300.0
"""For starting, and for reading facts before and after."""
FEWEST = 2


class Thrift(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes for how long of measuring."""

    nodes: int
    budget_s: float


def allocation_s(budget_s: float) -> float:
    """How long the nodes are asked for, where so long is measured; what is over is given back at once."""
    return 2 * budget_s + AROUND_S


def node_hours_of(nodes: int, budget_s: float) -> float:
    """What the allocation may cost at most: its time limit times its nodes, in node-hours."""
    return nodes * minutes(allocation_s(budget_s)) / 60


def fit(node_hours: float, nodes: int, budget_s: float) -> Thrift:
    """At most so many nodes for at most that budget, within the node-hours. Raises UsageError where two do not fit."""
    shortest_s = min(budget_s, SHORTEST_BUDGET_S)
    fewest = node_hours_of(FEWEST, shortest_s)
    if node_hours < fewest:
        raise UsageError(
            f"--node-hours {node_hours:g} is too little: two nodes for {shortest_s:.0f} s of measuring are asked for "
            f"with a time limit of {minutes(allocation_s(shortest_s))} minutes.",
            f"Give at least {math.ceil(100 * fewest) / 100:g}.",
        )
    fitting = min(nodes, int(node_hours / node_hours_of(1, shortest_s) + 1e-9))
    left_s = (math.floor(node_hours * 60 / fitting + 1e-9) - SPARE_MINUTES) * 60 - AROUND_S
    return Thrift(nodes=fitting, budget_s=min(budget_s, max(left_s / 2, shortest_s)))


def within_node_hours(
    settings: CheckSettings, hosts: Hosts, nodes: Sequence[str]
) -> tuple[CheckSettings, Hosts, tuple[str, ...], str]:
    """Settings, hosts and nodes that fit, and a sentence on what was cut; empty where nothing was.

    Raises UsageError where nothing fits.
    """
    if not settings.node_hours:
        return settings, hosts, tuple(nodes), ""
    found = fit(settings.node_hours, len(nodes), settings.budget_s)
    kept, dropped = tuple(nodes[: found.nodes]), nodes[found.nodes :]
    if not dropped and found.budget_s == settings.budget_s:
        return settings, hosts, kept, ""
    why = f"left out to stay within --node-hours {settings.node_hours:g}"
    states = tuple(NodeState(node=node, reason=why, fault=False) for node in dropped)
    fewer = f"{len(kept)} of {len(nodes)} nodes" if dropped else f"{len(kept)} nodes"
    cost = node_hours_of(len(kept), found.budget_s)
    said = (
        f"To stay within --node-hours {settings.node_hours:g}, {fewer} are measured, for {found.budget_s:.0f} s of "
        f"{settings.budget_s:.0f}: at most {cost:.2f} node-hours."
    )
    return (
        msgspec.structs.replace(settings, budget_s=found.budget_s),
        msgspec.structs.replace(hosts, nodes=kept, left_out=(*hosts.left_out, *states)),
        kept,
        said,
    )
