"""The ranks of a run by node, and what is remarked of them without being a fault."""

from collections.abc import Mapping, Sequence

from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import ProbeStart, RankPlace
from seatrial.model.run import RecordedRun
from seatrial.node.rank_places import (
    Adapters,
    Distance,
    adapters_of,
    cores_of,
    distance,
    known_cores,
    rank_names,
    usable_cores,
)
from seatrial.rules.base import named
from seatrial.rules.ranks import loose_ranks

Ranks = Mapping[str, tuple[RankPlace, ...]]


def by_node(ranks: Sequence[RankPlace]) -> dict[str, tuple[RankPlace, ...]]:
    """Node -> its ranks in order; those whose mask is not known are left out."""
    found: dict[str, tuple[RankPlace, ...]] = {}
    for rank in ranks:
        if rank.cpus:
            found[rank.node] = (*found.get(rank.node, ()), rank)
    return found


def first_ranks(recorded: RecordedRun) -> dict[str, tuple[RankPlace, ...]]:
    """Node -> ranks of the run's first launch, which had all its nodes."""
    return by_node(recorded.starts[0].ranks) if recorded.starts else {}


def of_variant(starts: Sequence[ProbeStart], variant: str) -> list[dict[str, tuple[RankPlace, ...]]]:
    """Node -> ranks of every launch under one setting."""
    return [by_node(start.ranks) for start in starts if start.variant == variant]


def wandering_notes(facts: Mapping[str, NodeFacts], ranks: Ranks) -> list[str]:
    """A lone rank of a node that may run on several sockets disturbs nobody, but its numbers may be of two kinds."""
    nodes = []
    for node, there in ranks.items():
        known = facts.get(node)
        cores = known_cores(known, there)
        sockets = {cores[one].package for rank in there for one in cores_of(cores, rank.cpus)}
        if known and len(there) == 1 and len(sockets) > 1 and loose_ranks(there, cores, usable_cores(known, there)):
            nodes.append(node)
    if not nodes:
        return []
    return [
        f"The rank of {named(nodes)} was not bound and may have run on any socket, near the adapter or far from it."
    ]


def crossing_notes(facts: Mapping[str, NodeFacts], ranks: Ranks) -> list[str]:
    """Ranks whose way to the adapter crosses the link between the sockets."""
    nodes: list[str] = []
    said = ""
    for node, there in ranks.items():
        known = facts.get(node)
        cores = known_cores(known, there)
        adapters = adapters_of(known) if known else Adapters()
        far = [
            rank
            for rank in there
            if any(distance(cores[one], adapters) is Distance.OTHER for one in cores_of(cores, rank.cpus))
        ]
        if far:
            to = ", ".join(adapters.numa_nodes)
            said = said or f"Messages of {rank_names(far)} on {node} may cross the link between sockets to {to}"
            nodes.append(node)
    if not nodes:
        return []
    return [f"{said}." if len(nodes) == 1 else f"{said}; those of ranks on {named(nodes[1:])}, too."]
