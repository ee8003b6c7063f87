"""Facts that separate slow nodes from good ones of the same run, and what they prove in plain words.

Facts that the same nodes have are one suspect: these nodes cannot separate them. Fisher's exact test says how often as
many of the slow nodes would be among nodes drawn at random. Suspects that no outcome could have proved are not counted
as tests (Tarone, Biometrics 46, 1990), since that follows from how many nodes there are and not from which are slow.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from seatrial.drift.changes import was_unread
from seatrial.drift.comparison import Holders, Value, majority, unlike
from seatrial.drift.expected_differences import excused_between_nodes
from seatrial.drift.fact_words import NOT_THERE, THERE, fact_name, value_text
from seatrial.drift.severity import REST, known_cost, weight
from seatrial.judgement.wording import sentence
from seatrial.model.facts import NodeFacts
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some
from seatrial.statistics.estimates import CONFIDENCE
from seatrial.statistics.strata import adjusted, count_tail, rank_sum_test

NO_CAUSE = ("node", "boot_id", "complete")
"""Facts that say that something may have changed, and not what."""


def heaviest_first(weights: Mapping[str, int]) -> list[str]:
    """Facts of one group by their weights, in the order in which they are named: the greatest known cost first."""
    return sorted(weights, key=lambda fact: (fact in NO_CAUSE, -weights[fact], fact))


def cost_of(fact: str) -> tuple[int, str]:
    """The weight of a fact, and how it can change performance; `REST` and nothing if it cannot be a cause itself."""
    return (REST, "") if fact in NO_CAUSE else known_cost(fact)


def by_rank(nodes: Iterable[str], losses: Mapping[str, float]) -> float | None:
    """Probability that nodes drawn at random lost as much: the exact permutation test on ranks (`rank_sum`).

    Nodes of equal loss get their mean rank. None where the losses of all nodes, or of none of them, are known.
    """
    names = sorted(losses)
    touched = np.isin(names, list(nodes))
    if not touched.any() or touched.all():
        return None
    lost = np.array([losses[name] for name in names])
    return rank_sum_test(lost[touched], lost[~touched])


def by_count(nodes: Set[str], slow: Set[str], everyone: Set[str]) -> float:
    """Probability that as many of the slow nodes are among as many nodes drawn at random: Fisher's exact test."""
    having = nodes & everyone
    return count_tail(len(having & slow), len(slow), len(having), len(everyone))


def adjusted_known(p_values: Sequence[float | None]) -> list[float | None]:
    """The known ones, adjusted for their number (`rank_sum.adjusted`); the others stay unknown."""
    shares = adjusted(np.array([np.nan if each is None else each for each in p_values]))
    return [None if each is None else float(share) for each, share in zip(p_values, shares, strict=True)]


ERROR_RATE = 1 - CONFIDENCE
"""Share of false ones among the suspects that are called proved; with no true one, the chance to name any."""
LEAST_WEIGHT = 20
"""Facts of less weight have no known effect on speed; they are named only where the nodes prove an association."""
MOST_FACTS, MOST_SUSPECTS = 20, 3
FEWEST_SLOW = 2
"""A single slow node differs from its peers in whatever it alone has."""


class PeerFact(Struct, frozen=True, kw_only=True):
    """A fact of some nodes, and the value that most nodes have."""

    fact: str
    value: Value
    usual: Value
    """None: most nodes do not have the fact, or no value has a majority."""


Groups = Mapping[tuple[str, ...], Sequence[PeerFact]]
"""Facts by the nodes that have them."""


class PeerSuspect(Struct, frozen=True, kw_only=True):
    """Facts that the same nodes have; the one with the greatest known cost is named first."""

    facts: tuple[PeerFact, ...]
    nodes: tuple[str, ...]
    """The compared nodes that have them."""
    of: int
    """Nodes that were compared."""
    slow: tuple[str, ...]
    """The slow ones among `nodes`."""
    all_slow: int
    weight: int
    mechanism: str
    p_value: float
    adjusted_p: float | None
    """The p-value adjusted for all suspects that could have been proved; None: these nodes could not prove this one."""

    @property
    def proved(self) -> bool:
        """Whether the association is more than chance. A single slow node proves nothing."""
        return self.adjusted_p is not None and self.adjusted_p <= ERROR_RATE and len(self.slow) >= FEWEST_SLOW


