"""Comparisons among nodes that should be alike."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from seatrial.drift.peer_groups import usual
from seatrial.model.facts import NodeFacts
from seatrial.rules.base import Readings, Violation, named

Value = TypeVar("Value", bound=Hashable)
Worse = Callable[[Value, Value], bool]
"""Whether a value is worse than the usual one; None in its place: any difference is one too many."""

MOST_COMPARED = 16
"""Tables that one is compared with before it is taken for another one."""

MOST_VALUES = 3
"""Values that a sentence tells where there are many."""


def unlike(
    readings: Readings,
    what: str,
    read: Callable[[NodeFacts], Value | None],
    remedy: str,
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
) -> Iterator[Violation]:
    """One fact against those of the peers. None and "" are unknown: they neither vote nor differ."""
    for group in readings.peers:
        values = known((name, read(readings.facts[name])) for name in group)
        yield from unlike_values(values, what, remedy, show=show, worse=worse)


def unlike_items(
    readings: Readings,
    read: Callable[[NodeFacts], Mapping[str, Value | None]],
    remedy: str,
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
    groups: Sequence[Sequence[str]] = (),
) -> Iterator[Violation]:
    """Every named fact of a table against the same one of the peers; a name that a node lacks is unknown there."""
    for group in groups or readings.peers:
        tables = {name: read(readings.facts[name]) for name in group}
        yield from unlike_tables(tables, remedy, show=show, worse=worse)


def unlike_tables(
    tables: Mapping[str, Mapping[str, Value | None]],
    remedy: str,
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
) -> Iterator[Violation]:
    """The same, the tables of one group of peers given."""
    kinds = different(tables.values())
    for item in dict.fromkeys(item for table in kinds for item in table):
        if len({table.get(item) for table in kinds}) < 2:
            continue
        values = known((name, table.get(item)) for name, table in tables.items())
        yield from unlike_values(values, item, remedy, show=show, worse=worse)


def different(tables: Iterable[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
    """Each table once, since most nodes are alike and what they share need not be looked at node by node.

    Where hardly two are alike, some come twice.
    """
    found: list[Mapping[str, Value]] = []
    for table in tables:
        if all(table != other for other in found[:MOST_COMPARED]):
            found.append(table)
    return found


def unlike_values(
    values: Mapping[str, Value],
    what: str,
    remedy: str,
    *,
    show: Callable[[Value], str] = str,
    worse: Worse[Value] | None = None,
) -> Iterator[Violation]:
    """Nodes whose value is worse than that of most; where no value has a majority, one violation of nobody's.

    Of two nodes that differ nobody can say which is right; of three, two make a majority.
    """
    distinct = set(values.values())
    if len(distinct) < 2:
        return
    most = usual(values)
    if most is None:
        if worse is None or any(worse(one, other) for one in distinct for other in distinct if one != other):
            yield Violation(node=None, says=split(values, what, show), key=what, remedy=remedy)
        return
    for name, value in values.items():
        if value != most and (worse is None or worse(value, most)):
            says = f"{what} is {show(value)}, where most of its peers have {show(most)}"
            yield Violation(node=name, says=says, key=f"{what} {show(value)}", remedy=remedy)


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


def same_kernel(readings: Readings) -> list[list[str]]:
    """The peers, divided by kernel: for facts that follow from it."""
    divided: list[list[str]] = []
    for group in readings.peers:
        kernels: dict[str, list[str]] = {}
        for name in group:
            kernels.setdefault(readings.facts[name].kernel, []).append(name)
        divided += kernels.values()
    return divided


def known(told: Iterable[tuple[str, Value | None]]) -> dict[str, Value]:
    """Without the nodes that did not tell."""
    return {name: value for name, value in told if value is not None and value != ""}
