"""Topology classes: latencies of two sizes that follow groups of nodes are two distances, not a fault."""

import msgspec
import numpy as np

from seatrial.locate.significance import relative_scale
from seatrial.model.pair_table import Flags, Indices, PairTable, Places, Reals
from seatrial.statistics.estimates import array_median

APART = 6.0
"""The two sizes lie at least this many scatters of the near one apart (late nodes spread the far one)."""
RATIO = 1.15
"""The two sizes differ at least by this factor; a switch more on the way costs 0.1 to 0.3 µs of one or two."""
GAP = 1.05
"""A gap between sorted latencies by this factor may separate the two sizes."""
MOST_CUTS = 6
PURE = 0.97
"""Share of the pairs within groups that must be near, and of those between groups that must be far."""
FEWEST_GROUPS = 2
"""Groups of two nodes or more; a node that is far from all others who are near each other is late."""
MOST_ALONE = 0.4
"""Share of the nodes that may be near nobody."""
COVERED = 0.5
"""Share of all pairs that must be measured: from a few partners each, groups cannot be distinguished from chance."""


class Classes(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of nodes near each other, the largest first; `near_s` and `far_s` are the two median latencies."""

    groups: tuple[tuple[str, ...], ...]
    near_s: float
    far_s: float


def topology_classes(table: PairTable) -> Classes | None:
    """The groups that the latencies show, or None where they show none.

    Pairs are divided at a wide relative gap between sorted latencies; the groups are what near pairs connect. They
    count only if near and far follow the groups nearly everywhere: nodes that share a leaf switch do. Where several
    gaps qualify, because some nodes are late to everybody, the widest that gives such groups counts. A node that is
    near nobody joins the group that it is nearest to.
    """
    count = len(table.nodes)
    measured = np.isfinite(table.latency_s) & (table.latency_s > 0)
    if count < 4 or measured.sum() < COVERED * count * (count - 1):
        return None
    source, target, latency = table.source, table.target, table.latency_s
    if not measured.all():
        source, target, latency = source[measured], target[measured], latency[measured]
    for cut in _cuts(latency):
        near = _either_way(count, source, target, latency < cut)
        group = _connected(count, source[near], target[near])
        alone = np.bincount(group, minlength=count)[group] == 1
        core = ~alone[source] & ~alone[target]
        inside = group[source] == group[target]
        if (np.bincount(group) > 1).sum() < FEWEST_GROUPS or alone.mean() > MOST_ALONE:
            continue
        if not (core & inside).any() or not (core & ~inside).any():
            continue
        if near[core & inside].mean() < PURE or (~near[core & ~inside]).mean() < PURE:
            continue
        near_s, far_s = array_median(latency[core & near]), array_median(latency[core & ~near])
        for node in np.flatnonzero(alone).tolist():
            group[node] = _nearest(node, group, alone, source, target, latency)
        return Classes(groups=_named(table.nodes, group), near_s=near_s, far_s=far_s)
    return None


def _either_way(count: int, source: Places, target: Places, near: Flags) -> Flags:
    """Near in one direction at least: a node that is late in one direction only stays in its group."""
    cells = np.zeros((count, count), dtype=np.bool_)
    cells[source, target] = near
    cells |= cells.T
    return np.asarray(cells[source, target])


def _cuts(latency: Reals) -> list[float]:
    """Latencies above the widest gaps that leave a twentieth of all on either side, the widest gap first."""
    ordered = np.sort(latency)
    least = max(len(ordered) // 20, 2)
    steps = np.log(ordered[least : len(ordered) - least + 1] / ordered[least - 1 : len(ordered) - least])
    wide = np.flatnonzero(steps >= np.log(GAP))
    cuts = []
    for place in wide[np.argsort(-steps[wide], kind="stable")][:MOST_CUTS].tolist():
        cut = least + place
        below, above = ordered[:cut], ordered[cut:]
        low, high = array_median(below), array_median(above)
        if high >= RATIO * low and high - low >= APART * relative_scale(below) * low:
            cuts.append(float(ordered[cut]))
    return cuts


def _nearest(node: int, group: Indices, alone: Flags, source: Places, target: Places, latency: Reals) -> int:
    """The group to whose nodes the latency is clearly least; the node's own number where none is."""
    own = (source == node) | (target == node)
    other = np.where(source[own] == node, target[own], source[own])
    values = latency[own]
    found = sorted(
        (array_median(values[(group[other] == label) & ~alone[other]]), int(label))
        for label in np.unique(group[other][~alone[other]])
    )
    if len(found) < FEWEST_GROUPS or found[1][0] < RATIO * found[0][0]:
        return node
    return found[0][1]


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
