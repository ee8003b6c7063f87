"""Slow parts by the rows that cross them: of few all sets of parts are compared, of many one part after the other."""

import math
from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from seatrial.locate.explanation import Blame, Ways
from seatrial.locate.thresholds import CLEAR, SCATTERS, Effects, critical_value, detectable, half_scatter
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import (
    CONFIDENCE,
    HEAVY_DEGREES,
    LEAST_SCATTER,
    MAD_TO_DEVIATION,
    array_median,
    student_quantile,
)

FEWEST_ROWS = 2
"""Bad pairs that name a part; one bad pair alone is the pair's."""
FEW_NODES = 5
"""The row and column effects of these leave too few degrees of freedom."""
MOST_SETS = 5000
"""Sets of one size that are compared, so that known cables do not take seconds: all of five nodes in both directions,
and two nodes among the cables of a small tree."""


class SlowParts(NamedTuple):
    """Scatter and losses are differences of logarithms."""

    blamed: tuple[Blame, ...]
    """Slow parts, and the rows that show it."""
    mixed: tuple[Blame, ...]
    """Parts that are slow on most of their rows, and for certain not on all; with the slow rows."""
    rest: Flags
    """Rows that no slow part is on."""
    scatter: float
    degrees: int
    """Degrees of freedom of the scatter."""
    detectable: float
    """Loss of a part that would have been named."""
    hidden: float
    """Loss of a part that noise may hide, whatever effect counts as practical."""


def slow_parts(
    log: Reals, ways: Ways, effects: Effects, error_rate: float, *, few: bool,
    least: float = LEAST_SCATTER, freedom: float = 0,
) -> SlowParts:  # fmt: skip
    """The slow ones of all parts that rows cross; those that cross the same rows are one.

    `log`: logarithms of the rows over what is usual, all finite. `few`: at most `FEW_NODES` nodes, or groups of them.
    `least`: the least scatter that rows may have, of this much `freedom` (degrees).
    """
    if few:
        return _of_few(log, ways, effects, error_rate, max(least, effects.step / math.sqrt(12)), freedom)
    return _of_many(log, ways, effects, error_rate, least)


def _of_many(log: Reals, ways: Ways, effects: Effects, error_rate: float, least: float) -> SlowParts:
    """Parts of whose rows most are so low that rows of the rest are not by chance, and lower by the effect.

    Rows may have tails as heavy as Student's with `HEAVY_DEGREES`; the chance that most of n rows are low is binomial,
    with Bonferroni's correction over all parts. A good row, better than most of a part by more than such tails explain,
    clears it (COMP: Chan et al., Allerton 2011). What explains most is taken first, counting twice what no other
    subject may explain, and its rows then speak neither for nor against another part: of two slow parts on one way the
    worse decides, and what only has pairs with slow parts is none.
    """
    parts = _distinct(ways)
    rest = np.ones(len(log), dtype=np.bool_)
    blamed: list[Blame] = []
    while True:
        test = _Test(log, rest, effects, error_rate / max(len(parts), 1), least)
        low = [part for each in parts if (part := test.low(each))]
        sure = [part for part in low if not part.mixed]
        alone = _explained_alone(sure, ways, len(log))
        queue = [(-part.gain(alone), place) for place, part in enumerate(sure)]
        heapify(queue)
        while queue:
            _, place = heappop(queue)
            if not (part := test.low(sure[place].whole)) or part.mixed:
                continue
            if queue and (less := (-part.gain(alone), place)) > queue[0]:
                heappush(queue, less)
                continue
            blamed.append(Blame(parts=part.whole.parts, rows=part.rows))
            rest[part.rows] = False
        if not sure:
            break
    fewest = min((len(part.rows) for part in parts), default=1)
    hidden = test.scatter * (test.line(fewest) + _heavy(_chance_of_each(fewest, CONFIDENCE)))
    return SlowParts(
        blamed=tuple(blamed),
        mixed=tuple(Blame(parts=part.whole.parts, rows=part.slow_rows) for part in low),
        rest=rest,
        scatter=test.scatter,
        degrees=max(int(rest.sum()) - 1, 1),
        detectable=max(hidden, test.effect),
        hidden=hidden,
    )