def find_peer_suspects(facts: Mapping[str, NodeFacts], slow: Set[str], compared: Set[str]) -> tuple[PeerSuspect, ...]:
    """Suspects that at least one slow node has, proved ones first, then by known mechanism.

    `compared`: the slow nodes, and those that are known to be good. Nodes without facts are left out.
    """
    everyone = {name: facts[name] for name in compared if name in facts}
    slow = slow & everyone.keys()
    if not slow or len(slow) == len(everyone):
        return ()
    return rank_groups(fact_groups(everyone), slow, everyone.keys())


def fact_groups(facts: Mapping[str, NodeFacts]) -> Groups:
    """The facts in which nodes differ, by the nodes that have another value than most."""
    groups: defaultdict[tuple[str, ...], list[PeerFact]] = defaultdict(list)
    for fact, holders in unlike(facts, excused_between_nodes):
        for nodes, held in _held(fact, holders, facts):
            groups[nodes].append(held)
    return groups


def rank_groups(groups: Groups, slow: Set[str], everyone: Set[str]) -> tuple[PeerSuspect, ...]:
    """Groups that at least one slow node has, as suspects. `slow`: a part of `everyone`, whose facts these are."""
    suspects = [_suspect(nodes, held, slow, everyone) for nodes, held in groups.items()]
    shares = adjusted_known([each.p_value if _testable(each, slow, everyone) else None for each in suspects])
    judged = [replace(each, adjusted_p=share) for each, share in zip(suspects, shares, strict=True)]
    named = [each for each in judged if each.slow]
    return tuple(
        sorted(named, key=lambda at: (not at.proved, at.weight <= REST, at.p_value, -at.weight, at.facts[0].fact))
    )


def _held(fact: str, holders: Holders, everyone: Mapping[str, NodeFacts]) -> Iterator[tuple[tuple[str, ...], PeerFact]]:
    """Each value that no majority has, with its nodes; and all of them together, where there are several."""
    usual_nodes = majority(holders)
    usual = next((value for value, nodes in holders if nodes == usual_nodes), None)
    odd: list[str] = []
    for value, nodes in holders:
        if nodes == usual_nodes:
            continue
        readable = nodes if value is not None else tuple(name for name in nodes if not was_unread(fact, everyone[name]))
        odd += readable
        if readable:
            yield readable, PeerFact(fact=fact, value=value, usual=usual)
    if usual_nodes and len(holders) > 2 and odd:
        values = [value_text(fact, value) for value, nodes in holders if nodes != usual_nodes]
        yield tuple(sorted(odd)), PeerFact(fact=fact, value=some(values), usual=usual)


def _suspect(nodes: tuple[str, ...], held: Sequence[PeerFact], slow: Set[str], everyone: Set[str]) -> PeerSuspect:
    fact_of = {each.fact: each for each in held}
    ordered = [fact_of[fact] for fact in heaviest_first({fact: weight(fact) for fact in fact_of})]
    leading, mechanism = cost_of(ordered[0].fact)
    return PeerSuspect(
        facts=tuple(ordered[:MOST_FACTS]),
        nodes=tuple(natural_sorted(nodes)),
        of=len(everyone),
        slow=tuple(natural_sorted(slow & set(nodes))),
        all_slow=len(slow),
        weight=leading,
        mechanism=mechanism,
        p_value=by_count(set(nodes), slow, everyone),
        adjusted_p=None,
    )


def _testable(suspect: PeerSuspect, slow: Set[str], everyone: Set[str]) -> bool:
    """Whether `by_count` can be below the error rate for these numbers of nodes, wherever the slow ones are."""
    enough, having = min(len(slow), len(suspect.nodes)) >= FEWEST_SLOW, len(everyone & {*suspect.nodes})
    return enough and count_tail(min(having, len(slow)), len(slow), having, len(everyone)) <= ERROR_RATE


