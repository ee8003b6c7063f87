"""The values of every part of a cluster in the order of time: nodes and uplinks, outwards, inwards and both.

A pair is as good as the worst part on its way. So a part's level is what its better pairs reach, a pair's expected
value is the least level on its way, and what a value lacks beyond that is what may have changed.
"""

import math

import msgspec
import numpy as np

from seatrial.locate.significance import HALF_NORMAL
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject, node, uplink
from seatrial.statistics.estimates import array_median, robust_scale

UPPER = 0.75
"""A part's level is this quantile of its values in the best stretch of time."""
STRETCHES = 4
"""Stretches of time, of FEWEST_FOR_LEVEL values each: a part may be bad for nine tenths of the time."""
FEWEST_FOR_LEVEL = 4
LEAST_SCATTER = 1e-6
NEAR = 3.0
SWEEPS = 2
WAYS = (Direction.BOTH, Direction.OUT, Direction.IN)


class RowSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Values over time, one row each: data went from node `source` to node `target`.

    `log`: logarithm relative to the usual value, larger is better. All four columns have the same length.
    """

    source: Indices
    target: Indices
    time_s: Reals
    log: Reals


class RowParts(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows each part has, in the order of time: part p has `row[first[p]:first[p + 1]]`, and `part` says p.

    Parts count up over nodes in both directions, outwards, inwards, then over groups likewise.
    """

    nodes: int
    groups: int
    group: Indices
    """Group of each node; -1 if it has none or the group's uplink is not judged."""
    part: Indices
    row: Indices
    first: Indices

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.first) - 1

    def rows(self, part: int) -> Indices:
        """Rows of one part, ascending in time."""
        return self.row[self.first[part] : self.first[part + 1]]

    def is_uplink(self, part: int) -> bool:
        """Whether it is a group's uplink, not a node."""
        return part >= len(WAYS) * self.nodes

    def place(self, part: int) -> tuple[int, Direction]:
        """Number of the node or group, and the direction."""
        if self.is_uplink(part):
            way, place = divmod(part - len(WAYS) * self.nodes, self.groups)
        else:
            way, place = divmod(part, self.nodes)
        return place, WAYS[way]

    def subject(self, part: int, names: tuple[str, ...], group_names: tuple[str, ...]) -> tuple[Subject, Direction]:
        """What findings call it."""
        place, way = self.place(part)
        return (uplink(group_names[place]) if self.is_uplink(part) else node(names[place])), way


def parts_of(series: RowSeries, nodes: int, group: Indices, groups: int) -> RowParts:
    """The parts that the rows cross. `group[i]`: of node i, -1: none."""
    rows = np.arange(len(series.log))
    source, target = group[series.source], group[series.target]
    far = np.flatnonzero((source >= 0) & (target >= 0) & (source != target))
    base = len(WAYS) * nodes
    out, into = source[far] + base, target[far] + base
    columns = [
        (series.source, rows), (series.target, rows), (series.source + nodes, rows), (series.target + 2 * nodes, rows),
        (out, far), (into, far), (out + groups, far), (into + 2 * groups, far),
    ]  # fmt: skip
    part = np.concatenate([column for column, _ in columns])
    row = np.concatenate([column for _, column in columns])
    order = np.lexsort((series.time_s[row], part))
    part, row = part[order], row[order]
    first = np.searchsorted(part, np.arange(base + len(WAYS) * groups + 1))
    return RowParts(nodes=nodes, groups=groups, group=group, part=part, row=row, first=first)


def lacking(series: RowSeries, parts: RowParts, by_direction: bool = True) -> Reals:
    """What each value is above or, negative, below the least level of the parts on its way.

    `by_direction` False: a part has one level, that of both directions. A part that was good for a few values only, in
    one direction for a single one, has a good level only then.
    """
    level = _levels(series.log, parts)
    if not by_direction:
        for first, places in ((0, parts.nodes), (len(WAYS) * parts.nodes, parts.groups)):
            for way in (1, 2):
                level[first + way * places : first + (way + 1) * places] = level[first : first + places]
    source, target = parts.group[series.source], parts.group[series.target]
    expected = np.minimum(level[parts.nodes + series.source], level[2 * parts.nodes + series.target])
    far = (source >= 0) & (target >= 0) & (source != target)
    base = len(WAYS) * parts.nodes
    if far.any():
        ways = np.minimum(level[base + parts.groups + source[far]], level[base + 2 * parts.groups + target[far]])
        expected[far] = np.minimum(expected[far], ways)
    unknown = np.isinf(expected)
    if unknown.any():
        expected[unknown] = np.quantile(series.log, UPPER)
    return series.log - expected


