"""A node as it is drawn: NUMA nodes, their cores and ranks; and the ranks as a table."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.placement.advice import Advice
from seatrial.model.facts import Core, NodeFacts
from seatrial.model.measurement import RankPlace
from seatrial.model.words import ranges
from seatrial.node.rank_places import (
    Adapters,
    adapters_of,
    cores_of,
    distance_of,
    known_cores,
    numa_nodes_of_gpus,
    usable_cores,
)


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
    adapters: tuple[str, ...] = ()
    """Adapters in the NUMA nodes of its cores."""
    gpus: tuple[str, ...] = ()
    """GPUs in the NUMA nodes of its cores."""


def rank_rows(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], advice: Advice | None
) -> list[RankRow]:
    """One for each rank, in their order."""
    rows = []
    for node, there in ranks.items():
        known = facts.get(node)
        cores = known_cores(known, there)
        adapters = adapters_of(known) if known else Adapters()
        gpus = numa_nodes_of_gpus(known) if known else {}
        for rank in there:
            mine = [cores[one] for one in cores_of(cores, rank.cpus)]
            rows.append(
                RankRow(
                    rank=rank.rank,
                    node=node,
                    cpu=rank.cpu,
                    cpus=ranges(rank.cpus),
                    cores=ranges(core.processors[0] for core in mine),
                    sockets=ranges(core.package for core in mine if core.package is not None),
                    numa_nodes=ranges(core.numa_node for core in mine if core.numa_node is not None),
                    distance=distance_of(cores, rank.cpus, adapters).value,
                    adapters=_near(adapters.numa_nodes, mine),
                    gpus=_near(gpus, mine),
                    advised=ranges(advice.cpus[rank.rank]) if advice else "",
                )
            )
    return sorted(rows, key=lambda row: row.rank)


def _near(places: Mapping[str, int], cores: Sequence[Core]) -> tuple[str, ...]:
    """Names of the devices in the NUMA nodes of these cores. `places`: name -> NUMA node."""
    own = {core.numa_node for core in cores}
    return tuple(name for name, numa_node in places.items() if numa_node in own)


class CoreCell(msgspec.Struct, frozen=True, kw_only=True):
    """A core by its first processor, the ranks on it now and as advised; `ours`: the job has it."""

    first: int
    ours: bool
    now: tuple[int, ...] = ()
    advised: tuple[int, ...] = ()

    @property
    def touched(self) -> bool:
        """Whether any rank is on it or should be."""
        return bool(self.now or self.advised)


class NumaBox(msgspec.Struct, frozen=True, kw_only=True):
    """The cores of one NUMA node of one socket, and the adapters attached to it. None: not known."""

    package: int | None
    numa_node: int | None
    adapters: tuple[str, ...]
    cores: tuple[CoreCell, ...]


class Loose(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks that may run on all of these cores (by their first processors), and so on each other's."""

    ranks: tuple[int, ...]
    cores: tuple[int, ...]


class NodePicture(msgspec.Struct, frozen=True, kw_only=True):
    """One drawing, with the ranks of the first of these nodes; those of the others lie alike."""

    nodes: tuple[str, ...]
    boxes: tuple[NumaBox, ...]
    loose: tuple[Loose, ...]
    advised: bool


def pictures(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], advice: Advice | None
) -> tuple[NodePicture, ...]:
    """One for all nodes whose ranks lie alike, counted from the first of each node, in the order of the nodes."""
    alike: dict[NodePicture, list[str]] = {}
    for node, there in ranks.items():
        counted = tuple(msgspec.structs.replace(rank, rank=number) for number, rank in enumerate(there))
        wanted = {number: advice.cpus[rank.rank] for number, rank in enumerate(there)} if advice else {}
        alike.setdefault(_picture((), facts.get(node), counted, wanted), []).append(node)
    drawn = []
    for nodes in alike.values():
        wanted = {rank.rank: advice.cpus[rank.rank] for rank in ranks[nodes[0]]} if advice else {}
        drawn.append(_picture(tuple(nodes), facts.get(nodes[0]), ranks[nodes[0]], wanted))
    return tuple(drawn)


def _picture(
    nodes: tuple[str, ...], facts: NodeFacts | None, ranks: Sequence[RankPlace], wanted: Mapping[int, tuple[int, ...]]
) -> NodePicture:
    cores = known_cores(facts, ranks)
    ours = usable_cores(facts, ranks)
    masks = {rank.rank: cores_of(cores, rank.cpus) for rank in ranks}
    holders: dict[int, list[int]] = {}
    for rank, mask in masks.items():
        for place in mask:
            holders.setdefault(place, []).append(rank)
    loose = {rank for rank, mask in masks.items() if len(mask) > 1 and any(len(holders[place]) > 1 for place in mask)}
    should = [(rank, place) for rank, cpus in wanted.items() for place in cores_of(cores, cpus)]
    adapters = adapters_of(facts) if facts else Adapters()
    boxes: dict[tuple[int | None, int | None], list[CoreCell]] = {}
    for place in sorted(range(len(cores)), key=lambda place: cores[place].processors):
        core = cores[place]
        cell = CoreCell(
            first=core.processors[0],
            ours=place in ours,
            now=tuple(rank for rank in holders.get(place, ()) if rank not in loose),
            advised=tuple(rank for rank, where in should if where == place),
        )
        boxes.setdefault((core.package, core.numa_node), []).append(cell)
    return NodePicture(
        nodes=nodes,
        boxes=tuple(
            NumaBox(
                package=package,
                numa_node=numa_node,
                adapters=tuple(name for name, at in adapters.numa_nodes.items() if at == numa_node),
                cores=tuple(cells),
            )
            for (package, numa_node), cells in sorted(boxes.items(), key=lambda box: box[1][0].first)
        ),
        loose=_together({rank: tuple(cores[place].processors[0] for place in masks[rank]) for rank in sorted(loose)}),
        advised=bool(wanted),
    )


def _together(loose: Mapping[int, tuple[int, ...]]) -> tuple[Loose, ...]:
    """Ranks that share a mask, grouped."""
    by_cores: dict[tuple[int, ...], list[int]] = {}
    for rank, cores in loose.items():
        by_cores.setdefault(tuple(sorted(cores)), []).append(rank)
    return tuple(Loose(ranks=tuple(ranks), cores=cores) for cores, ranks in by_cores.items())
