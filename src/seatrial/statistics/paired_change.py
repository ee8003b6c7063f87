"""Did times change at a date: each group is compared with itself, and days are the unit of replication.

Jobs of a day depend on each other (one input, one campaign, one state of the file system), so the logarithm of a
group's median time of a day is one value, and the means before and after are compared by Welch's test (Biometrika 34,
1947).
Groups share one error rate (Holm, Scand. J. Stat. 6, 1979), and the intervals of those that are named are as wide as it
takes for all of these together to hold (Benjamini and Yekutieli, J. Am. Stat. Assoc. 100, 2005).
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.strata import Places
from seatrial.statistics.student import quantile, two_sided

FEWEST_DAYS = 3
"""Days on each side with a job of the group."""
LEAST_ERROR = 1e-4
CONFIDENCE = 0.95


class DayMedians(msgspec.Struct, frozen=True, kw_only=True):
    """One value for each day of each group that has jobs on it."""

    group: Places
    day: Places
    value: Reals


class GroupChanges(msgspec.Struct, frozen=True, kw_only=True):
    """For each group the logarithm of time after over before, its standard error, and p-value; NaN: not compared."""

    change: Reals
    error: Reals
    degrees: Reals
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
    middle = (values[begins + (sizes - 1) // 2] + values[begins + sizes // 2]) / 2
    return DayMedians(group=groups[begins], day=days[begins], value=middle)


def changes_at(medians: DayMedians, since: int, count: int, error_rate: float) -> GroupChanges:
    """The change of each of `count` groups from the day `since` on."""
    later = medians.day >= since
    change, error, degrees = (np.full(count, np.nan) for _ in range(3))
    sides = [_moments(medians, side, count) for side in (~later, later)]
    (days, means, variances), (later_days, later_means, later_variances) = sides
    enough = (days >= FEWEST_DAYS) & (later_days >= FEWEST_DAYS)
    first, second = variances[enough] / days[enough], later_variances[enough] / later_days[enough]
    change[enough] = (later_means - means)[enough]
    error[enough] = np.maximum(np.sqrt(first + second), LEAST_ERROR)
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = (first + second) ** 2 / (first**2 / (days[enough] - 1) + second**2 / (later_days[enough] - 1))
    degrees[enough] = np.where(np.isfinite(welch), welch, days[enough] + later_days[enough] - 2)
    p_value = two_sided(change / error, degrees)
    named = _holm(p_value, error_rate)
    compared = max(int(enough.sum()), 1)
    confidence = np.where(named, 1 - (1 - CONFIDENCE) * max(int(named.sum()), 1) / compared, CONFIDENCE)
    width = np.full(count, np.nan)
    for level in np.unique(confidence):
        chosen = enough & (confidence == level)
        width[chosen] = quantile(float(level), degrees[chosen]) * error[chosen]
    return GroupChanges(
        change=change,
        error=error,
        degrees=degrees,
        p_value=p_value,
        named=named,
        low=change - width,
        high=change + width,
    )


def _moments(medians: DayMedians, side: NDArray[np.bool_], count: int) -> tuple[Reals, Reals, Reals]:
    """Days, mean and variance of each group."""
    group, value = medians.group[side], medians.value[side]
    days = np.bincount(group, minlength=count).astype(float)
    means = np.bincount(group, value, count) / np.maximum(days, 1)
    squares = np.bincount(group, (value - means[group]) ** 2, count)
    return days, means, squares / np.maximum(days - 1, 1)


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
    compared = ~np.isnan(changes.change)
    weights = 1 / changes.error[compared] ** 2
    if not len(weights):
        return math.nan, math.nan
    value = float(np.average(changes.change[compared], weights=weights))
    differ = float((weights * (changes.change[compared] - value) ** 2).sum()) / max(len(weights) - 1, 1)
    return value, math.sqrt(max(differ, 1.0) / float(weights.sum()))
