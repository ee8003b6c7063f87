"""threads-share-core: ranks start more threads than they may use processors."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from seatrial.model.facts import NodeFacts
from seatrial.model.placement import RankPlace
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count
from seatrial.node.processor_sets import numbers
from seatrial.node.rank_places import crowds, rank_names
from seatrial.rules.base import PLACEMENT_HINT, Readings, Rule, Violation, findings_of

REMEDY = (
    f"Give each rank as many cores as it has threads ({PLACEMENT_HINT}): srun -c N, mpirun --map-by slot:PE=N; or "
    "start fewer threads, or fewer ranks a node. Messages do not show it: compare the program's own times."
)


def threads_findings(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], threads: int | None
) -> list[Finding]:
    """`threads`: of one rank; None where that is not known. Nodes whose ranks have too few processors without any
    thread have another finding.
    """
    if not threads or threads < 2:
        return []
    node_facts = {node: facts.get(node) or NodeFacts(hostname=node, complete=False) for node in ranks}
    rule = Rule(kind=FindingKind.THREADS_SHARE_CORE, order=295, look=partial(_look, threads), remedy=REMEDY)
    return findings_of(rule, Readings(facts=node_facts, ranks=ranks, groups=(tuple(node_facts),)))


def _look(threads: int, readings: Readings) -> Iterator[Violation]:
    for node, ranks in readings.ranks.items():
        if crowds([frozenset(rank.cpus) for rank in ranks]):
            continue
        for members in _together(ranks):
            have = sorted({cpu for rank in members for cpu in rank.cpus})
            if len(have) >= threads * len(members):
                continue
            what = f"only {count(len(have), 'processor')} ({numbers(have)})" if have else "no processor"
            apart = "" if len(members) == 1 else " between them"
            many = f"{threads} threads" if len(members) == 1 else f"{threads} threads each"
            verb = "is" if len(members) == 1 else "are"
            clause = f"{rank_names(members)} {verb} to start {many} and may use {what}{apart}"
            details = (tuple(rank.rank for rank in members), tuple(have))
            yield Violation(node=node, clause=clause, key=(len(members), threads, len(have)), details=details)


def _together(ranks: Sequence[RankPlace]) -> list[list[RankPlace]]:
    """Ranks whose masks overlap, directly or through others; groups of one shape are reported as one."""
    groups: list[tuple[set[int], list[RankPlace]]] = []
    for rank in ranks:
        mine, members = set(rank.cpus), [rank]
        for other in [one for one in groups if one[0] & mine]:
            mine |= other[0]
            members = other[1] + members
            groups.remove(other)
        groups.append((mine, members))
    alike: dict[tuple[int, int], list[RankPlace]] = {}
    for mine, members in groups:
        alike.setdefault((len(mine), len(members)), []).extend(members)
    return [sorted(members, key=lambda rank: rank.rank) for members in alike.values()]
