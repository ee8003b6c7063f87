"""Topology classes: latencies that come in two sizes are two distances, and no fault."""

import msgspec
import numpy as np

from seatrial.diagnosis.pairwise.scale import relative_scale
from seatrial.model.pair_table import Indices, PairTable, Places, Reals

APART = 6.0
"""The two sizes lie at least so many times their own scatter apart ..."""
RATIO = 1.15
"""... and by this factor; a switch more on the way costs 0.1 to 0.3 µs of one or two."""
PURE = 0.97
"""Share of the pairs within groups that must be near, and of those between groups that must be far."""
COVERED = 0.5
"""Share of all pairs that must be measured: from a few partners each, groups cannot be told from chance."""


class Classes(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of nodes near each other, the largest first; `near_s` and `far_s` are the two median latencies."""

    groups: tuple[tuple[str, ...], ...]
    near_s: float
    far_s: float


def topology_classes(table: PairTable) -> Classes | None:
    """The groups that the latencies show, or None where they show none.

    Pairs are divided at the widest relative gap between sorted latencies; the groups are what near pairs connect. They
    count only if near and far follow the groups nearly everywhere: nodes that share a leaf switch do.
    """
    count = len(table.nodes)
    known = np.isfinite(table.latency_s) & (table.latency_s > 0)
    if count < 4 or known.sum() < COVERED * count * (count - 1):
        return None
    whole = bool(known.all())
    latency = table.latency_s if whole else table.latency_s[known]
    near = _near(latency)
    if near is None:
        return None
    source, target = (table.source, table.target) if whole else (table.source[known], table.target[known])
    group = _connected(count, source[near], target[near])
    inside = group[source] == group[target]
    if inside.all() or not inside.any():
        return None
    if near[inside].mean() < PURE or (~near[~inside]).mean() < PURE:
        return None
    return Classes(
        groups=_named(table.nodes, group),
        near_s=float(np.median(latency[near])),
        far_s=float(np.median(latency[~near])),
    )


def _near(latency: Reals) -> "np.ndarray[tuple[int], np.dtype[np.bool_]] | None":
    """Which values lie below the widest gap that leaves a twentieth of them on either side."""
    ordered = np.sort(latency)
    least = max(len(ordered) // 20, 2)
    steps = np.log(ordered[least : len(ordered) - least + 1] / ordered[least - 1 : len(ordered) - least])
    if not steps.size:
        return None
    cut = least + int(np.argmax(steps))
    below, above = ordered[:cut], ordered[cut:]
    low, high = float(np.median(below)), float(np.median(above))
    scatter = max(relative_scale(below) * low, relative_scale(above) * high)
    if high < RATIO * low or high - low < APART * scatter:
        return None
    return np.asarray(latency < ordered[cut])


def _connected(count: int, source: Places, target: Places) -> Indices:
    """The number of each node's connected component, by the smallest node in it."""
    label: Indices = np.arange(count, dtype=np.intp)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, source, label[target])
        np.minimum.at(lowest, target, label[source])
        lowest = lowest[lowest]
        if (lowest == label).all():
            return label
        label = lowest


def _named(nodes: tuple[str, ...], group: Indices) -> tuple[tuple[str, ...], ...]:
    members = [tuple(nodes[place] for place in np.flatnonzero(group == label)) for label in np.unique(group)]
    return tuple(sorted(members, key=lambda each: (-len(each), each)))
