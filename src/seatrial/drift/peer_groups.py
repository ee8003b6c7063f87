"""Peer groups: nodes of the same hardware, and the value that the majority of them has."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import msgspec

from seatrial.model.facts import NodeFacts

Value = TypeVar("Value", bound=Hashable)


def usual(values: Mapping[str, Value]) -> Value | None:
    """The value that more than half of the nodes have; None where none has such a majority."""
    counts = Counter(values.values())
    return next((value for value, count in counts.items() if 2 * count > len(values)), None)


Make = tuple[str, str, str]
"""Vendor, product and processor model; "" where unknown."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of the same model, sorted. `name`: vendor, product and processor model, as far as they are known."""

    name: str
    nodes: tuple[str, ...]


def groups(facts: Mapping[str, NodeFacts]) -> tuple[Group, ...]:
    """Groups with the same vendor, product and processor model; the largest group first, then by name.

    Parts that can break do not count: a node that lost memory, a core or a card stays in its group.
    A node of unknown model (its facts broke off, or DMI is not readable) joins the only group that it
    could belong to, so that it has peers.
    """
    of_make: defaultdict[Make, list[str]] = defaultdict(list)
    for node, node_facts in sorted(facts.items()):
        of_make[_make(node_facts)].append(node)
    joined: dict[Make, list[str]] = {}
    largest_first = sorted(of_make.items(), key=lambda each: (-len(each[1]), each[1]))
    for make, nodes in sorted(largest_first, key=lambda each: each[0].count("")):
        fitting = [other for other in joined if all(a in ("", b) for a, b in zip(make, other, strict=True))]
        joined.setdefault(fitting[0] if "" in make and len(fitting) == 1 else make, []).extend(nodes)
    named = [Group(name=_name(make), nodes=tuple(sorted(nodes))) for make, nodes in joined.items()]
    return tuple(sorted(named, key=lambda group: (-len(group.nodes), group.nodes)))


def hardware_groups(facts: Mapping[str, NodeFacts]) -> tuple[tuple[str, ...], ...]:
    """The nodes of `groups`, without the names."""
    return tuple(group.nodes for group in groups(facts))


def _make(known: NodeFacts) -> Make:
    return known.system.firmware.vendor, known.system.firmware.product, known.cpu_model


def _name(make: Make) -> str:
    vendor, product, processor = make
    machine = " ".join(filter(None, (vendor, product)))
    return ", ".join(filter(None, (machine, processor))) or "of unknown model"


def one_kernel(facts: Iterable[NodeFacts]) -> bool:
    """Whether any two of the nodes share a kernel, as virtual ones on one machine do."""
    kernels = [known.boot_id for known in facts if known.boot_id]
    return len(set(kernels)) < len(kernels)
