"""The fewest parts that explain the slow pairs, where a pair is as good as the worst part it crosses."""

from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.model.pair_table import Indices, Places, Reals


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What each row crosses: `row[x]` crosses `part[x]`, rows ascending. `parts`: how many parts there are."""

    row: Indices
    part: Indices
    parts: int


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` that these rows cannot tell apart (one, where they can); `rows` that they explain, ascending."""

    parts: tuple[int, ...]
    rows: Indices


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`blamed`: those that explain most rows first. `unexplained`: bad rows of which every part is good elsewhere."""

    blamed: tuple[Blame, ...]
    unexplained: Indices
    best: Reals
    """By part: the best ratio that went through it; -inf for a part that no row crosses."""


def best_through(ratio: Reals, crossed: Sequence[tuple[Indices | None, Places | Indices]], parts: int) -> Reals:
    """By part: the best ratio that went through it. `crossed`: rows (None: all), and the part that each crosses."""
    best = np.full(parts, -np.inf)
    for rows, part in crossed:
        np.maximum.at(best, part, ratio if rows is None else ratio[rows])
    return best


def explain(
    ratio: Reals, ways: Ways, line: float, tolerance: float, *, good: float | None = None, best: Reals | None = None
) -> Explanation:
    """The smallest set of parts, chosen greedily, that explains every row whose `ratio` to its peers is below `line`.

    One row at or above `good` acquits all parts on its way (COMP: Chan et al., Allerton 2011); a row between `line` and
    `good` neither convicts nor acquits. Without `good` the two are the same. A part that is left can be the cause of a
    row only if no row through it was better by more than `tolerance`: of two bad parts on one way the worse decides.
    The cover is that of the smallest consistent failure set (Duffield, IEEE Trans. Inf. Theory 52, 2006), parts of
    equal rows kept together. If `best` is given, `ways` needs the ways of bad rows only.
    """
    best = best_through(ratio, [(ways.row, ways.part)], ways.parts) if best is None else best
    bad = ratio < line
    acquitted = line if good is None else good
    able = bad[ways.row] & (best[ways.part] < acquitted) & (best[ways.part] <= ratio[ways.row] + tolerance)
    places = np.flatnonzero(bad)
    cover = _Cover(np.searchsorted(places, ways.row[able]), ways.part[able], len(places), ways.parts)
    blamed = []
    while (found := cover.next()) is not None:
        alike, rows = found
        blamed.append(Blame(parts=alike, rows=places[rows]))
    return Explanation(blamed=tuple(blamed), unexplained=places[cover.left], best=best)


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
        self.left = np.ones(rows, dtype=np.bool_)
        """Rows that nothing explains yet."""

    def next(self) -> tuple[tuple[int, ...], Indices] | None:
        """Parts that explain the most rows that are left, all the same ones, and those rows; None: no part is left."""
        most = int(self._count.max(initial=0))
        if most == 0:
            return None
        part = int(np.argmax(self._count))
        rows = self._row_by_part[self._first_of_part[part] : self._first_of_part[part + 1]]
        rows = rows[self.left[rows]]
        first, last = self._first[rows], self._first[rows + 1]
        entries = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        entries += np.arange(len(entries))
        explained = np.bincount(self._part_of_entry[entries], minlength=len(self._count))
        alike = np.flatnonzero((explained == most) & (self._count == most))
        self._count -= explained
        self.left[rows] = False
        return tuple(alike.tolist()), rows
