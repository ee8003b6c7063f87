"""smt-siblings-used: ranks share a core's two threads while whole cores are free."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.node.adapter_distance import usable_cores
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import cores_of, crowds, known_cores, rank_names
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Give each rank a core of its own: srun --hint=nomultithread, or mpirun --bind-to core. Two threads of one core "
    "share its units, caches and message rate."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Each has a processor of its own, but not a core; with more ranks than cores there is no other way."""
    for node, ranks in readings.ranks.items():
        cores = known_cores(readings.facts.get(node), ranks)
        processors = crowds([frozenset(rank.cpus) for rank in ranks])
        if processors or len(usable_cores(readings.facts.get(node), ranks)) < len(ranks):
            continue
        for crowd in crowds([cores_of(cores, rank.cpus) for rank in ranks]):
            members = [ranks[member] for member in crowd.members]
            threads = numbers(cpu for member in members for cpu in member.cpus)
            what = "one core" if len(crowd.have) == 1 else f"{len(crowd.have)} cores"
            have = f"the threads {threads} of {what} between them, while others are free"
            says = f"{rank_names(members)} have {have}"
            yield Violation(node=node, says=says, key=f"{len(members)} ranks have {have}", remedy=REMEDY)


RULE = Rule(kind=FindingKind.SMT_SIBLINGS_USED, title="SMT siblings in use while cores are free", look=look)
