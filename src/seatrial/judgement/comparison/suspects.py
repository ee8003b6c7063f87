"""Which facts changed between two sets of runs, and whether they explain what is slower."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

import msgspec

from seatrial.drift.changes import FactDrift, changes
from seatrial.drift.severity import REST
from seatrial.judgement.comparison.records import ChangedFact, Suspect
from seatrial.judgement.peer_suspects import adjusted_known, by_rank, cost_of, heaviest_first
from seatrial.model.facts import NodeFacts
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings

MOST_FACTS = 20
"""Facts of one group that are listed."""


def find_suspects(
    before: Mapping[str, NodeFacts],
    after: Mapping[str, NodeFacts],
    losses: Mapping[str, float],
    slower: Set[str],
    *,
    all_slower: bool,
) -> tuple[Suspect, ...]:
    """Groups of facts that changed, the most likely cause first.

    `losses`: by node, how much slower it became, on any rising scale; `slower`: nodes that are slower; `all_slower`:
    all of them together are. Order: groups that touch a slower node before others, then by the known cost of their
    facts, then by how well their nodes match the slower ones.
    """
    groups: dict[tuple[str, ...], list[FactDrift]] = defaultdict(list)
    for change in changes(before, after):
        groups[change.nodes].append(change)
    suspects = [_suspect(nodes, facts, losses, slower) for nodes, facts in groups.items()]
    shares = adjusted_known([each.p_value for each in suspects])
    suspects = [msgspec.structs.replace(each, adjusted_p=share) for each, share in zip(suspects, shares, strict=True)]
    return tuple(sorted(suspects, key=lambda each: _order(each, all_slower=all_slower)))


def _suspect(
    nodes: tuple[str, ...], facts: Sequence[FactDrift], losses: Mapping[str, float], slower: Set[str]
) -> Suspect:
    change_of = {each.fact: each for each in facts}
    ordered = [change_of[fact] for fact in heaviest_first({each.fact: each.weight for each in facts})]
    leading = ordered[0]
    weight, mechanism = cost_of(leading.fact)
    return Suspect(
        facts=tuple(ChangedFact(fact=each.fact, before=each.before, after=each.after) for each in ordered[:MOST_FACTS]),
        nodes=nodes,
        of=leading.of,
        weight=weight,
        mechanism=mechanism,
        slower_nodes=len(slower & set(nodes)),
        all_slower=len(slower),
        p_value=by_rank(nodes, losses),
        adjusted_p=None,
    )


def _order(suspect: Suspect, *, all_slower: bool) -> tuple[bool, bool, int, int, float, str]:
    everywhere = len(suspect.nodes) == suspect.of
    touches = suspect.slower_nodes > 0 or (all_slower and everywhere)
    missed = suspect.all_slower - suspect.slower_nodes + len(suspect.nodes) - suspect.slower_nodes
    chance = 1.0 if suspect.adjusted_p is None else suspect.adjusted_p
    return not touches, suspect.weight <= REST, -suspect.weight, missed, chance, suspect.facts[0].fact


def new_problems(before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> tuple[str, ...]:
    """What the rules find wrong with the facts afterwards, and not before: subject and statement."""
    old = {(finding.kind, finding.subject) for finding in fact_findings(Readings(facts=before))}
    return tuple(
        f"{finding.subject.text}  {finding.kind}: {finding.statement}"
        for finding in fact_findings(Readings(facts=after))
        if (finding.kind, finding.subject) not in old
    )
