"""How many nodes and ranks a benchmark runs on, and what its plan is made from."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import Launch, completed
from seatrial.drift.peer_groups import one_kernel
from seatrial.driver.node_selection import grouped
from seatrial.judgement.benchmark_result import peak_of
from seatrial.launch.contract import Hosts
from seatrial.model.benchmark import BenchmarkRequest
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import node_of
from seatrial.model.settings import RunSettings, SiteSettings
from seatrial.model.words import count, verb

LAST_LEVEL = 3


def site_of(settings: RunSettings, launch: Launch) -> SiteSettings:
    """The settings of the site; the local launcher gets as many places as ranks are wanted."""
    cores = len(os.sched_getaffinity(0))
    ranks = settings.ranks or launch.nodes * (launch.ranks_per_node or cores)
    return msgspec.structs.replace(settings.site, ranks=max(ranks, 1))


def chosen_nodes(settings: RunSettings, launch: Launch, hosts: Hosts) -> tuple[str, ...]:
    """The named nodes, or as many as requested or declared, the first ones. Places of one machine are all taken.

    Raises SeatrialError where there are too few, UsageError where the ranks cannot be divided among them.
    """
    if by_places(hosts.nodes):
        return hosts.nodes
    wanted = settings.node_count or len(settings.site.nodes) or launch.nodes
    if len(hosts.nodes) < wanted:
        why = grouped(hosts.left_out)
        raise SeatrialError(
            f"{count(wanted, 'node')} {verb(wanted)} needed, and {len(hosts.nodes)} can be used"
            f"{f' ({why})' if why else ''}.",
            "Name others with --nodes, or give a smaller --node-count.",
        )
    if settings.ranks % wanted:
        raise UsageError(
            f"--ranks {settings.ranks} cannot be divided equally among {count(wanted, 'node')}.",
            f"Give a multiple of {wanted}, or another --node-count.",
        )
    return hosts.nodes[:wanted]


def by_places(nodes: Sequence[str]) -> bool:
    """Whether what the launcher calls nodes are places of one machine."""
    return bool(nodes) and all(node_of(name) != name for name in nodes)


def ranks_per_node(settings: RunSettings, launch: Launch, nodes: Sequence[str], facts: Mapping[str, NodeFacts]) -> int:
    """How many ranks each node gets."""
    if by_places(nodes):
        return len(nodes)
    if settings.ranks:
        return settings.ranks // len(nodes)
    cores = [known.cores or 1 for known in facts.values()]
    return launch.ranks_per_node or min(cores, default=1)


def request_of(
    settings: RunSettings,
    launch: Launch,
    nodes: Sequence[str],
    facts: Mapping[str, NodeFacts],
    *,
    program: str,
    free_bytes: int,
    case: Mapping[str, str],
) -> BenchmarkRequest:
    """What the plan is made from. Raises UsageError for a parameter."""
    sharing = len(nodes) if not by_places(nodes) and len(nodes) > 1 and one_kernel(facts.values()) else 1
    memory = min((known.memory_bytes or 0 for known in facts.values()), default=0)
    return BenchmarkRequest(
        program=program,
        nodes=1 if by_places(nodes) else len(nodes),
        ranks_per_node=ranks_per_node(settings, launch, nodes, facts),
        memory_bytes=memory // sharing,
        budget_s=settings.site.budget_s,
        peak_flops_per_s=min((peak_of(known) for known in facts.values()), default=0.0),
        sharing=sharing,
        largest_nodes=settings.largest_nodes,
        cache_bytes=min((_last_level_bytes(known) for known in facts.values()), default=0),
        free_bytes=free_bytes,
        parameters=completed(settings.parameters, launch.parameters),
        case=dict(case),
    )


def _last_level_bytes(facts: NodeFacts) -> int:
    return sum((cache.size_bytes or 0) * cache.count for cache in facts.topology.caches if cache.level == LAST_LEVEL)
