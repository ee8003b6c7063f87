"""Which nodes are measured, and for how long: at least two, and within the node-hour limit."""

import math
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import TypeVar

import msgspec

from seatrial.launch.contract import Hosts, Launcher
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.run import KIND_WORD, NodeCause, NodeState
from seatrial.model.settings import CheckSettings, SiteSettings
from seatrial.model.words import by_text, count, verb
from seatrial.slurm.allocation import NodesLost
from seatrial.slurm.argv import SPARE_MINUTES, minutes

FEWEST = 2
MOST_REASONS = 4


def described(features: Mapping[str, tuple[str, ...]], site: SiteSettings) -> dict[str, tuple[str, ...]]:
    """The words of each node, with the kind that the site's file declares. A replay has those of its recording."""
    if site.replay is not None:
        return {**features}
    kinds = {node: (f"{KIND_WORD}{kind}",) for kind, nodes in site.kinds.items() for node in nodes}
    words = {node: dict.fromkeys((*features.get(node, ()), *kinds.get(node, ()))) for node in {**features, **kinds}}
    return {node: tuple(own) for node, own in words.items()}


def enough(hosts: Hosts, settings: SiteSettings) -> tuple[str, ...]:
    """The nodes to measure. Raises an error that says why where there are not two of them."""
    left_out = {state.node for state in hosts.left_out}
    nodes = tuple(node for node in hosts.nodes if node not in left_out)
    if len(nodes) >= FEWEST:
        return nodes
    why = grouped(hosts.left_out)
    there = f"There is only one node to measure ({nodes[0]})" if nodes else "There is no node to measure"
    what = f"{there}, and a pair needs two{f' ({why})' if why else ''}."
    if len(settings.hosts) == 1:
        raise UsageError(what, "Name at least two with --hosts or --hostfile.")
    if len(settings.nodes) == 1:
        raise UsageError(what, "Name at least two nodes.")
    raise SeatrialError(what, _remedy(hosts, settings))


def grouped(states: Iterable[NodeState]) -> str:
    """`n[1-3]: Slurm says down; n4: ...`: each reason once, with the nodes that have it."""
    reasons = by_text((state.node, state.reason) for state in states)
    told = [f"{node_list(nodes)}: {reason}" for reason, nodes in reasons.items()]
    return "; ".join([*told[:MOST_REASONS], *(["..."] if len(told) > MOST_REASONS else [])])


def _remedy(hosts: Hosts, settings: SiteSettings) -> str:
    if settings.idle_only and settings.nodes:
        return "Wait until they are free, or wait for them in the queue: leave out --idle-only."
    if any(state.cause is NodeCause.BUSY for state in hosts.left_out):
        return "Wait for idle nodes, or name busy ones."
    if settings.hosts or settings.launcher == "ssh":
        return "Repair what is wrong with each, or name other hosts."
    if hosts.left_out:
        return "`seatrial doctor` shows what to do about each; or name others."
    if os.environ.get("SLURM_JOB_ID"):
        return "Start it in a job of two nodes or more, or outside of any job."
    return "Choose a partition of two nodes or more by --partition; sinfo lists them."


def allocate_available(
    launcher: Launcher, nodes: Sequence[str], seconds: float, fewest: int
) -> tuple[tuple[str, ...], tuple[NodeState, ...]]:
    """Get the nodes for that long; those that were granted, and those that went out of service in the meantime.

    Raises LaunchError where fewer than `fewest` are left, and for every other reason.
    """
    lost: list[NodeState] = []
    left = tuple(nodes)
    while True:
        try:
            launcher.allocate(left, seconds)
            return left, tuple(lost)
        except NodesLost as error:
            gone = {state.node for state in error.lost}
            rest = tuple(node for node in left if node not in gone)
            if len(rest) < fewest or len(rest) == len(left):
                raise
            lost += error.lost
            left = rest


