"""A node's ranks, a place for each core; the size of the arrays that try its memory; and the order of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import node_of

Part = TypeVar("Part")
ARRAY_PER_CACHE = 4
"""STREAM's rule: each array has at least four times the bytes of all last-level caches."""
LEAST_ARRAY_BYTES = 8 << 20
MOST_ARRAY_BYTES = 256 << 20
"""Array of one rank. More takes longer than a quick trial may."""
MEMORY_SHARE = 0.25
"""Largest share of the node's memory for three arrays on each of its ranks."""
UNKNOWN_CACHE_BYTES = 64 << 20
LINE_BYTES = 64
ODD_LINES = 17
"""Added, so that arrays do not begin at the same place in their pages."""


class NodePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of one node that measure, one on each core."""

    node: str
    cores: tuple[str, ...]
    """Places; the first one is tried alone, too."""
    numa: tuple[tuple[str, ...], ...] = ()
    """Places by NUMA node; empty if there is only one, or it is unknown."""
    left_out: int = 0
    """Ranks that share a core with another one."""
    node_array_bytes: int
    """Array of each rank while all measure."""
    core_array_bytes: int
    """Array of the first rank while it measures alone."""


def ranks_needed(facts: Mapping[str, NodeFacts]) -> int:
    """How many ranks to start on each node: one for each core of the smallest one; 1 where that is unknown.

    Where SMT siblings have neighbouring numbers, as many as logical processors: a rank gets the first free one.
    """
    counts = []
    for node_facts in facts.values():
        cores = node_facts.topology.cores
        firsts = sorted(core.processors[0] for core in cores if core.processors)
        adjacent = bool(firsts) and firsts != list(range(len(firsts)))
        processors = node_facts.processors
        counts.append((adjacent and processors) or node_facts.cores or len(cores) or processors or 1)
    return min(counts, default=1)


def places_of(
    places: Sequence[str], records: Sequence[Mapping[str, Any]], facts: Mapping[str, NodeFacts]
) -> tuple[NodePlaces, ...]:
    """The ranks of each node. `places`, `records`: by rank, as a session has them; `facts`: by node or place."""
    by_node: dict[str, list[tuple[str, int]]] = {}
    for rank, place in enumerate(places):
        own_cpu = records[rank].get("own_cpu") if rank < len(records) else None
        by_node.setdefault(node_of(place), []).append((place, own_cpu if isinstance(own_cpu, int) else -1))
    return tuple(_node(name, ranks, facts.get(name) or facts.get(ranks[0][0])) for name, ranks in by_node.items())


def _node(name: str, ranks: Sequence[tuple[str, int]], facts: NodeFacts | None) -> NodePlaces:
    cores = facts.topology.cores if facts else ()
    core_of = {cpu: number for number, core in enumerate(cores) for cpu in core.processors}
    numa_of = {cpu: core.numa_node for core in cores for cpu in core.processors}
    chosen: dict[object, tuple[str, int]] = {}
    for place, cpu in ranks:
        key = core_of.get(cpu, f"processor {cpu}") if cpu >= 0 else place
        chosen.setdefault(key, (place, cpu))
    numa: dict[int | None, list[str]] = {}
    for place, cpu in chosen.values():
        numa.setdefault(numa_of.get(cpu), []).append(place)
    parted = len(numa) > 1 and None not in numa
    return NodePlaces(
        node=name,
        cores=tuple(place for place, _ in chosen.values()),
        numa=tuple(tuple(numa[number]) for number in sorted(numa, key=lambda one: one or 0)) if parted else (),
        left_out=len(ranks) - len(chosen),
        node_array_bytes=array_bytes(facts, len(chosen)),
        core_array_bytes=array_bytes(facts, 1),
    )


def array_bytes(facts: NodeFacts | None, ranks: int) -> int:
    """Bytes of one array of each of the ranks: together four times the last-level caches, within the node's memory."""
    caches = [cache for cache in facts.topology.caches if cache.size_bytes] if facts else []
    last = max((cache.level for cache in caches), default=0)
    sizes = [(cache.size_bytes or 0, cache.count if ranks > 1 else 1) for cache in caches if cache.level == last]
    cache_bytes = sum(size * count for size, count in sizes) or UNKNOWN_CACHE_BYTES
    most = MOST_ARRAY_BYTES
    if facts and facts.memory_bytes:
        most = min(most, int(MEMORY_SHARE * facts.memory_bytes / (3 * ranks)))
    wanted = min(max(ARRAY_PER_CACHE * cache_bytes // ranks, LEAST_ARRAY_BYTES), most)
    return max(wanted // LINE_BYTES, 1) * LINE_BYTES + ODD_LINES * LINE_BYTES


def in_turn(parts: Sequence[Part], repetition: int) -> list[Part]:
    """Nodes, or groups of them, in the order of this repetition, from 0: none is always last, or after the same one.

    What comes last may be slower for no reason of its own: writes of the first nodes fill the memory that holds them
    until the disk has them, and the last node waits for it. Each two repetitions begin at a place far from those before
    (van der Corput's sequence), forwards and backwards: after a few, each has been at every place about equally often.
    """
    first = int(_van_der_corput(repetition // 2) * len(parts))
    order = [*parts[first:], *parts[:first]]
    return order[::-1] if repetition % 2 else order


def _van_der_corput(number: int) -> float:
    """0, 1/2, 1/4, 3/4, 1/8, 5/8, ...: the binary digits of the number, mirrored at the point."""
    value, place = 0.0, 0.5
    while number:
        value += place * (number % 2)
        number, place = number // 2, place / 2
    return value
