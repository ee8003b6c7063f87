"""Which nodes should be alike, and what is usual among them."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from typing import TypeVar

from seatrial.model.facts import NodeFacts

Value = TypeVar("Value", bound=Hashable)


def hardware_groups(facts: Mapping[str, NodeFacts]) -> tuple[tuple[str, ...], ...]:
    """Nodes of one make each: same vendor, product and processor model; the largest group first, then by name.

    What can break is no part of the key: a node that lost memory, a core or a card stays among those bought with it.
    """
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for node, known in sorted(facts.items()):
        firmware = known.system.firmware
        groups[firmware.vendor, firmware.product, known.cpu_model].append(node)
    return tuple(sorted((tuple(group) for group in groups.values()), key=lambda group: (-len(group), group)))


def usual(values: Mapping[str, Value]) -> Value | None:
    """The value that more than half of the nodes have; None where none has such a majority."""
    counts = Counter(values.values())
    return next((value for value, count in counts.items() if 2 * count > len(values)), None)
