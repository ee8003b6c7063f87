"""What a rule is, and how what it sees becomes findings: one for each node, or one for the cluster where all are so."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from seatrial.drift.peer_groups import hardware_groups
from seatrial.model.facts import NodeFacts
from seatrial.model.placement import RankPlace
from seatrial.model.subject import CLUSTER, Subject, node
from seatrial.model.verdict import Finding, FindingKind, Verdict

SHARE_OF_ALL = 0.9
"""Where so many of the nodes are alike in what is wrong, it is one thing of the cluster and no matter of each."""

MOST_NAMED = 3
"""Nodes that a sentence names before it counts the rest."""

MOST_TOLD = 4
"""Details of one node that a finding tells before it counts the rest."""

PLACEMENT_TELLS = "`seatrial placement -- LAUNCH LINE` prints how"
"""In remedies of rules about ranks; that command itself has a better one."""


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules look at. `after`: the same nodes read a second time."""

    facts: Mapping[str, NodeFacts]
    after: Mapping[str, NodeFacts] = {}
    features: Mapping[str, tuple[str, ...]] = {}
    """By node: the words that the scheduler has for it."""
    ranks: Mapping[str, tuple[RankPlace, ...]] = {}
    """By node: the ranks that were launched on it, in their order, as far as their masks are known."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Nodes of one make each; empty: not yet worked out."""

    @property
    def peers(self) -> tuple[tuple[str, ...], ...]:
        """Nodes that should be alike, group by group."""
        return self.groups or hardware_groups(self.facts)

    def read_twice(self) -> Iterable[tuple[str, NodeFacts, NodeFacts]]:
        """Node, first and second reading, where both are of one boot: counters begin anew with each."""
        for name, before in self.facts.items():
            after = self.after.get(name)
            if after is not None and before.boot_id and before.boot_id == after.boot_id:
                yield name, before, after


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    node: str | None
    """None: the nodes are at odds, and nobody can say which of them is right."""
    says: str
    """What is, with numbers: a clause without a capital letter or a full stop."""
    key: str
    """Violations with one key are one and the same thing on several nodes."""
    remedy: str


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A known-bad fact. `look`: who has it; `knows`: whether a node tells at all; None: all do."""

    kind: FindingKind
    title: str
    """A few words."""
    look: Callable[[Readings], Iterable[Violation]]
    knows: Callable[[NodeFacts], bool] | None = None


def one_place_per_host(readings: Readings) -> Readings:
    """Several places of one host (same name, same boot) have one set of facts: the first of them stands for all."""
    hosts: dict[tuple[str, str], str] = {}
    for name, known in readings.facts.items():
        hosts.setdefault((known.hostname or name, known.boot_id), name)
    facts = {name: readings.facts[name] for name in hosts.values()}
    ranks: dict[str, tuple[RankPlace, ...]] = {}
    for name, there in readings.ranks.items():
        told = readings.facts.get(name)
        stands = hosts[told.hostname or name, told.boot_id] if told else name
        ranks[stands] = (*ranks.get(stands, ()), *there)
    return msgspec.structs.replace(readings, facts=facts, ranks=ranks, groups=hardware_groups(facts))


def findings_of(rule: Rule, readings: Readings) -> list[Finding]:
    """What one rule finds: the cluster first, then the nodes in the order of the readings."""
    seen = list(rule.look(readings))
    if not seen:
        return []
    by_key: dict[str, dict[str, Violation]] = {}
    for one in seen:
        if one.node is not None:
            by_key.setdefault(one.key, {}).setdefault(one.node, one)
    known = sum(map(rule.knows, readings.facts.values())) if rule.knows else len(readings.facts)
    everywhere = {key for key, befallen in by_key.items() if len(befallen) >= max(2, SHARE_OF_ALL * known)}
    findings = [_of_all(rule, list(by_key[key].values()), known, readings) for key in by_key if key in everywhere]
    at_odds = [one for one in seen if one.node is None]
    if at_odds:
        findings.append(
            _finding(rule, CLUSTER, f"The nodes are at odds: {told([one.says for one in at_odds])}", at_odds)
        )
    by_node: dict[str, list[Violation]] = {}
    for one in seen:
        if one.node is not None and one.key not in everywhere:
            by_node.setdefault(one.node, []).append(one)
    for name in (name for name in readings.facts if name in by_node):
        clauses = told([one.says for one in by_node[name]])
        findings.append(_finding(rule, node(name), f"Node {name}: {clauses}", by_node[name]))
    return findings


def _of_all(rule: Rule, befallen: list[Violation], known: int, readings: Readings) -> Finding:
    nodes = [one.node for one in befallen if one.node is not None]
    who = f"All {len(nodes)} nodes" if len(nodes) >= known else f"{len(nodes)} of {known} nodes"
    who += " that tell it" if known < len(readings.facts) else ""
    clause = befallen[0].says
    if any(one.says != clause for one in befallen):
        clause = f"for one, {nodes[0]}: {clause}"
    return _finding(rule, CLUSTER, f"{who} ({named(nodes)}): {clause}", befallen[:1])


def _finding(rule: Rule, subject: Subject, statement: str, violations: Sequence[Violation]) -> Finding:
    remedies = list(dict.fromkeys(one.remedy for one in violations))[:MOST_TOLD]
    return Finding(
        kind=rule.kind,
        subject=subject,
        verdict=Verdict.MISCONFIGURED,
        statement=f"{statement}.",
        remedy=" ".join(remedies),
    )


def named(nodes: Sequence[str]) -> str:
    """n1, n2, n3 and 61 more."""
    rest = len(nodes) - MOST_NAMED
    if rest <= 1:
        return ", ".join(nodes)
    return f"{', '.join(nodes[:MOST_NAMED])} and {rest} more"


def told(clauses: Sequence[str]) -> str:
    """The first few clauses, each once, and the number of the rest."""
    distinct = list(dict.fromkeys(clauses))
    rest = len(distinct) - MOST_TOLD
    return "; ".join(distinct[:MOST_TOLD]) + (f"; and {rest} more of this kind" if rest > 0 else "")
