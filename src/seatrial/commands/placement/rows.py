"""Ranks as a table: where each may run, and where it should."""

from collections.abc import Mapping

import msgspec

from seatrial.commands.placement.advice import Advice
from seatrial.model.facts import NodeFacts
from seatrial.model.placement import RankPlace
from seatrial.node.adapter_distance import Adapters, adapters_of, distance_of
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import cores_of, known_cores


class RankRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rank. Sets of numbers as the kernel writes them; cores by their first processor; "" where not known."""

    rank: int
    node: str
    cpu: int | None
    cpus: str
    cores: str
    sockets: str
    numa_nodes: str
    distance: str
    advised: str


def rank_rows(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], advice: Advice | None
) -> list[RankRow]:
    """One for each rank, in their order."""
    rows = []
    for node, there in ranks.items():
        known = facts.get(node)
        cores = known_cores(known, there)
        adapters = adapters_of(known) if known else Adapters()
        for rank in there:
            mine = [cores[one] for one in cores_of(cores, rank.cpus)]
            rows.append(
                RankRow(
                    rank=rank.rank,
                    node=node,
                    cpu=rank.cpu,
                    cpus=numbers(rank.cpus),
                    cores=numbers(core.processors[0] for core in mine),
                    sockets=numbers(core.package for core in mine if core.package is not None),
                    numa_nodes=numbers(core.numa_node for core in mine if core.numa_node is not None),
                    distance=distance_of(cores, rank.cpus, adapters).value,
                    advised=numbers(advice.cpus[rank.rank]) if advice else "",
                )
            )
    return sorted(rows, key=lambda row: row.rank)
