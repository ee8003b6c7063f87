"""The fewest parts that explain bad pairs: one greedy cover for slow, dead, lossy and varying pairs."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from seatrial.locate.rows import Rows
from seatrial.model.pair_table import Indices, Reals


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
    crossed = Ways(row=np.searchsorted(places, ways.row[able]), part=ways.part[able], parts=ways.parts)
    return tuple(Blame(parts=one.parts, rows=places[one.rows]) for one in cover(crossed, len(places)))


def cover(
    ways: Ways,
    rows: int,
    *,
    weight: Reals | None = None,
    merit: Indices | None = None,
    least: Indices | Reals | int = 1,
    first: Sequence[int] = (),
) -> Iterator[Blame]:
    """Parts chosen one after the other: the one that explains most of the `rows` that nothing explains yet.

    `ways`: which parts may explain which of the rows. `weight`: of each row, whole numbers, 1 by default. `merit`: of
    two parts that explain as much, the one with the larger merit is chosen. `least`: rows that a part must explain to
    be chosen. `first`: parts that are chosen before all others, with all their rows. Of parts that are alike in
    their rows and their merit, all are in one `Blame`.
    """
    entries = _Entries(ways, rows, weight)
    for part in first:
        every = entries.rows_of(part)
        entries.take(every)
        yield Blame(parts=(part,), rows=every)
    while (most := float(np.max(able := np.where(entries.count >= least, entries.weight, 0), initial=0))) > 0:
        best = np.flatnonzero(able == most)
        part = int(best[0 if merit is None else np.argmax(merit[best])])
        explained = entries.rows_of(part)
        explained = explained[entries.left[explained]]
        before = entries.count
        shared = before - entries.take(explained)
        alike = (shared == len(explained)) & (before == len(explained))
        if merit is not None:
            alike &= merit == merit[part]
        yield Blame(parts=tuple(np.flatnonzero(alike).tolist()), rows=explained)


class _Entries:
    """Pairs of a row and a part that may explain it. Each is taken out of the sums once."""

    def __init__(self, ways: Ways, rows: int, weight: Reals | None) -> None:
        key = np.unique(ways.row.astype(np.int64) * max(ways.parts, 1) + ways.part)
        row, self._part = key // max(ways.parts, 1), key % max(ways.parts, 1)
        self._first = np.searchsorted(row, np.arange(rows + 1))
        order = np.argsort(self._part, kind="stable")
        self._row_by_part = row[order]
        self._first_of_part = np.searchsorted(self._part[order], np.arange(ways.parts + 1))
        self._row_weight = np.ones(rows) if weight is None else weight
        self.count = np.bincount(self._part, minlength=ways.parts)
        """Rows that are left, by part."""
        self.weight = np.bincount(self._part, weights=self._row_weight[row], minlength=ways.parts)
        """The weight of these rows."""
        self.left = np.ones(rows, dtype=np.bool_)
        """Rows that nothing explains yet."""

    def rows_of(self, part: int) -> Indices:
        """All rows that the part may explain, ascending."""
        return self._row_by_part[self._first_of_part[part] : self._first_of_part[part + 1]]

    def take(self, rows: Indices) -> Indices:
        """Count these rows as explained; how many are left then, by part."""
        rows = rows[self.left[rows]]
        first, last = self._first[rows], self._first[rows + 1]
        entries = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        parts = self._part[entries + np.arange(len(entries))]
        weights = np.repeat(self._row_weight[rows], last - first)
        self.left[rows] = False
        self.weight = self.weight - np.bincount(parts, weights=weights, minlength=len(self.count))
        self.count = self.count - np.bincount(parts, minlength=len(self.count))
        return self.count


# Dead nodes and pairs.

FEWEST_DEAD = 2
"""A node is dead in one direction if at least this many of its pairs in that direction are dead, and fewer alive."""


class DeadParts(msgspec.Struct, frozen=True, kw_only=True):
    """`out` and `into`: nodes that send or receive nothing. `pairs`: rows that are dead beside these."""

    out: tuple[int, ...]
    into: tuple[int, ...]
    pairs: Indices


def dead_parts(rows: Rows) -> DeadParts:
    """The fewest nodes that explain the dead rows, and the rows that they leave."""
    dead, nodes = np.flatnonzero(rows.dead), rows.nodes
    ends = np.stack([rows.source[dead], rows.target[dead] + nodes], axis=1).ravel()
    measured = np.concatenate([np.bincount(end, minlength=nodes) for end in (rows.source, rows.target)])
    alive = measured - np.bincount(ends, minlength=2 * nodes)
    ways = Ways(row=np.repeat(np.arange(len(dead)), 2), part=ends, parts=2 * nodes)
    named = [*cover(ways, len(dead), least=np.maximum(FEWEST_DEAD, alive + 1))]
    parts = sorted(part for one in named for part in one.parts)
    return DeadParts(
        out=tuple(part for part in parts if part < nodes),
        into=tuple(part - nodes for part in parts if part >= nodes),
        pairs=np.delete(dead, [row for one in named for row in one.rows.tolist()]),
    )
