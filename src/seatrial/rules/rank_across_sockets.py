"""rank-across-sockets: the cores that a rank has for itself lie on two sockets."""

from collections import Counter
from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.node.adapter_distance import usable_cores
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import cores_of, known_cores, rank_names
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Keep the cores of a rank on one socket: srun --distribution=block:block with --cpus-per-task, mpirun --map-by "
    "socket:PE=N. Its threads cross the link between the sockets for each other's data, and some of them for messages."
)


def look(readings: Readings) -> Iterator[Violation]:
    """A part of the node of one's own, on several sockets, where the job's cores would do for all ranks on one each."""
    for node, ranks in readings.ranks.items():
        cores = known_cores(readings.facts.get(node), ranks)
        has = Counter(cores[one].package for one in usable_cores(readings.facts.get(node), ranks))
        split = []
        for rank in ranks:
            mine = cores_of(cores, rank.cpus)
            packages = {cores[one].package for one in mine}
            room = sum(here // len(mine) for here in has.values()) if mine else 0
            shared = any(mine & cores_of(cores, other.cpus) for other in ranks if other is not rank)
            if None not in packages and len(packages) > 1 and room >= len(ranks) and not shared:
                split.append(rank)
        if split:
            masks = numbers(split[0].cpus)
            says = f"{rank_names(split)} may run on cores of several sockets ({rank_names(split[:1])}: {masks})"
            key = f"{len(split)} ranks lie across sockets"
            yield Violation(node=node, says=says, key=key, remedy=REMEDY)


RULE = Rule(kind=FindingKind.RANK_ACROSS_SOCKETS, title="a rank's cores on two sockets", look=look)