def _explained_alone(low: Sequence["_LowPart"], ways: Ways, count: int) -> Flags:
    """Rows of which all parts that may explain them are of one subject; `count`: of rows."""
    own = np.arange(ways.parts) if ways.subject is None else ways.subject
    first, last = np.full(count, ways.parts), np.full(count, -1)
    for part in low:
        subject = own[part.whole.parts[0]]
        first[part.rows] = np.minimum(first[part.rows], subject)
        last[part.rows] = np.maximum(last[part.rows], subject)
    return np.asarray(first == last)


def _distinct(ways: Ways) -> list[Blame]:
    """Parts with all their rows; those that cross the same rows are one."""
    order = np.lexsort((ways.row, ways.part))
    rows = np.split(ways.row[order], np.cumsum(np.bincount(ways.part, minlength=ways.parts))[:-1])
    alike: dict[bytes, list[int]] = {}
    for part in range(ways.parts):
        if len(rows[part]):
            alike.setdefault(rows[part].tobytes(), []).append(part)
    return [Blame(parts=tuple(parts), rows=rows[parts[0]]) for parts in alike.values()]


class _LowPart(NamedTuple):
    whole: Blame
    rows: Indices
    """Rows of the part without those that a slow part is on."""
    gains: Reals
    """How much of the loss of each it explains; of good rows, what speaks against it."""
    mixed: bool
    """Whether a row is good, and better than most by more than chance explains."""
    slow_rows: Indices
    """Rows nearer to the part's level than to the usual one."""

    def gain(self, alone: Flags) -> float:
        """What it explains, twice where it does `alone`."""
        return float(self.gains.sum() + self.gains[alone[self.rows]].sum())


