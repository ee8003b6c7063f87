"""Which parts explain the pairs that are slow, where a pair is as good as the worst part on its way."""

from collections import defaultdict

import msgspec
import numpy as np

from seatrial.model.pair_table import Indices, Reals


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What each row crosses: `row[x]` crosses `part[x]`, rows ascending. `parts`: how many parts there are."""

    row: Indices
    part: Indices
    parts: int


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` that these rows cannot tell apart (one, where they can); `rows` that they explain."""

    parts: tuple[int, ...]
    rows: tuple[int, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`blamed`: those that explain most rows first. `unexplained`: bad rows of which every part is good elsewhere."""

    blamed: tuple[Blame, ...]
    unexplained: tuple[int, ...]
    best: Reals
    """By part: the best ratio that went through it; -inf for a part that no row crosses."""


def explain(ratio: Reals, ways: Ways, line: float, tolerance: float) -> Explanation:
    """The smallest set of parts, chosen greedily, that explains every row whose `ratio` to its peers is below `line`.

    One row at or above the line acquits all parts on its way (COMP: Chan et al., Allerton 2011). A part that is left
    can be the cause of a row only if no row through it was better by more than `tolerance`: of two bad parts on one
    way the worse decides. The cover is that of the smallest consistent failure set (Duffield, IEEE Trans. Inf. Theory
    52, 2006), parts of equal rows kept together.
    """
    best = np.full(ways.parts, -np.inf)
    np.maximum.at(best, ways.part, ratio[ways.row])
    bad = ratio < line
    able = bad[ways.row] & (best[ways.part] < line) & (best[ways.part] <= ratio[ways.row] + tolerance)
    rows_of: defaultdict[int, set[int]] = defaultdict(set)
    for row, part in zip(ways.row[able].tolist(), ways.part[able].tolist(), strict=True):
        rows_of[part].add(row)
    left = set(np.flatnonzero(bad).tolist())
    blamed = []
    while rows_of:
        most = max(len(rows & left) for rows in rows_of.values())
        if most == 0:
            break
        first = min(part for part, rows in rows_of.items() if len(rows & left) == most)
        explains = rows_of[first] & left
        alike = tuple(sorted(part for part, rows in rows_of.items() if rows & left == explains))
        blamed.append(Blame(parts=alike, rows=tuple(sorted(explains))))
        left -= explains
        rows_of = defaultdict(set, {part: rows & left for part, rows in rows_of.items() if rows & left})
    return Explanation(blamed=tuple(blamed), unexplained=tuple(sorted(left)), best=best)
