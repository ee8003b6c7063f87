"""What a change would do: limits as they are, as they would be, and the term that would bind then."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.commands.limits.answer import fitting
from seatrial.limits.memory import memory_limits
from seatrial.limits.node import node_limits
from seatrial.limits.path import path_limit
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import AnyLimit, Limit
from seatrial.model.words import count, few, natural_sorted

MOST_OF_NAMES = 40
SAME = 5e-4
"""A smaller share is rounding."""
TOGETHER = " together > root"


class ChangedLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One limit, now and with the change. None: not known."""

    path: str
    now_bytes_per_s: float | None
    limit_bytes_per_s: float | None
    binding: str
    """The term that would bind."""

    @property
    def gain(self) -> float | None:
        """The change as a share of the limit now; None where either is not known."""
        if not self.now_bytes_per_s or not self.limit_bytes_per_s:
            return None
        return self.limit_bytes_per_s / self.now_bytes_per_s - 1


def changed_limits(
    facts: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts], pair: tuple[str, str] | None
) -> list[ChangedLimit]:
    """Network, all rails together and memory, of this pair or of each node; nodes that are alike share one row."""
    nodes = [node for node in pair or natural_sorted(facts) if node in facts]
    between = [pair, (pair[1], pair[0])] if pair and len(nodes) > 1 else []
    rows: list[ChangedLimit] = []
    for source, target in between:
        of_path = [path_limit(_named(each, source), _named(each, target)) for each in (facts, after)]
        rows.append(_row(f"{source}>{target}", *of_path))
    alike: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    of_node = {node: list(_of_node(facts[node], after[node], with_network=not between)) for node in nodes}
    for node, limits in of_node.items():
        key = tuple((each.path, each.now_bytes_per_s, each.limit_bytes_per_s) for each in limits)
        alike[key].append(node)
    for names in alike.values():
        who = few(names, MOST_OF_NAMES)
        rows += [msgspec.structs.replace(each, path=f"{who} {each.path}") for each in of_node[names[0]]]
    return sorted(rows, key=lambda row: not _moved(row))


def _moved(row: ChangedLimit) -> bool:
    return row.gain is not None and abs(row.gain) > SAME


def _named(facts: Mapping[str, NodeFacts], node: str) -> NodeFacts:
    return msgspec.structs.replace(facts[node], hostname=node)


def _of_node(before: NodeFacts, after: NodeFacts, *, with_network: bool) -> Iterator[ChangedLimit]:
    """Network to a node of the same kind, all rails where there are several, memory of all packages."""
    network = [path_limit(node, msgspec.structs.replace(node, hostname="another")) for node in (before, after)]
    if with_network:
        yield _row("network", *network)
    of_nodes = map(node_limits, (before, after))
    rails = [next((limit for limit in limits if limit.path.endswith(TOGETHER)), None) for limits in of_nodes]
    if any(rails):
        yield _row("rails", rails[0] or network[0], rails[1] or network[1])
    yield _row("memory", *map(_memory, (before, after)))


def _memory(facts: NodeFacts) -> AnyLimit | None:
    """All packages together as one limit; None where one of them has none."""
    limits = [limit for limit in memory_limits(facts) if isinstance(limit, Limit)]
    if not limits or len(limits) < len(memory_limits(facts)):
        return None
    total = sum(limit.limit_bytes_per_s for limit in limits)
    return msgspec.structs.replace(limits[0], limit_bytes_per_s=total)


def _row(path: str, before: AnyLimit | None, after: AnyLimit | None) -> ChangedLimit:
    return ChangedLimit(
        path=path,
        now_bytes_per_s=before.limit_bytes_per_s if isinstance(before, Limit) else None,
        limit_bytes_per_s=after.limit_bytes_per_s if isinstance(after, Limit) else None,
        binding=after.binding if isinstance(after, Limit) else "",
    )


def answer_of_change(changes: Sequence[str], rows: Sequence[ChangedLimit]) -> str:
    """`With port=FDR: n1>n2 at most 6.78 GB/s, now 3.97 (+71 %)`; or that nothing changes, and which term binds.

    The first limit that changes is named; the table has the others.
    """
    with_them = f"With {', '.join(changes)}"
    moved = [row for row in rows if _moved(row)]
    if not moved:
        only_memory = all(change.startswith("memory") for change in changes)
        bound = next((row for row in rows if row.binding and row.path.endswith(" memory") == only_memory), None)
        still = f"; {bound.path} stays at {units.bandwidth(bound.limit_bytes_per_s)}" if bound else ""
        return fitting(f"{begin}: no limit changes{still}" for begin in (with_them, "With these changes", "So"))
    first = moved[0]
    before, after = units.bandwidth(first.now_bytes_per_s), units.bandwidth(first.limit_bytes_per_s)
    return fitting(
        f"{begin}: {path}at most {after}, now {before} ({change_text(first)})"
        for begin in (with_them, f"With {count(len(changes), 'change')}")
        for path in (f"{first.path} ", f"{first.path.rpartition(' ')[2]} ", "")
    )


def change_text(row: ChangedLimit) -> str:
    """+71 %; "the same"; empty where it is not known."""
    if row.gain is None:
        return ""
    sign = "+" if row.gain > 0 else "−"
    return f"{sign}{units.share(abs(row.gain))}" if _moved(row) else "the same"
