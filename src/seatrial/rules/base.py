"""What a rule is, and how violations become findings: one per node, or one of the cluster if nearly all share it."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.drift.peer_groups import hardware_groups
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import RankPlace
from seatrial.model.subject import CLUSTER, Subject, node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count

SHARE_OF_ALL = 0.9
"""A violation on this share of the nodes is one finding of the cluster instead of one for each node."""

MOST_NAMED = 3
"""Nodes that a sentence names before it counts the rest."""

MOST_CLAUSES = 4
"""Violations of one node that a finding lists before it counts the rest."""

LONGEST_BRIEF = 70
"""Characters of a clause that a headline quotes; of a longer one it says what kind of finding it is."""

PLACEMENT_HINT = "`seatrial placement -- LAUNCH LINE` prints how"
"""Part of the remedies of rules about ranks; the command itself replaces it by its own advice."""


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """The input of all rules. `after`: the same nodes, read a second time."""

    facts: Mapping[str, NodeFacts]
    after: Mapping[str, NodeFacts] = {}
    features: Mapping[str, tuple[str, ...]] = {}
    """Node -> the features that the scheduler lists for it."""
    ranks: Mapping[str, tuple[RankPlace, ...]] = {}
    """Node -> the ranks that were launched on it, in order; ranks with an unknown mask are left out."""
    during: bool = False
    """Only what happened between the two readings, and nothing that was so before."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Peer groups: nodes of the same model. Empty: not yet computed."""

    @property
    def peers(self) -> tuple[tuple[str, ...], ...]:
        """Nodes that should be alike, group by group."""
        return self.groups or hardware_groups(self.facts)

    def read_twice(self) -> Iterable[tuple[str, NodeFacts, NodeFacts]]:
        """Node, first and second reading, if both are of the same boot: counters restart with each boot."""
        for name, before in self.facts.items():
            after = self.after.get(name)
            if after is not None and before.boot_id and before.boot_id == after.boot_id:
                yield name, before, after


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    node: str | None
    """None: the nodes differ, and no majority shows which of them is right."""
    clause: str
    """The observation with its numbers: a clause without a capital letter or a full stop."""
    key: Hashable
    """Violations of several nodes with the same key are the same problem."""
    details: Hashable = None
    """The values in the clause that may differ between violations with the same key."""
    remedy: str = ""
    """Empty: the remedy of the rule."""
    brief: str = ""
    """The observation in a few words for a headline; empty: the clause, where it is short."""


Look = Callable[[Readings], Iterable[Violation]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A known-bad fact. `look` finds its nodes. `knows`: whether a node reports the fact at all; None: all nodes do."""

    kind: FindingKind
    order: int
    """Position in reports: what is broken comes before what is slow, and that before what only differs."""
    look: Look
    remedy: str
    knows: Callable[[NodeFacts], bool] | None = None


def on_each_node(check: Callable[[str, NodeFacts], Iterable[Violation]]) -> Look:
    """A rule that judges each node by its own facts; `check` receives the node's name and facts."""

    def look(readings: Readings) -> Iterator[Violation]:
        for name, facts in readings.facts.items():
            yield from check(name, facts)

    return look


def one_place_per_host(readings: Readings) -> Readings:
    """Places of one host (same name, same boot) share one set of facts; the first place represents them."""
    hosts: dict[tuple[str, str], str] = {}
    for name, facts in readings.facts.items():
        hosts.setdefault((facts.hostname or name, facts.boot_id), name)
    ranks: dict[str, tuple[RankPlace, ...]] = {}
    for name, of_place in readings.ranks.items():
        facts_of_place = readings.facts.get(name)
        host = hosts[facts_of_place.hostname or name, facts_of_place.boot_id] if facts_of_place else name
        ranks[host] = (*ranks.get(host, ()), *of_place)
    of_hosts = {name: readings.facts[name] for name in hosts.values()}
    return msgspec.structs.replace(readings, facts=of_hosts, ranks=ranks, groups=hardware_groups(of_hosts))


def findings_of(rule: Rule, readings: Readings) -> list[Finding]:
    """The findings of one rule: the cluster first, then the nodes in the order of the readings."""
    violations = list(rule.look(readings))
    if not violations:
        return []
    by_key: dict[Hashable, dict[str, Violation]] = {}
    for violation in violations:
        if violation.node is not None:
            by_key.setdefault(violation.key, {}).setdefault(violation.node, violation)
    nodes_known = sum(map(rule.knows, readings.facts.values())) if rule.knows else len(readings.facts)
    everywhere = {key for key, by_node in by_key.items() if len(by_node) >= max(2, SHARE_OF_ALL * nodes_known)}
    findings = [_of_cluster(rule, by_key[key], nodes_known, readings) for key in by_key if key in everywhere]
    undecided = [violation for violation in violations if violation.node is None]
    if undecided:
        findings.append(_finding(rule, CLUSTER, f"The nodes differ: {_clauses(undecided)}", undecided))
    of_node: dict[str, list[Violation]] = {}
    for violation in violations:
        if violation.node is not None and violation.key not in everywhere:
            of_node.setdefault(violation.node, []).append(violation)
    for name in (name for name in readings.facts if name in of_node):
        findings.append(_finding(rule, node(name), f"Node {name}: {_clauses(of_node[name])}", of_node[name]))
    return findings


def _of_cluster(rule: Rule, by_node: Mapping[str, Violation], nodes_known: int, readings: Readings) -> Finding:
    nodes = list(by_node)
    who = f"All {count(len(nodes), 'node')}" if len(nodes) >= nodes_known else f"{len(nodes)} of {nodes_known} nodes"
    who += " that report it" if nodes_known < len(readings.facts) else ""
    first = by_node[nodes[0]]
    differ = any(violation.details != first.details for violation in by_node.values())
    clause = f"for example {nodes[0]}: {first.clause}" if differ else first.clause
    return _finding(rule, CLUSTER, f"{who} ({named(nodes)}): {clause}", [first])


def _finding(rule: Rule, subject: Subject, statement: str, violations: Sequence[Violation]) -> Finding:
    remedies = list(dict.fromkeys(violation.remedy or rule.remedy for violation in violations))[:MOST_CLAUSES]
    return Finding(
        kind=rule.kind,
        subject=subject,
        verdict=rule.kind.verdict,
        statement=f"{statement}.",
        remedy=" ".join(remedies),
        brief=violations[0].brief or (violations[0].clause if len(violations[0].clause) <= LONGEST_BRIEF else ""),
    )


def named(nodes: Sequence[str]) -> str:
    """n1, n2, n3 and 61 more."""
    rest = len(nodes) - MOST_NAMED
    if rest <= 1:
        return ", ".join(nodes)
    return f"{', '.join(nodes[:MOST_NAMED])} and {rest} more"


def _clauses(violations: Sequence[Violation]) -> str:
    """The first few clauses, each once, and the number of the rest."""
    distinct = list({(violation.key, violation.details): violation.clause for violation in violations}.values())
    rest = len(distinct) - MOST_CLAUSES
    return "; ".join(distinct[:MOST_CLAUSES]) + (f"; and {rest} more of this kind" if rest > 0 else "")
