"""Comparisons among nodes that should be alike."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import lt
from typing import TypeVar

import msgspec

from seatrial.drift.peer_groups import usual
from seatrial.model.facts import NodeFacts
from seatrial.model.run import PARTITION_WORD
from seatrial.rules.base import LONGEST_BRIEF, Look, Readings, Violation, named

Item = TypeVar("Item", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)
Worse = Callable[[Value, Value], bool]
"""Whether a value is worse than the majority's. None instead of a function: every difference counts."""
Grouping = Callable[[Readings], Iterable[Sequence[str]]]

MOST_COMPARED = 16
"""Distinct tables that a table is compared with before it counts as distinct itself."""

NUMBER = re.compile(r"[0-9]+")
MANY_PLACES = 3
"""Words that differ in a number alone, from which on they are places; hdr100 and hdr200 are two kinds of nodes."""

MOST_VALUES = 3
"""Values that a sentence lists before it counts the rest."""


def peer_groups(readings: Readings) -> Iterable[Sequence[str]]:
    """Nodes of the same model."""
    return readings.peers


def peers_with_same(read: Callable[[NodeFacts], Hashable]) -> Grouping:
    """Peers that also agree in another fact, such as the kernel, on which the compared one depends."""

    def groups(readings: Readings) -> list[list[str]]:
        divided: list[list[str]] = []
        for group in readings.peers:
            by_fact: dict[Hashable, list[str]] = {}
            for name in group:
                by_fact.setdefault(read(readings.facts[name]), []).append(name)
            divided += by_fact.values()
        return divided

    return groups


def designed_peers(readings: Readings) -> Iterable[Sequence[str]]:
    """Peers that should also have the same devices: the scheduler describes them by the same features.

    Some nodes of a model have another network or more memory by design, and sites name that by features; a head node
    is in none of the partitions of compute nodes. Without features all peers are in one group, and so are nodes of a
    kind that the site declares.
    """
    divided: list[list[str]] = []
    for group in readings.peers:
        if any(readings.facts[name].kind for name in group):
            divided.append([*group])
            continue
        words = {name: set(readings.features.get(name, ())) for name in group}
        places = _places(words.values())
        kinds = _partition_kinds(words)
        by_design: dict[Hashable, list[str]] = {}
        for name in group:
            plain = {word for word in words[name] if not word.startswith(PARTITION_WORD)} - places
            by_design.setdefault((frozenset(plain), kinds[name]), []).append(name)
        divided += by_design.values()
    return divided


def _places(features: Iterable[set[str]]) -> set[str]:
    """Words that only number nodes, as rack1, rack2, rack3: every node has one of a kind of which there are many."""
    described = list(features)
    kinds: dict[str, set[str]] = {}
    for word in set().union(*described):
        kinds.setdefault(NUMBER.sub("", word), set()).add(word)
    return {
        word
        for words in kinds.values()
        if len(words) >= MANY_PLACES and all(words & own for own in described)
        for word in words
    }


def _partition_kinds(features: Mapping[str, set[str]]) -> dict[str, int]:
    """Node -> number of its kind: nodes that share a partition, or share partitions with others that do, are of one."""
    partitions = {name: {word for word in words if word.startswith(PARTITION_WORD)} for name, words in features.items()}
    kinds: list[set[str]] = []
    for own in partitions.values():
        joined = own.union(*(kind for kind in kinds if kind & own))
        kinds = [kind for kind in kinds if not kind & own] + ([joined] if joined else [])
    return {
        name: next((number for number, kind in enumerate(kinds) if kind & own), -1) for name, own in partitions.items()
    }


def differs(
    what: str,
    read: Callable[[NodeFacts], Value | None],
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
    groups: Grouping = peer_groups,
) -> Look:
    """One fact compared with the peers'. None and "" are unknown: such a node neither votes nor differs."""

    def look(readings: Readings) -> Iterator[Violation]:
        for group in groups(readings):
            values = known((name, read(readings.facts[name])) for name in group)
            yield from compare_values(values, what, show=show, worse=worse)

    return look


def items_differ(
    read: Callable[[NodeFacts], Mapping[str, Value | None]],
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
    groups: Grouping = peer_groups,
    moving: bool = False,
) -> Look:
    """Every item of a table compared with the same item of the peers; an item that a node lacks is unknown there.

    `moving`: items are named after adapters, whose names may contain the slot: ibp97s0 in one is ibp161s0 in another.
    """

    def look(readings: Readings) -> Iterator[Violation]:
        for group in groups(readings):
            tables = {name: read(readings.facts[name]) for name in group}
            own = _own_names(tables) if moving else {}
            for name in dict.fromkeys(name for name, _ in own):
                tables[name] = {own.get((name, item), item): value for item, value in tables[name].items()}
            names = {(name, common): item for (name, item), common in own.items()}
            for violation in compare_tables(tables, show=show, worse=worse):
                yield _by_own_name(violation, names)

    return look


def _own_names(tables: Mapping[str, Mapping[str, object]]) -> dict[tuple[str, str], str]:
    """Node and item -> the item's name on most peers, where both have as many whose names differ in numbers alone."""
    shapes: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, table in tables.items():
        for item in table:
            of_node = shapes.setdefault(NUMBER.sub("", item), {})
            of_node[name] = (*of_node.get(name, ()), item)
    return {
        (name, item): common
        for of_node in shapes.values()
        if (most := usual(of_node))
        for name, items in of_node.items()
        if items != most and len(items) == len(most)
        for item, common in zip(items, most, strict=True)
    }


