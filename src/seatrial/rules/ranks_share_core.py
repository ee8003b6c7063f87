"""ranks-share-core: ranks are bound so that two of them must run on one processor."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import crowds, rank_names
from seatrial.rules.base import PLACEMENT_TELLS, Readings, Rule, Violation

REMEDY = (
    f"Give each rank a core of its own ({PLACEMENT_TELLS}), or start fewer ranks a node. "
    "While one of them runs, the other waits, and so do all that wait for it."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Whatever the scheduler does, so many ranks cannot each have one of these processors."""
    for node, ranks in readings.ranks.items():
        for crowd in crowds([frozenset(rank.cpus) for rank in ranks]):
            members = [ranks[member] for member in crowd.members]
            many = "processor" if len(crowd.have) == 1 else "processors"
            have = f"only {many} {numbers(crowd.have)} between them"
            says = f"{rank_names(members)} have {have}"
            yield Violation(node=node, says=says, key=f"{len(members)} ranks have {have}", remedy=REMEDY)


RULE = Rule(kind=FindingKind.RANKS_SHARE_CORE, title="ranks share a core", look=look)
