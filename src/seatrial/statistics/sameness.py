"""The error with which sameness of two sets of runs is judged, which assumes less than the interval of a change does.

A change may well make runs scatter more, or less. So each set keeps the variance of its own runs (Welch, Biometrika 34,
1947). Of whole runs the degrees of freedom are those of the smaller set, with which the error rate holds whatever the
two variances are (Mickey and Brown, Ann. Math. Stat. 37, 1966); a set of one run shows no sameness. Subjects may
scatter unequally: the typical variance counts at most half as much as the runs of the subject itself. The middle of all
subjects is uncertain by how much subjects differ in their changes, too.
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.statistics.shrunken_variances import LEAST_DEVIATION, shrink

Reals = NDArray[np.float64]
MEDIAN_ERROR = 1.2533
"""Standard error of a median of n normal values: this / sqrt(n)."""


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """Standard errors of changes, one number a subject, with their degrees of freedom; NaN and 0 where unknown."""

    error: Reals
    degrees: Reals


def errors_of_runs(first: Reals, second: Reals, scatter: float, subjects: int) -> Error:
    """Of all subjects together, a column of one. `first`, `second`: what each whole run deviates by, a number a run.

    `scatter`: standard deviation of the changes of `subjects` subjects, NaN where they are too few to know it.
    """
    error = math.sqrt(variance_of(first) / len(first) + variance_of(second) / len(second))
    middle = 0.0 if math.isnan(scatter) else MEDIAN_ERROR * scatter / math.sqrt(subjects)
    degrees = float(min(len(first), len(second)) - 1)
    return Error(error=np.array([math.hypot(error, middle)]), degrees=np.array([degrees]))


def errors_of_subjects(first: Reals, second: Reals, together: Error) -> Error:
    """Of each subject. `first`, `second`: deviations of its runs beyond the whole run, runs down, NaN where missing."""
    if first.shape[1] == 1:
        return together
    parts, degrees = [together.error**2], [together.degrees]
    for logs in (first, second):
        counts = np.sum(~np.isnan(logs), axis=0).astype(np.float64)
        own = np.maximum(counts - 1, 0.0)
        squares = np.nansum((logs - np.nanmean(logs, axis=0)) ** 2, axis=0)
        variances, worth = _mixed(np.where(own > 0, squares / np.maximum(own, 1.0), np.nan), own)
        parts.append(variances / counts)
        degrees.append(worth)
    return _sum(parts, degrees)


def variance_of(values: Reals) -> float:
    """Of the runs of one set; NaN of one run."""
    if len(values) < 2:
        return math.nan
    return max(float(np.var(values, ddof=1)), LEAST_DEVIATION**2)


def _mixed(variances: Reals, own: Reals) -> tuple[Reals, Reals]:
    """Drawn towards the typical variance, which counts at most half as much as the subject's own runs."""
    if not np.any(own > 0):
        return np.full(len(own), np.nan), np.zeros(len(own))
    shrunken = shrink(variances, own)
    floored = np.maximum(np.nan_to_num(variances), LEAST_DEVIATION**2)
    strength = np.minimum(shrunken.typical_degrees, np.where(own > 0, own / 2, shrunken.typical_degrees))
    total = own + strength
    with np.errstate(invalid="ignore"):
        typical = shrunken.typical if not math.isnan(shrunken.typical) else 0.0
        return (strength * typical + own * floored) / total, total


def _sum(parts: list[Reals], degrees: list[Reals]) -> Error:
    """Of independent parts of a variance."""
    total = np.sum(np.broadcast_arrays(*parts), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = total**2 / sum(part**2 / one for part, one in zip(parts, degrees, strict=True))
    finite = np.isfinite(total) & np.isfinite(free)
    return Error(error=np.where(finite, np.sqrt(total), np.nan), degrees=np.where(finite, free, 0.0))
