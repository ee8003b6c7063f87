"""Places of ranks: their affinity masks, and groups of ranks that have fewer cores than members."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import Core
from seatrial.model.measurement import LONGEST_S, RankPlace
from seatrial.node.processor_sets import listed, numbers

Cores = frozenset[int]


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks (their places in the sequence asked about) that have only these between them, fewer than they are."""

    members: tuple[int, ...]
    have: tuple[int, ...]


def known_cores(facts: NodeFacts | None, ranks: Iterable[RankPlace]) -> tuple[Core, ...]:
    """The node's cores. Where they are not known, or do not hold all masks, each processor counts as one."""
    cores = facts.topology.cores if facts else ()
    processors = {number for core in cores for number in core.processors}
    named = {number for rank in ranks for number in rank.cpus}
    if cores and named <= processors:
        return cores
    return tuple(Core(processors=(number,)) for number in sorted(named | processors))


def cores_of(cores: Sequence[Core], cpus: Iterable[int]) -> Cores:
    """The cores (by their place in `cores`) that have any of those processors."""
    wanted = set(cpus)
    return frozenset(place for place, core in enumerate(cores) if wanted.intersection(core.processors))


def crowds(wants: Sequence[Cores]) -> list[Crowd]:
    """Groups that have fewer things between them than they are members; none where each can have one of its own.

    `wants`: what each may have. By a maximum matching: members that are left over, and all whose thing they could
    take, and so on, have too few (Hall's theorem; König's proof gives the group). Empty wants are left out.
    """
    owner = greatest_matching(wants)
    matched = set(owner.values())
    groups: list[tuple[set[int], set[int]]] = []
    for member, things in enumerate(wants):
        if not things or member in matched:
            continue
        members, have = _reached(member, wants, owner)
        for other in [one for one in groups if one[1] & have]:
            members, have = members | other[0], have | other[1]
            groups.remove(other)
        groups.append((members, have))
    crowded = [Crowd(members=tuple(sorted(members)), have=tuple(sorted(have))) for members, have in groups]
    return sorted(crowded, key=lambda crowd: crowd.members)


def _reached(member: int, wants: Sequence[Cores], owner: Mapping[int, int]) -> tuple[set[int], set[int]]:
    members, have = {member}, set[int]()
    waiting = [member]
    while waiting:
        for thing in wants[waiting.pop()] - have:
            have.add(thing)
            holder = owner[thing]
            if holder not in members:
                members.add(holder)
                waiting.append(holder)
    return members, have


def greatest_matching(wants: Sequence[Cores]) -> dict[int, int]:
    """Thing -> the member that gets it, for as many members as can get one each.

    By augmenting paths, searched breadth first so that no depth of recursion is needed (Kuhn, 1955).
    """
    owner: dict[int, int] = {}
    for member in range(len(wants)):
        came_from: dict[int, int] = {}
        waiting, free = [member], None
        while waiting and free is None:
            asking = waiting.pop(0)
            for thing in sorted(wants[asking] - came_from.keys()):
                came_from[thing] = asking
                if thing not in owner:
                    free = thing
                    break
                waiting.append(owner[thing])
        taken = {holder: thing for thing, holder in owner.items()}
        while free is not None:
            holder = came_from[free]
            before = taken.get(holder)
            owner[free] = holder
            free = before
    return owner


def rank_names(ranks: Iterable[RankPlace]) -> str:
    """rank 3; ranks 0-3,8."""
    ids = [rank.rank for rank in ranks]
    return f"rank {ids[0]}" if len(ids) == 1 else f"ranks {numbers(ids)}"


def rank_places(
    places: Sequence[str], records: Sequence[Mapping[str, Any]], nodes: Iterable[str]
) -> tuple[RankPlace, ...]:
    """One rank for each record. `places`: by rank, what rounds call it; `nodes`: those whose facts are read.

    A place NODE:0 belongs to NODE, unless it is a node by itself (ranks of this machine). What is missing in a record,
    or has another form, is unknown.
    """
    node_set = set(nodes)
    found = []
    for rank, (place, record) in enumerate(zip(places, records, strict=False)):
        node = place if place in node_set else place.rpartition(":")[0] or place
        cpus, cpu, pid = record.get("cpus"), record.get("cpu"), record.get("pid")
        found.append(
            RankPlace(
                rank=rank,
                place=place,
                node=node,
                host=str(record.get("host", "")),
                cpus=(listed(cpus) if isinstance(cpus, str) else None) or (),
                cpu=cpu if isinstance(cpu, int) and cpu >= 0 else None,
                pid=pid if isinstance(pid, int) else None,
                clock_resolution_s=_seconds(record.get("clock_resolution_s")),
                clock_overhead_s=_seconds(record.get("clock_overhead_s")),
            )
        )
    return tuple(found)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LONGEST_S else None
