"""Groups of nodes that are close to each other by their latencies: probably those that share a leaf switch."""

import itertools
import math
from collections.abc import Iterable, Mapping
from statistics import median

import msgspec

Ends = frozenset[str]

LEAST_GAP = math.log(1.12)
"""Between pairs within a leaf and across leaves: two more switches cost 0.2 µs or more, of a latency of 1 to 1.6 µs."""
LEAST_GAP_S = 0.1e-6
ODD_PAIRS = 0.02
"""Share of pairs that may lie on the wrong side of the gap, as a slow pair does."""
FEWEST_NODES = 4
FEWEST_IN_GROUP = 2


class InferredLeaves(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that probably share a leaf switch, the largest group first, and the latencies that part them."""

    groups: tuple[tuple[str, ...], ...]
    near_s: float
    """Median one-way latency within the groups."""
    far_s: float
    """Latency of pairs in different groups."""


def infer_leaves(latency_s: Mapping[Ends, float]) -> InferredLeaves | None:
    """Leaves by the widest gap between latencies of pairs, if pairs below it form groups and the others join groups.

    None where there is no such gap, where a group would be a single node, and where pairs were left out so that
    groups do not show: with all pairs measured, every pair votes.
    """
    nodes = sorted({name for ends in latency_s for name in ends})
    ordered = sorted(latency_s.values())
    if len(nodes) < FEWEST_NODES or 2 * len(latency_s) < len(nodes) * (len(nodes) - 1) or ordered[0] <= 0:
        return None
    gap, line_s = max(
        (math.log(above / below), math.sqrt(above * below)) for below, above in itertools.pairwise(ordered)
    )
    near = [ends for ends, value in latency_s.items() if value < line_s]
    groups = _joined(nodes, near)
    apart = {ends for ends in latency_s if not any(ends <= group for group in groups)}
    odd = sum((ends in apart) == (value < line_s) for ends, value in latency_s.items())
    if gap < LEAST_GAP or len(groups) < 2 or not apart or odd > ODD_PAIRS * len(latency_s):
        return None
    if min(map(len, groups)) < FEWEST_IN_GROUP:
        return None
    near_s = median([value for ends, value in latency_s.items() if ends not in apart])
    far_s = median([latency_s[ends] for ends in apart])
    if far_s - near_s < LEAST_GAP_S:
        return None
    named = sorted((tuple(sorted(group)) for group in groups), key=lambda group: (-len(group), group))
    return InferredLeaves(groups=tuple(named), near_s=near_s, far_s=far_s)


def _joined(nodes: Iterable[str], pairs: Iterable[Ends]) -> list[set[str]]:
    """Nodes that are joined by pairs, directly or through others."""
    group_of = {node: {node} for node in nodes}
    for ends in pairs:
        first, second = (group_of[name] for name in ends)
        if first is not second:
            first |= second
            group_of.update(dict.fromkeys(second, first))
    return list({id(group): group for group in group_of.values()}.values())