def _levels(log: Reals, parts: RowParts) -> Reals:
    """Level of each part's better values in its best stretch; that of both directions if one has too few values;
    infinite if both have."""
    count = np.diff(parts.first)
    enough = count >= FEWEST_FOR_LEVEL
    stretches = np.clip(count // FEWEST_FOR_LEVEL, 1, STRETCHES)[parts.part]
    place = np.arange(len(parts.row)) - parts.first[parts.part]
    stretch = parts.part * STRETCHES + place * stretches // count[parts.part]
    ordered = log[parts.row][np.lexsort((log[parts.row], stretch))]
    _, begin, size = np.unique(stretch, return_index=True, return_counts=True)
    upper = ordered[begin + np.ceil(UPPER * (size - 1)).astype(np.intp)]
    level = np.full(parts.count, -np.inf)
    np.maximum.at(level, parts.part[begin], upper)
    level[~enough] = np.inf
    for first, places in ((0, parts.nodes), (len(WAYS) * parts.nodes, parts.groups)):
        both = level[first : first + places]
        for way in (1, 2):
            own = slice(first + way * places, first + (way + 1) * places)
            level[own] = np.where(enough[own], level[own], both)
    return level


def centred(values: Reals, series: RowSeries, parts: RowParts) -> Reals:
    """The values without the mean of each part's usual ones, so that no part is above or below the others by chance.

    Only values within NEAR scatters of the median count: what a part lacks after a change stays.
    """
    scatter = scatter_of(values)
    usual = np.abs(values - np.quantile(values, 0.5, method="higher")) <= NEAR * scatter
    moved = values - np.median(values[usual])
    ways = [(series.source, parts.nodes), (series.target, parts.nodes)]
    source, target = parts.group[series.source], parts.group[series.target]
    far = (source >= 0) & (target >= 0) & (source != target)
    ways += [(np.where(far, end, parts.groups), parts.groups + 1) for end in (source, target)] if far.any() else []
    for _ in range(SWEEPS):
        for place, count in ways:
            total = np.bincount(place[usual], weights=moved[usual], minlength=count)
            size = np.bincount(place[usual], minlength=count)
            moved = moved - (total / np.maximum(size, 1))[place]
    return moved


def scatter_of(values: Reals) -> float:
    """Robust standard deviation; of the better half, where the worse half scatters more."""
    centre = array_median(values)
    better = values[values >= centre]
    whole = robust_scale(values, centre)
    half = HALF_NORMAL * robust_scale(better)
    return max(min(whole, half), LEAST_SCATTER)


def usual_level(values: Reals) -> float:
    """What undisturbed values lie around, where more than a quarter of all are undisturbed and the others are lower."""
    upper = float(np.quantile(values, UPPER))
    near = values[np.abs(values - upper) <= NEAR * scatter_of(values)]
    return array_median(near) if len(near) else upper


def apart_groups(groups: "list[tuple[int, ...]]", nodes: int, fewest_groups: int, fewest_nodes: int) -> Indices:
    """The group of each node, -1 where its uplink cannot be distinguished from a node or from the only other uplink."""
    group = np.full(nodes, -1, dtype=np.intp)
    if len(groups) >= fewest_groups:
        for number, members in enumerate(groups):
            if len(members) >= fewest_nodes:
                group[list(members)] = number
    return group


def is_later(parts: RowParts, time_s: Reals) -> Flags:
    """Entries of `parts` whose next row is measured later, so that time can be cut between the two."""
    later = np.zeros(len(parts.row), dtype=np.bool_)
    same = parts.part[1:] == parts.part[:-1]
    later[:-1] = same & (time_s[parts.row[1:]] > time_s[parts.row[:-1]])
    return later


# Steps that all pairs have in common are changes of the measuring machine, not of a part.

MOST_STEPS = 8
FEWEST_ROWS = 3
"""Rows on either side of a step."""
FEWEST_PAIRS = 4
"""Pairs that were measured on both sides; where there are fewer, nodes are compared."""
FEWEST_ALIKE = 2
"""The number of pairs on both sides from which they must agree with what the nodes show."""
MOST_NODES = 0.8
"""Share of the nodes that must have FEWEST values on both sides."""
ERRORS = 3.0
"""Standard errors of the rank-sum contrast from which a step is looked at."""
LOW = 0.2
"""All but this share of the pairs, at least, must agree with a step."""
PART_OF_STEP = 0.5
"""Pairs agree that move by this part of the step: of four nodes one that turns bad moves half of the pairs."""


def without_common(series: RowSeries, effect: float) -> RowSeries:
    """The series without steps of at least half the effect that nearly all pairs have in common."""
    for _ in range(MOST_STEPS):
        step = _step(series, effect)
        if step is None:
            return series
        series = msgspec.structs.replace(series, log=series.log - step)
    return series


def _step(series: RowSeries, effect: float) -> Reals | None:
    """What to subtract from each row; None where no step is common to all."""
    order = np.argsort(series.time_s, kind="stable")
    cut = _cut(series.time_s[order], series.log[order])
    if cut is None:
        return None
    later = np.zeros(len(order), dtype=np.bool_)
    later[order[cut:]] = True
    pairs, moved = _moved(series, later)
    if len(moved) < FEWEST_ROWS:
        return None
    size = array_median(moved)
    if abs(size) < effect / 2:
        return None
    # Nodes move with the pairs that happen to be measured later; a pair that stays where it was is no change of all.
    if not (_nearly_all(moved, size) and (len(pairs) < FEWEST_ALIKE or _nearly_all(pairs, size))):
        return None
    # The lower side is the disturbed one.
    return np.where(later, size, 0.0) if size < 0 else np.where(later, 0.0, -size)


def _cut(time_s: Reals, value: Reals) -> int | None:
    """Number of rows before the most likely step of all rows together; None where there is none."""
    total = len(value)
    rank = np.empty(total)
    rank[np.argsort(value, kind="stable")] = np.arange(1, total + 1)
    left = np.arange(1, total)
    right = total - left
    usable = (left >= FEWEST_ROWS) & (right >= FEWEST_ROWS) & (time_s[1:] > time_s[:-1])
    if not usable.any():
        return None
    before = np.cumsum(rank - (total + 1) / 2)[:-1]
    score = np.where(usable, np.abs(before) / np.sqrt(left * right * (total + 1) / 12), 0.0)
    best = int(np.argmax(score))
    return best + 1 if score[best] >= ERRORS else None


def _nearly_all(moved: Reals, size: float) -> bool:
    """Whether all but a few moved by a good part of the step, in its direction."""
    return float(np.quantile(moved * math.copysign(1, size), LOW)) >= PART_OF_STEP * abs(size)


def _moved(series: RowSeries, later: Flags) -> tuple[Reals, Reals]:
    """Change of each pair's median; and the same, or that of nodes if few pairs are on both sides."""
    nodes = int(max(series.source.max(), series.target.max())) + 1
    ends = np.minimum(series.source, series.target) * np.int64(nodes) + np.maximum(series.source, series.target)
    pairs = _medians_moved(ends, later, series.log, 1)
    if len(pairs) >= FEWEST_PAIRS:
        return pairs, pairs
    node = np.concatenate([series.source, series.target])
    moved = _medians_moved(node, np.concatenate([later, later]), np.concatenate([series.log, series.log]), FEWEST_ROWS)
    return pairs, moved if len(moved) >= MOST_NODES * len(np.unique(node)) else moved[:0]


def _medians_moved(group: Indices, later: Flags, value: Reals, fewest: int) -> Reals:
    """The move of the median of each group with enough values on both sides."""
    key = group * 2 + later
    ordered = value[np.lexsort((value, key))]
    keys, begin, count = np.unique(np.sort(key), return_index=True, return_counts=True)
    middle = (ordered[begin + (count - 1) // 2] + ordered[begin + count // 2]) / 2
    keys, middle = keys[count >= fewest], middle[count >= fewest]
    both = np.flatnonzero((keys[1:] == keys[:-1] + 1) & (keys[:-1] % 2 == 0))
    moved: Reals = middle[both + 1] - middle[both]
    return moved
