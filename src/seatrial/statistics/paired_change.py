"""Did times change at a date: each group is compared with itself, and days are the unit of replication.

Jobs of a day depend on each other (one input, one campaign, one state of the file system), so the logarithm of a
group's median time of a day is one value. The days before and after are compared by their ranks (Mann and Whitney,
Ann. Math. Stat. 18, 1947), and the change is the median of all differences, with the interval of their order statistics
(Hodges and Lehmann, Ann. Math. Stat. 34, 1963): many groups have short and long jobs, and means of their days show
nothing. A time that was cut off is greater than all others, and intervals allow any longer time in its place.

Many groups also have kinds of jobs whose share differs from day to day. Of all factors that median brings days before
and after closest together (it minimises their energy distance: Szekely and Rizzo, J. Stat. Plan. Inference 143, 2013).
Where it takes away less than half of that distance the mix has changed, and the group is not named. Where a change is
hidden to the ranks by kinds that lie farther apart, days that are put on either side by chance are seldom brought
together as well: a permutation test, of which Besag and Clifford (Biometrika 78, 1991) draw no more than it takes.

Groups share one error rate (Holm, Scand. J. Stat. 6, 1979), and the intervals of those that are named are as wide as it
takes for all of these together to hold (Benjamini and Yekutieli, J. Am. Stat. Assoc. 100, 2005).
"""

import math
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import CONFIDENCE
from seatrial.statistics.strata import ENDLESS, Places, midranks

FEWEST_DAYS = 3
"""Days on each side with a job of the group."""
LEAST_ERROR = 1e-4
MOST_PAIRS = 250_000
"""Differences of one group that are looked at; of more days than that, evenly chosen ones."""
HALF = 0.5
"""Least share of the distance between days before and after that one factor explains."""
DRAWS, ENOUGH, PAIRS_OF_DRAW, DOUBTFUL = 9999, 20, 3600, 0.05
"""Permutations at most, and how many as good as what was found end them; differences of each; and the probability of
the ranks up to which it is worth it."""
TESTS = 2
"""Ranks and permutations: a group has the better of both, for which it pays."""


class DayMedians(msgspec.Struct, frozen=True, kw_only=True):
    """One value for each day of each group that has jobs on it."""

    group: Places
    day: Places
    value: Reals


class GroupChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The logarithm of each group's time after over before, its standard error, and p-value; NaN: not compared.

    Where most days after are cut off, `change` is that of the times at which they were, and `high` is infinite.
    """

    change: Reals
    error: Reals
    p_value: Reals
    named: NDArray[np.bool_]
    low: Reals
    high: Reals


def day_medians(logs: Reals, group: Places, day: Places) -> DayMedians:
    """The median of each group on each day."""
    order = np.lexsort((logs, day, group))
    groups, days, values = group[order], day[order], logs[order]
    begins = np.flatnonzero(np.r_[True, (groups[1:] != groups[:-1]) | (days[1:] != days[:-1])][: len(order)])
    sizes = np.diff(np.r_[begins, len(order)])
    lower, upper = values[begins + (sizes - 1) // 2], values[begins + sizes // 2]
    middle = np.where(upper >= ENDLESS, upper, (lower + upper) / 2)
    return DayMedians(group=groups[begins], day=days[begins], value=middle)


class _Side(msgspec.Struct, frozen=True):
    """Days of one group: their times, endless where they were cut off, and the times at which they were."""

    times: Reals
    ended: Reals

    @property
    def open(self) -> Reals:
        """The times, infinite where they were cut off."""
        return np.where(self.times >= ENDLESS, math.inf, self.times)

    def few(self, pairs: int) -> "_Side":
        """Evenly chosen days, as many as there is room for."""
        chosen = np.linspace(0, len(self.times) - 1, min(len(self.times), math.isqrt(pairs))).astype(int)
        return _Side(self.times[chosen], self.ended[chosen])


class _Differences:
    """All differences of one group between a day after and a day before, in order."""

    def __init__(self, before: _Side, after: _Side) -> None:
        self._sizes = len(before.times), len(after.times)
        together = np.r_[before.times, after.times]
        self._ranks = midranks(together, np.zeros(len(together), np.intp))
        self._few = before.few(PAIRS_OF_DRAW).ended, after.few(PAIRS_OF_DRAW).ended
        before, after = before.few(MOST_PAIRS), after.few(MOST_PAIRS)
        times = (before.ended, after.ended)
        self._within = sum(float(np.abs(np.subtract.outer(side, side)).mean()) / 2 for side in times)
        self._known = np.sort(np.subtract.outer(after.ended, before.ended).ravel())
        self._least = np.sort(np.subtract.outer(after.ended, before.open).ravel())
        self._most = np.sort(np.subtract.outer(after.open, before.ended).ravel())

    @property
    def deviations(self) -> float:
        """How many standard deviations the days after rank above those before."""
        first, second = self._sizes
        total = first + second
        excess = float(self._ranks[first:].sum()) - second * (total + 1) / 2
        spread = float(((self._ranks - (total + 1) / 2) ** 2).sum()) / (total - 1)
        return excess / math.sqrt(first * second / total * spread) if spread > 0 else 0.0

    @property
    def p_value(self) -> float:
        """Probability of no less by chance, of the better of both tests."""
        of_ranks = math.erfc(abs(self.deviations) / math.sqrt(2))
        return min(TESTS * min(of_ranks, self._chance() if 1 / DRAWS < of_ranks <= DOUBTFUL else 1.0), 1.0)

    def _chance(self) -> float:
        """Probability that days put on either side by chance are brought together as well."""
        gain, draw = _gain(*self._few), np.random.default_rng(1)
        days, first, hits, batch = np.concatenate(self._few), len(self._few[0]), 0, math.isqrt(DRAWS)
        for drawn in range(0, DRAWS, batch):
            mixed = draw.permuted(np.tile(days, (batch, 1)), axis=1)
            for row in np.flatnonzero(_most_gains(mixed, first) >= gain - 1e-9).tolist():  # rounding
                hits += _gain(mixed[row, :first], mixed[row, first:]) >= gain
                if hits == ENOUGH:
                    return hits / (drawn + row + 1)
        return (hits + 1) / (DRAWS + 1)

    @property
    def explained(self) -> float:
        """Share of the distance between days before and after that the median takes away."""
        apart = float(np.abs(self._known).mean())
        return (apart - float(np.abs(self._known - self.middle).mean())) / max(apart - self._within, LEAST_ERROR)

    @property
    def middle(self) -> float:
        """The median."""
        return float(np.median(self._known))

    def interval(self, deviations: float) -> tuple[float, float]:
        """The changes at which the ranks show no more than that."""
        first, second = self._sizes
        share = 0.5 - deviations * math.sqrt((first + second + 1) / (12 * first * second))
        outside = math.floor(len(self._known) * share)
        if outside < 0:
            return -math.inf, math.inf
        return float(self._least[outside]), float(self._most[-1 - outside])


def _gain(before: Reals, after: Reals) -> float:
    """The distance by which shifting by the median of all differences brings the days together."""
    far = np.subtract.outer(after, before)
    return float(np.abs(far).mean() - np.abs(far - np.median(far)).mean())


def _most_gains(days: Reals, first: int) -> Reals:
    """Energy distance of each row's `first` days from its others: no shift brings them closer together than that."""
    second = days.shape[1] - first
    before, after, both = (np.sort(part, axis=1) @ np.arange(1 - part.shape[1], part.shape[1], 2)
                           for part in (days[:, :first], days[:, first:], days[:1]))  # fmt: skip
    return np.asarray((both - before - after) / (first * second) - before / first**2 - after / second**2, np.float64)


