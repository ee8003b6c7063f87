"""The fewest parts that explain bad pairs.

`explain` covers slow pairs: a pair is as good as the worst part that it crosses. `dead_parts` covers pairs that were
measured and carried nothing.
"""

import msgspec
import numpy as np

from seatrial.locate.rows import Rows
from seatrial.model.pair_table import Indices, Places, Reals


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What each row crosses: `row[x]` crosses `part[x]`, rows ascending. `parts`: how many parts there are."""

    row: Indices
    part: Indices
    parts: int


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` that these rows cannot distinguish (one, where they can); `rows` that they explain, ascending."""

    parts: tuple[int, ...]
    rows: Indices


def explain(ratio: Reals, ways: Ways, line: float, tolerance: float, *, good: float | None = None) -> tuple[Blame, ...]:
    """The smallest set of parts, chosen greedily, that explains every row whose `ratio` to its peers is below `line`.

    One row at or above `good` clears all parts on its way (COMP: Chan et al., Allerton 2011); a row between `line` and
    `good` neither convicts nor clears. Without `good` the two are the same. A part that is left can be the cause of a
    row only if no row through it was better by more than `tolerance`: of two bad parts on one way the worse decides.
    The cover is that of the smallest consistent failure set (Duffield, IEEE Trans. Inf. Theory 52, 2006), parts of
    equal rows kept together.
    """
    best = np.full(ways.parts, -np.inf)
    np.maximum.at(best, ways.part, ratio[ways.row])
    bad = ratio < line
    acquitted = line if good is None else good
    able = bad[ways.row] & (best[ways.part] < acquitted) & (best[ways.part] <= ratio[ways.row] + tolerance)
    places = np.flatnonzero(bad)
    cover = _Cover(np.searchsorted(places, ways.row[able]), ways.part[able], len(places), ways.parts)
    blamed = []
    while (chosen := cover.next()) is not None:
        alike, rows = chosen
        blamed.append(Blame(parts=alike, rows=places[rows]))
    return tuple(blamed)


class _Cover:
    """The greedy cover. Every entry (a row and a part that may explain it) is taken out of the counts once."""

    def __init__(self, row: Indices, part: Indices, rows: int, parts: int) -> None:
        key = np.unique(row.astype(np.int64) * max(parts, 1) + part)
        row, part = key // max(parts, 1), key % max(parts, 1)
        self._part_of_entry = part
        self._first = np.searchsorted(row, np.arange(rows + 1))
        by_part = np.argsort(part, kind="stable")
        self._row_by_part = row[by_part]
        self._first_of_part = np.searchsorted(part[by_part], np.arange(parts + 1))
        self._count = np.bincount(part, minlength=parts)
        self._left = np.ones(rows, dtype=np.bool_)
        """Rows that nothing explains yet."""

    def next(self) -> tuple[tuple[int, ...], Indices] | None:
        """Parts that explain the most rows that are left, all the same ones, and those rows; None: no part is left."""
        most = int(self._count.max(initial=0))
        if most == 0:
            return None
        part = int(np.argmax(self._count))
        rows = self._row_by_part[self._first_of_part[part] : self._first_of_part[part + 1]]
        rows = rows[self._left[rows]]
        first, last = self._first[rows], self._first[rows + 1]
        entries = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        entries += np.arange(len(entries))
        explained = np.bincount(self._part_of_entry[entries], minlength=len(self._count))
        alike = np.flatnonzero((explained == most) & (self._count == most))
        self._count -= explained
        self._left[rows] = False
        return tuple(alike.tolist()), rows


# Dead nodes and pairs.

MOST_SHARE = 0.5
"""A node is dead in one direction if more than this share of its pairs in that direction is dead."""
FEWEST_DEAD = 2
"""A node is dead in one direction if at least this many of its pairs in that direction are dead."""


class DeadParts(msgspec.Struct, frozen=True, kw_only=True):
    """`out` and `into`: nodes that send or receive nothing. `pairs`: rows that are dead beside these."""

    out: tuple[int, ...]
    into: tuple[int, ...]
    pairs: Indices


def dead_parts(rows: Rows) -> DeadParts:
    """The fewest nodes that explain the dead rows, chosen greedily, and the rows that they leave."""
    dead = np.flatnonzero(rows.dead)
    named: tuple[list[int], list[int]] = ([], [])
    if not len(dead):
        return DeadParts(out=(), into=(), pairs=dead)
    ends = (rows.source[dead], rows.target[dead])
    totals = [np.bincount(end, minlength=rows.nodes) for end in (rows.source, rows.target)]
    counts = [np.bincount(end, minlength=rows.nodes) for end in ends]
    of_node = [by_node(end, rows.nodes) for end in ends]
    left = np.ones(len(dead), dtype=np.bool_)
    while True:
        way, node = _worst(counts, totals)
        if node is None:
            break
        named[way].append(node)
        order, first = of_node[way]
        explained = order[first[node] : first[node + 1]]
        explained = explained[left[explained]]
        left[explained] = False
        others = np.bincount(ends[1 - way][explained], minlength=rows.nodes)
        counts[way][node] = 0
        counts[1 - way] -= others
        totals[1 - way] -= others
    return DeadParts(out=tuple(sorted(named[0])), into=tuple(sorted(named[1])), pairs=dead[left])


def by_node(end: Places, nodes: int) -> tuple[Indices, Indices]:
    """`order`: places in `end`, by node. `first`: those of node k are order[first[k] : first[k + 1]]."""
    first = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=nodes))))
    return np.argsort(end, kind="stable"), first


def _worst(counts: list[Indices], totals: list[Indices]) -> tuple[int, int | None]:
    """The direction and node with most dead rows, or None where none has enough of them."""
    best: tuple[int, int, int | None] = (0, 0, None)
    for way in (0, 1):
        able = (counts[way] >= FEWEST_DEAD) & (counts[way] > MOST_SHARE * totals[way])
        if able.any():
            node = int(np.argmax(np.where(able, counts[way], 0)))
            best = max(best, (int(counts[way][node]), way, node), key=lambda each: each[0])
    return best[1], best[2]