class _Test:
    """Parts beside the rows that no slow part is on, which become fewer while parts are taken."""

    def __init__(self, log: Reals, rest: Flags, effects: Effects, error_rate: float, least: float) -> None:
        """`error_rate`: of one part."""
        self._rest, self._error_rate, self._count = rest, error_rate, int(rest.sum())
        self._losses = -log
        self.scatter = max(half_scatter(np.exp(log[rest])), least)
        self.effect = effects.chosen(self.scatter)

    def line(self, count: int) -> float:
        """Scatters by which most of this many rows are lower by chance at most in `error_rate` of cases."""
        return -_heavy(_chance_of_each(count, self._error_rate))

    def low(self, part: Blame) -> _LowPart | None:
        """The part, if most of its rows are low that no slow part is on."""
        rows = part.rows[self._rest[part.rows]]
        left = np.count_nonzero(self._rest) - len(rows)
        if len(rows) < min(FEWEST_ROWS, len(part.rows)) or left < FEWEST_ROWS or 2 * len(rows) > self._count:
            return None
        losses = self._losses[rows]
        level = float(np.sort(losses)[(len(rows) - 1) // 2])
        if level < max(self.line(len(rows)) * self.scatter, self.effect):
            return None
        apart = _heavy(1 - (1 - CONFIDENCE) / len(rows)) * self.scatter
        return _LowPart(
            whole=part,
            rows=rows,
            gains=np.clip(losses, -level, level),
            mixed=bool(losses.min() < min(level - apart, CLEAR * max(self.effect, SCATTERS * self.scatter))),
            slow_rows=rows[losses > level / 2],
        )


def _heavy(probability: float) -> float:
    """The quantile of a heavy-tailed row, in robust scatters of such rows."""
    quartile = student_quantile(0.75, HEAVY_DEGREES) * MAD_TO_DEVIATION
    size = student_quantile(max(probability, 1 - probability), HEAVY_DEGREES) / quartile
    return size if probability > 0.5 else -size


@lru_cache(maxsize=4096)
def _chance_of_each(count: int, chance: float) -> float:
    """The chance of each of `count` rows so that most of them (more than half) are low with this `chance`."""
    most = np.arange(count // 2 + 1, count + 1)
    ways = np.array([math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in most.tolist()])
    low, high = 0.0, 1.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        reached = np.exp(ways + most * math.log(middle) + (count - most) * math.log1p(-middle)).sum()
        low, high = (middle, high) if reached < chance else (low, middle)
    return high


def _of_few(log: Reals, ways: Ways, effects: Effects, error_rate: float, least: float, freedom: float) -> SlowParts:
    """The set of parts that leaves the least scatter, each slower than the rest for certain and by the effect.

    Of few nodes a slow one is on half of all pairs: what is usual is known only with what is slow. Each part has a
    level of its own, and a row the lowest of those that it crosses. A part is compared with the rows that cross none
    of the set (Student's test), with Bonferroni's correction over all sets of that size.
    """
    parts = [part for part in _distinct(ways) if len(part.rows) >= FEWEST_ROWS]
    crossed = np.array([np.isin(np.arange(len(log)), part.rows) for part in parts]).reshape(len(parts), len(log))
    log = log - array_median(log)
    best = _Fit(scatter=max(float(np.std(log, ddof=1)) if len(log) > 1 else 0.0, least), degrees=len(log) - 1)
    for size in range(1, min(len(parts), len(log) - FEWEST_ROWS) + 1):
        if (tests := math.comb(len(parts), size)) > MOST_SETS:
            break
        sets = np.array([*combinations(range(len(parts)), size)])
        degrees = len(log) - 1 - size
        critical = [critical_value(tests, most, error_rate) for most in (degrees, max(degrees, freedom))]
        best = min(best, _best(log, crossed, sets, effects, critical, least))
    fewest = min((len(part.rows) for part in parts), default=len(log))
    error = best.scatter * math.sqrt(1 / max(fewest, 1) + 1 / max(len(log) - fewest, 1))
    shown = detectable(critical_value(len(parts), best.degrees, error_rate) * error, error)
    return SlowParts(
        blamed=tuple(parts[part] for part in best.chosen),
        mixed=(),
        rest=np.asarray(~crossed[list(best.chosen)].any(axis=0)),
        scatter=best.scatter,
        degrees=max(best.degrees, 1),
        detectable=max(shown, effects.chosen(best.scatter)),
        hidden=shown,
    )


class _Fit(NamedTuple):
    scatter: float
    degrees: int
    chosen: tuple[int, ...] = ()


def _best(
    log: Reals, distinct: Flags, sets: Indices, effects: Effects, critical: Sequence[float], least: float
) -> _Fit:
    """The set of those of one size that leaves the least scatter; without bounds where in none all parts are slow.

    `distinct[p, r]`: whether row r crosses part p. `sets[s]`: parts. Each must have rows of its own.
    `critical`: where rows scatter, and where they scatter less than the `least` that is known.
    """
    size, degrees = sets.shape[1], len(log) - 1 - sets.shape[1]
    crossed = distinct[sets]
    alone = crossed & (crossed.sum(axis=1, keepdims=True) == 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = np.nan_to_num((alone @ log) / alone.sum(axis=2), nan=np.inf)  # one without own rows has none
        worst = np.where(crossed, levels[:, :, None], np.inf)
        own = crossed & (worst.argmin(axis=1)[:, None, :] == np.arange(size)[:, None])
        groups = np.concatenate([~crossed.any(axis=1, keepdims=True), own], axis=1)
        # Two slow parts on one way may add up.
        values = np.where(crossed.sum(axis=1) > 1, np.maximum(log, worst.min(axis=1)), log)[:, None]
        count, total = groups.sum(axis=2), (groups * values).sum(axis=2)
        means = total / count
        squares = ((groups * values**2).sum(axis=2) - total * means).sum(axis=1)
        scatter = np.sqrt(np.maximum(squares / degrees, least**2))
        losses = means[:, :1] - means[:, 1:]
        scores = losses / (scatter[:, None] * np.sqrt(1 / count[:, :1] + 1 / count[:, 1:]))
    sure = scores.min(axis=1) >= np.where(scatter > least, *critical)
    able = np.flatnonzero((count.min(axis=1) >= FEWEST_ROWS) & sure)
    for place in able[np.argsort(scatter[able])].tolist():
        if losses[place].min() >= effects.chosen(float(scatter[place])):
            return _Fit(scatter=float(scatter[place]), degrees=degrees, chosen=tuple(sets[place].tolist()))
    return _Fit(scatter=math.inf, degrees=degrees)