def with_suspects(
    findings: Sequence[Finding], compared: Set[str], facts: Mapping[str, NodeFacts], otherwise: str = ""
) -> tuple[Finding, ...]:
    """Findings on nodes, each with a sentence on the facts that slow nodes have and good ones do not.

    Nodes of one kind of finding are compared with the nodes of `compared` that no finding names. `otherwise`: the
    sentence for a node with facts that has no suspect.
    """
    slow_of: defaultdict[FindingKind, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.subject.kind is SubjectKind.NODE and not finding.ambiguous_with:
            slow_of[finding.kind].add(finding.subject.name)
    good = compared - {finding.subject.name for finding in findings}
    suspects = {kind: find_peer_suspects(facts, slow, good | slow) for kind, slow in slow_of.items()}
    explained = []
    for finding in findings:
        name = finding.subject.name
        text = ""
        if name in slow_of.get(finding.kind, ()) and name in facts:
            text = suspects_text(suspects[finding.kind], name) or otherwise
        explained.append(replace(finding, statement=f"{finding.statement} {text}") if text else finding)
    return tuple(explained)


def suspects_text(suspects: Sequence[PeerSuspect], name: str = "") -> str:
    """Sentences on the suspects that `name` has, or on all: what is proved, else in what the slow nodes differ.

    `n3 and n7, and no other of 60 nodes, have frequency governor powersave (usually performance; p = 0.0006).`
    """
    chosen = [each for each in suspects if name in each.nodes or not name]
    proved = [each for each in chosen if each.proved][:MOST_SUSPECTS]
    if proved:
        effects = (sentence(one.mechanism) if one.mechanism else "No effect of it on speed is known" for one in proved)
        return " ".join(f"{_who(one)} {_what(one, p_value=True)}. {e}." for one, e in zip(proved, effects, strict=True))
    # only what slow nodes have more often than the others do
    telling = [each for each in chosen if len(each.slow) * each.of > len(each.nodes) * each.all_slow]
    open_ones = [each for each in telling if each.weight >= LEAST_WEIGHT][:MOST_SUSPECTS]
    if not open_ones:
        return ""
    how_many = "One slow node" if open_ones[0].all_slow == 1 else f"{open_ones[0].all_slow} slow nodes"
    sentences = [f"{_who(each)} {_what(each)}." for each in open_ones]
    return f"{' '.join(sentences)} {how_many} of {open_ones[0].of} cannot prove that this is the cause."


def brief_separation(suspect: PeerSuspect) -> str:
    """`both have MTU of eth0 9000 B`: the fact alone, for a first line that names the slow nodes."""
    slow, named = len(suspect.slow), suspect.facts[0]
    if len(suspect.nodes) == slow == suspect.all_slow:
        who = "both" if slow == 2 else f"all {slow}"
    else:
        who = f"{slow} of {suspect.all_slow}"
    return f"{who} have {fact_name(named.fact)} {_value(named)}"


def _who(suspect: PeerSuspect) -> str:
    """`n3 and n7, and no other of 60 nodes,` or `3 of the 4 slow nodes and 1 other of 60 have`."""
    verb = "has" if len(suspect.nodes) == 1 else "have"
    others = len(suspect.nodes) - len(suspect.slow)
    missing = suspect.all_slow - len(suspect.slow)
    names = _names(suspect.slow)
    if not others and not missing:
        return f"{names}, and no other of {count(suspect.of, 'node')}, {verb}"
    who = f"{len(suspect.slow)} of the {suspect.all_slow} slow nodes ({names})" if missing else names
    more = f"{count(others, 'node')} that {'is' if others == 1 else 'are'} not slow" if others else "no other node"
    return f"{who} and {more} {verb}" if others else f"{who}, and {more}, {verb}"


def _names(nodes: Sequence[str]) -> str:
    if len(nodes) > MOST_NAMED:
        return some(nodes)
    return " and ".join(filter(None, (", ".join(nodes[:-1]), nodes[-1])))


def _what(suspect: PeerSuspect, *, p_value: bool = False) -> str:
    named = suspect.facts[0]
    value, usual = _value(named), ""
    if named.usual is not None and value != NOT_THERE:
        usual = f"usually {value_text(named.fact, named.usual)}"
    chance = f"p = {suspect.adjusted_p:.1g}" if p_value and suspect.adjusted_p is not None else ""
    text = f"{fact_name(named.fact)} {value}"
    text += f" ({'; '.join(filter(None, (usual, chance)))})" if usual or chance else ""
    others = [fact_name(each.fact) for each in suspect.facts[1:]]
    return f"{text}, and differ together with it in {some(others)}" if others else text


def _value(named: PeerFact) -> str:
    """The value that the suspected nodes have, in words."""
    if named.usual is True and named.value is None:
        return NOT_THERE
    return THERE if named.value is True and named.usual is None else value_text(named.fact, named.value)
