"""memory-far-from-ranks: numactl gives ranks memory of NUMA nodes that none of their cores is on."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from seatrial.commands.placement.advice import Advice
from seatrial.launch.line_parser import LaunchLine
from seatrial.model.facts import NodeFacts
from seatrial.model.placement import RankPlace
from seatrial.model.verdict import Finding, FindingKind
from seatrial.node.processor_sets import Numbers, listed, numbers
from seatrial.node.rank_places import cores_of, known_cores, rank_names
from seatrial.rules.base import Readings, Rule, Violation, findings_of

OPTION = re.compile(r"(?:--(?:membind|preferred)|-[mp])(?:=?(\d[\d,-]*))?")
REMEDY = (
    "Let memory lie where the ranks run: numactl --localalloc, or no memory option at all, or their own NUMA node's "
    "number. Every access crosses the link between the nodes as it is."
)


def memory_nodes(line: LaunchLine, *, bound: bool = True) -> Numbers:
    """The NUMA nodes on which a numactl of the line lets memory lie, by their numbers; empty where it names none.

    Without `bound` one that binds to processors, too, does not count: the advised line leaves it out.
    """
    for wrapper in line.wrappers:
        words = wrapper.words
        if words[0].rpartition("/")[2] != "numactl" or (wrapper.binds and not bound):
            continue
        for word, following in zip(words[1:], (*words[2:], ""), strict=True):
            if found := OPTION.fullmatch(word):
                return listed(found[1] or following) or ()
    return ()


def memory_findings(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], line: LaunchLine
) -> list[Finding]:
    """Findings on ranks none of whose cores is on a node that their memory options name. Memory without processors
    (HBM, CXL) is chosen on purpose.
    """
    wanted = memory_nodes(line)
    known = {node: facts.get(node) or NodeFacts(hostname=node, complete=False) for node in ranks}
    rule = Rule(kind=FindingKind.MEMORY_FAR_FROM_RANKS, order=296, look=partial(_look, wanted), remedy=REMEDY)
    return findings_of(rule, Readings(facts=known, ranks=ranks, groups=(tuple(known),))) if wanted else []


def memory_notes(
    facts: Mapping[str, NodeFacts],
    ranks: Mapping[str, tuple[RankPlace, ...]],
    advice: Advice | None,
    line: LaunchLine,
    findings: Sequence[Finding],
) -> list[str]:
    """A warning where the advised cores are far from the memory of the line, which stays as it is."""
    wanted = memory_nodes(line, bound=False)
    if advice is None or not wanted or any(one.kind is FindingKind.MEMORY_FAR_FROM_RANKS for one in findings):
        return []
    for node, there in ranks.items():
        moved = tuple(RankPlace(rank=r.rank, place=r.place, node=node, cpus=advice.cpus[r.rank]) for r in there)
        if node in facts and _far(facts[node], moved, wanted):
            return [
                f"The line's numactl keeps memory on NUMA node {numbers(wanted)}, and advised cores are on another: "
                "leave that option out of it."
            ]
    return []


def _look(wanted: Numbers, readings: Readings) -> Iterator[Violation]:
    for node, ranks in readings.ranks.items():
        far = _far(readings.facts[node], ranks, wanted)
        if far:
            verb = "runs" if len(far) == 1 else "run"
            clause = (
                f"memory of {rank_names(far)}, which {verb} elsewhere, lies on NUMA node {numbers(wanted)} by numactl"
            )
            details = tuple(rank.rank for rank in far)
            yield Violation(node=node, clause=clause, key=(len(far), tuple(wanted)), details=details)


def _far(facts: NodeFacts, ranks: Sequence[RankPlace], wanted: Numbers) -> list[RankPlace]:
    """Ranks whose cores are all known to be on other NUMA nodes than these, all of which have processors."""
    cores = known_cores(facts, ranks)
    homes = {core.numa_node for core in cores}
    if None in homes or not homes.issuperset(wanted):
        return []
    return [rank for rank in ranks if {cores[one].numa_node for one in cores_of(cores, rank.cpus)}.isdisjoint(wanted)]