def changes_at(
    medians: DayMedians, since: int, count: int, error_rate: float, ended: DayMedians | None = None, step: float = 0.0
) -> GroupChanges:
    """The change of each of `count` groups from the day `since` on.

    `ended`: the same days with the times at which jobs were cut off. `step`: what times are counted in.
    """
    change, error, p_value, low, high = (np.full(count, np.nan) for _ in range(5))
    compared: dict[int, tuple[_Differences, float]] = {}
    ended = ended or medians
    groups, places = np.unique(medians.group, return_index=True)
    ends = np.append(places[1:], len(medians.group))
    for group, place, end in zip(groups.tolist(), places.tolist(), ends.tolist(), strict=True):
        split = place + int(np.searchsorted(medians.day[place:end], since))
        if min(split - place, end - split) < FEWEST_DAYS:
            continue
        before, after = (_Side(medians.value[a:b], ended.value[a:b]) for a, b in ((place, split), (split, end)))
        differences = _Differences(before, after)
        coarse = step * float(np.exp(-np.median(before.ended)) + np.exp(-np.median(after.ended))) / 2
        compared[group] = differences, coarse
        change[group], p_value[group] = differences.middle, differences.p_value
        below, above = differences.interval(_deviations(CONFIDENCE))
        low[group], high[group] = below - coarse, above + coarse
        error[group] = max((high[group] - low[group]) / (2 * _deviations(CONFIDENCE)), LEAST_ERROR)
    named = _holm(p_value, error_rate)
    level = 1 - (1 - CONFIDENCE) * max(int(named.sum()), 1) / max(len(compared), 1)
    for group in np.flatnonzero(named).tolist():
        differences, coarse = compared[group]
        below, above = differences.interval(_deviations(level))
        low[group], high[group] = below - coarse, above + coarse
        named[group] = differences.explained >= HALF and not low[group] <= 0 <= high[group]
    return GroupChanges(change=change, error=error, p_value=p_value, named=named, low=low, high=high)


def _deviations(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _holm(p_value: Reals, error_rate: float) -> NDArray[np.bool_]:
    """Which tests are named such that any false one is with the error rate at most."""
    named = np.zeros(len(p_value), bool)
    tested = np.flatnonzero(~np.isnan(p_value))
    for place, group in enumerate(tested[np.argsort(p_value[tested], kind="stable")]):
        if p_value[group] * (len(tested) - place) > error_rate:
            break
        named[group] = True
    return named


def course(medians: DayMedians, count: int) -> tuple[Places, Reals]:
    """How far groups are from their usual time, in distances between quartiles, in the order of days; and the days.

    Each day of a group is one value, so that all values scatter alike, however many groups run on a day. Many values
    are averaged to `MOST_VALUES` of as many each.
    """
    usual, scale = np.zeros(count), np.ones(count)
    for group in np.unique(medians.group):
        values = medians.value[medians.group == group]
        usual[group] = np.median(values)
        scale[group] = max(float(np.subtract(*np.percentile(values, [75, 25]))), LEAST_ERROR) if len(values) > 1 else 1
    far = np.clip((medians.value - usual[medians.group]) / scale[medians.group], -MOST_FAR, MOST_FAR)
    order = np.argsort(medians.day, kind="stable")
    together = -(-len(order) // MOST_VALUES) or 1
    begins = np.arange(0, len(order), together)
    means = np.add.reduceat(far[order], begins) / np.diff(np.r_[begins, len(order)])
    return medians.day[order][begins], means


MOST_FAR = 1.0
"""A day of a group that is farther from its usual time, in distances between its quartiles, counts for no more."""
MOST_VALUES = 400


def pooled_change(changes: GroupChanges) -> tuple[float, float]:
    """The change of all groups together, a logarithm, and its standard error; NaN where none was compared.

    Groups that differ by more than their errors widen the common error (Birge, Phys. Rev. 40, 1932).
    """
    compared = np.isfinite(changes.error)
    weights = 1 / changes.error[compared] ** 2
    if not len(weights):
        return math.nan, math.nan
    value = float(np.average(changes.change[compared], weights=weights))
    differ = float((weights * (changes.change[compared] - value) ** 2).sum()) / max(len(weights) - 1, 1)
    return value, math.sqrt(max(differ, 1.0) / float(weights.sum()))
