"""Tables of few nodes, in which a slow one is on half of all pairs: every set of parts that may be slow is compared.

What is usual is then known only with what is slow, so that neither a median nor a line between good and bad helps.
"""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from seatrial.locate.explanation import Blame, Ways
from seatrial.locate.significance import critical_value, detectable
from seatrial.locate.thresholds import Effects
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import LEAST_SCATTER, array_median

FEW_NODES = 5
"""The row and column effects of these leave too few degrees of freedom."""
FEWEST_ROWS = 2
"""Bad pairs that name a part; one bad pair alone is the pair's."""
MOST_SETS = 5000
"""Sets of one size that are compared, so that known cables do not take seconds: all of five nodes in both directions,
and two nodes among the cables of a small tree."""


class FewNodes(NamedTuple):
    """The slow parts, and how much rows scatter about the levels of their own, as a difference of logarithms."""

    blamed: tuple[Blame, ...]
    rest: Flags
    """Rows that none of them crosses."""
    scatter: float
    degrees: int
    """Degrees of freedom of the scatter."""
    detectable: float
    """Loss of a part that would have been named, as a difference of logarithms."""


def slow_parts(log: Reals, ways: Ways, effects: Effects, error_rate: float) -> FewNodes:
    """The set of parts that leaves the least scatter, each slower than the rest for certain and by the effect.

    Each part has a level of its own, and a row the lowest of those that it crosses. A part is compared with the rows
    that cross none of the set (Student's test), with Bonferroni's correction over all sets of that size. Parts that
    cross the same rows are one. `log`: logarithms of the rows, all finite.
    """
    crossed = np.zeros((ways.parts, len(log)), dtype=np.bool_)
    crossed[ways.part, ways.row] = True
    distinct, place = np.unique(crossed, axis=0, return_inverse=True)
    places = np.flatnonzero(distinct.sum(axis=1) >= FEWEST_ROWS)
    log = log - array_median(log)
    least = max(LEAST_SCATTER, effects.step / math.sqrt(12))  # which rounding alone makes
    best = _Fit(scatter=max(float(np.std(log, ddof=1)) if len(log) > 1 else 0.0, least), degrees=len(log) - 1)
    for size in range(1, min(len(places), len(log) - FEWEST_ROWS) + 1):
        if (tests := math.comb(len(places), size)) > MOST_SETS:
            break
        sets = np.array([*combinations(places.tolist(), size)])
        critical = critical_value(tests, len(log) - 1 - size, error_rate)
        best = min(best, _best(log, distinct, sets, effects, critical, least))
    fewest = int(distinct[places].sum(axis=1).min(initial=len(log)))
    error = best.scatter * math.sqrt(1 / max(fewest, 1) + 1 / max(len(log) - fewest, 1))
    shown = detectable(critical_value(len(places), best.degrees, error_rate) * error, error)
    return FewNodes(
        blamed=tuple(
            Blame(parts=tuple(np.flatnonzero(place.ravel() == one).tolist()), rows=np.flatnonzero(distinct[one]))
            for one in best.chosen
        ),
        rest=np.asarray(~distinct[list(best.chosen)].any(axis=0)),
        scatter=best.scatter,
        degrees=max(best.degrees, 1),
        detectable=max(shown, effects.chosen(best.scatter)),
    )


class _Fit(NamedTuple):
    scatter: float
    degrees: int
    chosen: tuple[int, ...] = ()


def _best(log: Reals, distinct: Flags, sets: Indices, effects: Effects, critical: float, least: float) -> _Fit:
    """The set of those of one size that leaves the least scatter; without bounds where in none all parts are slow.

    `distinct[p, r]`: whether row r crosses part p. `sets[s]`: parts. Each must have rows of its own.
    """
    size, degrees = sets.shape[1], len(log) - 1 - sets.shape[1]
    crossed = distinct[sets]
    alone = crossed & (crossed.sum(axis=1, keepdims=True) == 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = np.nan_to_num((alone @ log) / alone.sum(axis=2), nan=np.inf)  # one without own rows has none
        owner = np.where(crossed, levels[:, :, None], np.inf).argmin(axis=1)
        own = crossed & (owner[:, None, :] == np.arange(size)[:, None])
        groups = np.concatenate([~crossed.any(axis=1, keepdims=True), own], axis=1)
        count, total = groups.sum(axis=2), groups @ log
        means = total / count
        squares = (groups @ log**2 - total * means).sum(axis=1)
        scatter = np.sqrt(np.maximum(squares / degrees, least**2))
        losses = means[:, :1] - means[:, 1:]
        scores = losses / (scatter[:, None] * np.sqrt(1 / count[:, :1] + 1 / count[:, 1:]))
    able = np.flatnonzero((count.min(axis=1) >= FEWEST_ROWS) & (scores.min(axis=1) >= critical))
    for place in able[np.argsort(scatter[able])].tolist():
        if losses[place].min() >= effects.chosen(float(scatter[place])):
            return _Fit(scatter=float(scatter[place]), degrees=degrees, chosen=tuple(sets[place].tolist()))
    return _Fit(scatter=math.inf, degrees=degrees)