def sampled(settings: CheckSettings, hosts: Hosts, nodes: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The nodes that --sample, --one-per-leaf and the partition's MaxNodes choose, and a sentence on them; all and
    nothing where these leave none out.

    They are drawn at random, by --seed, from each leaf switch in turn. Raises UsageError where no leaves are known,
    SeatrialError for a partition of single nodes.
    """
    most = hosts.most_nodes if not settings.nodes else 0
    limited = 0 < most < (settings.sample or len(nodes))
    sample = most if limited else settings.sample
    if not (sample or settings.one_per_leaf):
        return tuple(nodes), ""
    leaves: dict[str, list[str]] = {}
    for node in nodes:
        leaves.setdefault(hosts.fabric.leaf_of.get(node, ""), []).append(node)
    known = {leaf: members for leaf, members in leaves.items() if leaf}
    if settings.one_per_leaf and not known:
        raise UsageError(
            "--one-per-leaf: no leaf switches are known.", "Take --sample N; docs/check-details.md says why."
        )
    draw = random.Random(settings.seed)
    groups = [draw.sample(members, len(members)) for members in (known if settings.one_per_leaf else leaves).values()]
    rounds = islice(zip_longest(*draw.sample(groups, len(groups))), 1 if settings.one_per_leaf else None)
    chosen = set(islice(filter(None, chain.from_iterable(rounds)), sample or None))
    option = "--one-per-leaf" if settings.one_per_leaf else f"--sample {settings.sample}"
    option = f"The partition allows jobs of {count(most, 'node')} (MaxNodes)" if limited else option
    over = f" of {count(len(known), 'leaf switch', 'leaf switches')}" if known else ""
    if limited and most < FEWEST:
        raise SeatrialError(f"{option}, and a pair needs two.", "Choose another --partition.")
    if len(chosen) < FEWEST:
        raise UsageError(f"{option} leaves {count(len(chosen), 'node')}{over}, and a pair needs two.", "Leave it out.")
    remark = f"{option}: {len(chosen)} of {count(len(nodes), 'node')}{over} {verb(len(chosen))} measured."
    return tuple(node for node in nodes if node in chosen), remark


def what_it_takes(nodes: Sequence[str], budget_s: float) -> str:
    """`1,200 nodes for at most 25 minutes: at most 500 node-hours`."""
    limit = minutes(allocation_s(budget_s))
    hours = node_hours_of(len(nodes), budget_s)
    return f"{count(len(nodes), 'node')} for at most {limit} minutes: at most {hours:.2f} node-hours"


# To stay within the node-hours, the time is reduced first, then the number of nodes; the report says so.

SHORTEST_BUDGET_S = 60.0
"""Rather than measure for less than this, fewer nodes are taken."""
AROUND_S = 300.0
"""Seconds for starting, and for reading facts before and after."""
_Site = TypeVar("_Site", bound=SiteSettings)


class Thrift(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes for how long of measuring."""

    nodes: int
    budget_s: float


def allocation_s(budget_s: float) -> float:
    """How long the nodes are asked for, to measure for this time; what is left over is given back at once."""
    return 2 * budget_s + AROUND_S


def longest_budget_s(limit_minutes: int) -> float:
    """The longest budget whose allocation is asked for with that time limit; 0 or less where none is."""
    return ((limit_minutes - SPARE_MINUTES) * 60 - AROUND_S) / 2


def node_hours_of(nodes: int, budget_s: float) -> float:
    """What the allocation may cost at most: its time limit times its nodes, in node-hours."""
    return nodes * minutes(allocation_s(budget_s)) / 60


def fit(node_hours: float, nodes: int, budget_s: float, *, fewest: int = FEWEST) -> Thrift:
    """At most this many nodes for at most that budget, within the node-hours.

    Raises UsageError where not even the `fewest` nodes fit for the shortest time.
    """
    shortest_s = min(budget_s, SHORTEST_BUDGET_S)
    least = node_hours_of(fewest, shortest_s)
    if node_hours < least:
        limit = minutes(allocation_s(shortest_s))
        raise _too_little(node_hours, fewest, f" for {shortest_s:.0f} s of measuring", limit, least)
    fitting = min(nodes, int(node_hours / node_hours_of(1, shortest_s) + 1e-9))
    left_s = (math.floor(node_hours * 60 / fitting + 1e-9) - SPARE_MINUTES) * 60 - AROUND_S
    return Thrift(nodes=fitting, budget_s=min(budget_s, max(left_s / 2, shortest_s)))


def within_node_hours(
    settings: _Site, hosts: Hosts, nodes: Sequence[str], *, job: str = "", fewest: int = FEWEST
) -> tuple[_Site, Hosts, tuple[str, ...], str]:
    """Settings, hosts and nodes that fit, and a sentence on what was cut; empty where nothing was.

    `job`: that we are part of; it is allocated already, and costs what it costs. `fewest`: with as many as there are
    time alone is cut. Raises UsageError where nothing fits.
    """
    if not settings.node_hours or job or settings.replay is not None:
        return settings, hosts, tuple(nodes), ""
    found = fit(settings.node_hours, len(nodes), settings.budget_s, fewest=fewest)
    kept, states = _cut_to(found.nodes, nodes, settings.node_hours)
    if not states and found.budget_s == settings.budget_s:
        return settings, hosts, kept, ""
    fewer = f"{f'{len(kept)} of ' if states else ''}{count(len(nodes if states else kept), 'node')} {verb(len(kept))}"
    cost = node_hours_of(len(kept), found.budget_s)
    said = (
        f"To stay within --node-hours {settings.node_hours:g}, {fewer} measured, for {found.budget_s:.0f} s of "
        f"{settings.budget_s:.0f}: at most {cost:.2f} node-hours."
    )
    return (
        msgspec.structs.replace(settings, budget_s=found.budget_s),
        msgspec.structs.replace(hosts, nodes=kept, left_out=(*hosts.left_out, *states)),
        kept,
        said,
    )


def fewer_nodes(
    node_hours: float, nodes: Sequence[str], limit_minutes: int, *, fewest: int = 1
) -> tuple[tuple[str, ...], tuple[NodeState, ...]]:
    """The first nodes that can be allocated for this time each within the node-hours, and the nodes left out.

    No node-hours: all. Raises UsageError where not even the `fewest` fit.
    """
    if not node_hours:
        return tuple(nodes), ()
    least = fewest * limit_minutes / 60
    if node_hours < least:
        raise _too_little(node_hours, fewest, "", limit_minutes, least)
    return _cut_to(int(node_hours * 60 / limit_minutes + 1e-9), nodes, node_hours)


def _cut_to(fitting: int, nodes: Sequence[str], node_hours: float) -> tuple[tuple[str, ...], tuple[NodeState, ...]]:
    why = f"left out to stay within --node-hours {node_hours:g}"
    states = (NodeState(node=node, reason=why, fault=False, cause=NodeCause.NODE_HOURS) for node in nodes[fitting:])
    return tuple(nodes[:fitting]), tuple(states)


def _too_little(node_hours: float, fewest: int, purpose: str, limit_minutes: int, least: float) -> UsageError:
    return UsageError(
        f"--node-hours {node_hours:g} is too little: {count(fewest, 'node')}{purpose} {verb(fewest)} asked for "
        f"with a time limit of {count(limit_minutes, 'minute')}.",
        f"Give at least {math.ceil(100 * least - 1e-9) / 100:g}.",
    )
