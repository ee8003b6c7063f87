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


LEAST_PEERS = 3
"""Nodes of one model beside which a single other machine is reported."""


class LoneMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is alone in its group, and a node of the largest group for comparison."""

    node: str
    peer: str
    peers: int
    """Nodes of the largest group."""
    of: int
    """All nodes."""


def lone_machines(facts: Mapping[str, NodeFacts], makes: tuple[Group, ...] | None = None) -> tuple[LoneMachine, ...]:
    """Nodes that are alone in their group, where more than half of all nodes, and at least 3, are of one other model.

    Two or more equal machines are a group of their own, as every large cluster has. A node whose model is unknown, or
    known in part and not in contradiction, is not another machine.
    """
    of_model = groups(facts) if makes is None else makes
    if not of_model or len(of_model[0].nodes) < LEAST_PEERS or 2 * len(of_model[0].nodes) <= len(facts):
        return ()
    most = of_model[0].nodes
    peer = min(most, key=lambda node: _make(facts[node]).count(""))
    return tuple(
        LoneMachine(node=group.nodes[0], peer=peer, peers=len(most), of=len(facts))
        for group in of_model[1:]
        if len(group.nodes) == 1 and _contradict(_make(facts[group.nodes[0]]), _make(facts[peer]))
    )


def _contradict(make: Make, other: Make) -> bool:
    return any(a and b and a != b for a, b in zip(make, other, strict=True))


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
