"""Nodes laid side by side: each fact that is not the same on all of them, and who has which value."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

import msgspec

from seatrial.drift.expected_differences import tolerated_share
from seatrial.drift.flat_facts import Flat, Part, parts
from seatrial.drift.flat_fields import Scalar
from seatrial.model.facts import NodeFacts

Value = Scalar | None
"""None: the node did not tell, or has no such thing."""
Holders = tuple[tuple[Value, tuple[str, ...]], ...]
"""Each value and the nodes that have it: the rarest first, then by the nodes' names."""
Whole = Mapping[str, NodeFacts]

_ENCODER = msgspec.msgpack.Encoder()


def fingerprint(part: Part) -> object:
    """Equal for parts of one name only where the content is; what cannot be encoded equals only itself."""
    try:
        return _ENCODER.encode(part.content)
    except (ValueError, OverflowError, TypeError):  # lone surrogates, numbers beyond 64 bits
        return id(part.content)


def unlike(facts: Whole, excused: Callable[[str], bool]) -> Iterator[tuple[str, Holders]]:
    """The facts that differ, without those that `excused` names or that are within their tolerance.

    A piece of the facts that is the same on all nodes is never taken apart. A node whose stream broke off does not
    count where it tells nothing: that it broke off is a difference of its own.
    """
    pieces: defaultdict[str, dict[object, tuple[Part, list[str]]]] = defaultdict(dict)
    for node, known in sorted(facts.items()):
        for part in parts(known, steady=True):
            pieces[part.name].setdefault(fingerprint(part), (part, []))[1].append(node)
    broken = {node for node, known in facts.items() if not known.complete}
    for classes in pieces.values():
        flats = [(part.flat(steady=True), nodes) for part, nodes in classes.values()]
        without = facts.keys() - {node for _, nodes in flats for node in nodes}
        if without:
            flats.append(({}, sorted(without)))
        if len(flats) > 1:
            yield from _unlike_in_piece(flats, broken, excused)


def _unlike_in_piece(
    flats: Sequence[tuple[Flat, list[str]]], broken: set[str], excused: Callable[[str], bool]
) -> Iterator[tuple[str, Holders]]:
    for fact in dict.fromkeys(fact for flat, _ in flats for fact in flat if not excused(fact)):
        nodes_of: defaultdict[Value, list[str]] = defaultdict(list)
        for flat, nodes in flats:
            value = flat.get(fact)
            nodes_of[value].extend(nodes if value is not None else (node for node in nodes if node not in broken))
        share = tolerated_share(fact)
        told = holders((value, nodes) for value, nodes in (within(nodes_of, share) if share else nodes_of).items())
        if len(told) > 1:
            yield fact, told


def holders(nodes_of: Iterable[tuple[Value, Iterable[str]]]) -> Holders:
    """The rarest value first, then by the nodes' names; a value that no node has is left out."""
    named = ((value, tuple(sorted(nodes))) for value, nodes in nodes_of)
    return tuple(sorted(((value, nodes) for value, nodes in named if nodes), key=lambda each: (len(each[1]), each[1])))


def within(nodes_of: Mapping[Value, list[str]], share: float) -> dict[Value, list[str]]:
    """Numbers that lie within `share` of the least of their cluster are taken for the most frequent one of it."""
    numbers = sorted(value for value in nodes_of if _is_number(value))
    clusters: list[list[float]] = []
    for number in numbers:
        if clusters and number - clusters[-1][0] <= share * abs(clusters[-1][0]):
            clusters[-1].append(number)
        else:
            clusters.append([number])
    merged = {value: nodes for value, nodes in nodes_of.items() if not _is_number(value)}
    for cluster in clusters:
        most = max(cluster, key=lambda number: len(nodes_of[number]))
        merged[most] = [node for number in cluster for node in nodes_of[number]]
    return merged


def majority(told: Holders) -> tuple[str, ...]:
    """The nodes with the value that more than half of all have; empty where no value has such a majority."""
    everyone = sum(len(nodes) for _, nodes in told)
    return told[-1][1] if told and 2 * len(told[-1][1]) > everyone else ()


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