def _by_own_name(violation: Violation, names: Mapping[tuple[str, str], str]) -> Violation:
    """The violation in the words of its node."""
    for (name, common), item in names.items():
        if name == violation.node and violation.clause.startswith(f"{common} is "):
            words = (text.replace(common, item, 1) for text in (violation.clause, violation.brief))
            return msgspec.structs.replace(violation, **dict(zip(("clause", "brief"), words, strict=True)))
    return violation


def fewer_items(counts: Callable[[NodeFacts], Counter[str]], *, whole: Callable[[NodeFacts], bool]) -> Look:
    """Items of which nodes have fewer than their peers. `whole`: whether a node's facts list all that it has."""

    def look(readings: Readings) -> Iterator[Violation]:
        none = {item: 0 for facts in readings.facts.values() for item in counts(facts)}
        for group in designed_peers(readings):
            facts_of = {name: readings.facts[name] for name in group}
            tables = {name: {**none, **counts(facts)} if whole(facts) else {} for name, facts in facts_of.items()}
            yield from compare_tables(tables, worse=lt)

    return look


def peer_values(
    readings: Readings, read: Callable[[NodeFacts], Mapping[Item, Value]]
) -> Iterator[tuple[Item, dict[str, Value], Value | None]]:
    """Item, node -> its value, and the value of most nodes: every item of a table in each group of peers."""
    for group in readings.peers:
        tables = {node: read(readings.facts[node]) for node in group}
        for item in dict.fromkeys(item for table in tables.values() for item in table):
            values = {node: table[item] for node, table in tables.items() if item in table}
            yield item, values, usual(values)


def compare_tables(
    tables: Mapping[str, Mapping[str, Value | None]],
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
) -> Iterator[Violation]:
    """Node -> table, of one peer group: every item by itself."""
    kinds = distinct_tables(tables.values())
    for item in dict.fromkeys(item for table in kinds for item in table):
        if len({table.get(item) for table in kinds} - {None, ""}) < 2:
            continue
        values = known((name, table.get(item)) for name, table in tables.items())
        yield from compare_values(values, item, show=show, worse=worse)


def distinct_tables(tables: Iterable[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
    """Each table once: most nodes are alike, and what they share need not be compared node by node.

    With more than MOST_COMPARED distinct tables, some are repeated.
    """
    distinct: list[Mapping[str, Value]] = []
    for table in tables:
        if all(table != other for other in distinct[:MOST_COMPARED]):
            distinct.append(table)
    return distinct


def compare_values(
    values: Mapping[str, Value], what: str, *, show: Callable[[Value], str] = str, worse: Worse[Value] | None = None
) -> Iterator[Violation]:
    """Nodes whose value is worse than the majority's; without a majority one violation without a node.

    Of two nodes that differ nobody can say which is right; of three nodes, two are a majority.
    """
    distinct = set(values.values())
    if len(distinct) < 2:
        return
    most = usual(values)
    if most is None:
        if worse is None or any(worse(one, other) for one in distinct for other in distinct if one != other):
            common = Counter(values.values()).most_common(2)
            both = " and ".join(f"{show(value)} on {nodes}" for value, nodes in common)
            brief = _fitting(f"{what}: {both}", f"{what} differs")
            clause = split(values, what, show)
            yield Violation(node=None, clause=clause, key=what, details=tuple(values.items()), brief=brief)
        return
    for name, value in values.items():
        if value != most and (worse is None or worse(value, most)):
            clause = f"{what} is {show(value)}, where most of its peers have {show(most)}"
            shorter = _fitting(f"{what}: {show(value)}, most peers {show(most)}", f"{what}: {show(value)}")
            brief = "" if len(clause) <= LONGEST_BRIEF else shorter
            yield Violation(node=name, clause=clause, key=(what, value), details=most, brief=brief)


def _fitting(*texts: str) -> str:
    """The first that a headline has room for; empty if none is short enough."""
    return next((text for text in texts if len(text) <= LONGEST_BRIEF), "")


def split(values: Mapping[str, Value], what: str, show: Callable[[Value], str] = str) -> str:
    """The kernel is 6.1 on 2 nodes (n1, n2) and 6.8 on 2 (n3, n4)."""
    counts = Counter(values.values()).most_common()
    parts = []
    for place, (value, count) in enumerate(counts[:MOST_VALUES]):
        nodes = [name for name, own in values.items() if own == value]
        unit = (" node" if count == 1 else " nodes") if place == 0 else ""
        parts.append(f"{show(value)} on {count}{unit} ({named(nodes)})")
    rest = len(counts) - MOST_VALUES
    ending = f", and {rest} other values elsewhere" if rest > 0 else ""
    return f"{what} is {', '.join(parts[:-1])} and {parts[-1]}{ending}"


def known(values: Iterable[tuple[str, Value | None]]) -> dict[str, Value]:
    """Node -> value, without the nodes whose value is unknown."""
    return {name: value for name, value in values if value is not None and value != ""}
