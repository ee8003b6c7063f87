"""ranks-unbound: several ranks of a node may run anywhere on it, and in each other's way."""

from collections.abc import Iterator

from seatrial.model.hardware import Core
from seatrial.model.placement import RankPlace
from seatrial.model.verdict import FindingKind
from seatrial.node.adapter_distance import usable_cores
from seatrial.node.rank_places import Cores, cores_of, known_cores, rank_names
from seatrial.rules.base import PLACEMENT_TELLS, Readings, Rule, Violation

REMEDY = (
    f"Bind each rank to a core: srun --cpu-bind=cores, mpirun --bind-to core ({PLACEMENT_TELLS}). "
    "Unbound ranks wander between cores and caches, and two may wait for one core while others idle."
)


def look(readings: Readings) -> Iterator[Violation]:
    """One rank alone may wander without disturbing another. With more ranks than cores another rule speaks."""
    for node, ranks in readings.ranks.items():
        known = readings.facts.get(node)
        cores, ours = known_cores(known, ranks), usable_cores(known, ranks)
        loose = loose_ranks(ranks, cores, ours)
        if len(loose) >= 2 and len(ranks) <= len(ours):
            may = f"each may run on any of {len(cores_of(cores, loose[0].cpus))} cores"
            says = f"{rank_names(loose)} are not bound: {may}"
            key = f"{len(loose)} ranks are not bound"
            yield Violation(node=node, says=says, key=key, remedy=REMEDY)


def loose_ranks(ranks: tuple[RankPlace, ...], cores: tuple[Core, ...], ours: Cores) -> list[RankPlace]:
    """Those whose mask is all that the job has of the node (`ours`), or several sockets, of more than one core."""
    loose = []
    for rank in ranks:
        mine = cores_of(cores, rank.cpus)
        if len(mine) < 2:
            continue
        whole = mine >= ours
        sockets = {cores[one].package for one in mine}
        if whole or len(sockets) > 1:
            loose.append(rank)
    return [
        rank
        for rank in loose
        if len(ranks) == 1 or any(set(rank.cpus) & set(other.cpus) for other in loose if other is not rank)
    ]


RULE = Rule(kind=FindingKind.RANKS_UNBOUND, title="ranks not bound", look=look)
