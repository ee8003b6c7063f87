"""Standard errors of changes between two sets of runs: for sameness, and of subjects that jump between levels.

Sameness assumes less than the interval of a change does, since a change may make runs scatter more, or less. So each
set keeps the variance of its own runs (Welch, Biometrika 34, 1947); of whole runs the degrees of freedom are those of
the smaller set, with which the error rate holds whatever the two variances are (Mickey and Brown, Ann. Math. Stat. 37,
1966); a set of one run shows no sameness. Subjects may scatter unequally: the typical variance counts at most half as
much as the runs of the subject itself. The middle of all subjects is uncertain by how much subjects differ in their
changes, too.

Subjects that jump from run to run, as the latency of a pair does whose ranks land elsewhere, are not normal. The two
runs of a set agree by chance, and their scatter then says that nothing varies: of six pairs that do 12 or 19
microseconds, one does 12 in both runs before and 19 in both runs after.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import FEWEST_ALIKE, MEDIAN_ERROR, NORMAL_95, two_sided
from seatrial.statistics.scan import (
    MOST_AUTOCORRELATION,
    autocorrelation,
    independent_share,
    residual_products,
)

JUMPING = 2.0
"""Subjects jump if the largest tenth of their deviations begins at this many times what a normal distribution with as
small a smallest fifth would make it; of Student's distribution with 3 degrees of freedom it is 1.3 times."""
LARGEST, SMALLEST = 0.9, 0.2
NORMAL_SMALLEST = NormalDist().inv_cdf((1 + SMALLEST) / 2)
"""The quantile `SMALLEST` of the size of a standard normal number; `LARGEST` is `NORMAL_95`."""
FEWEST_JUMPING = 2
"""Subjects: a single unsteady one says nothing of the others."""
ALIKE = 1.5
"""A jump looks like a change if neither is more than this many times the other one."""
LEAST_DEVIATION = 1e-5
"""Least deviation of a logarithm: equal numbers are no more certain, since clocks and formats round."""
FEWEST_VARIANCES = 4
"""Variances of fewer subjects say nothing of how variances differ, and are left as they are."""
ALL_ALIKE = 1e4
"""Degrees of freedom of the typical variance where all variances are alike but for chance."""


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """Standard errors of changes, one number a subject, with their degrees of freedom; NaN and 0 where unknown."""

    error: Reals
    degrees: Reals


def worth_of_run(first: Reals, second: Reals) -> float:
    """How many independent runs one run is worth: 1, or fewer where a test of 5 % shows that each resembles the one
    before. `first`, `second`: deviations of the whole runs of both sets in the order in which they were measured."""
    sets, runs = (first, second), len(first) + len(second)
    squares, lagged = np.sum([residual_products(values - values.mean()) for values in sets], axis=0)
    # The mean of each set takes 1/runs.
    if squares <= 0 or lagged / squares + len(sets) / runs <= NORMAL_95 / math.sqrt(runs):
        return 1.0
    alike = autocorrelation(squares, lagged, runs, len(sets), 1)
    return independent_share(min(alike, MOST_AUTOCORRELATION))


def errors_of_runs(first: Reals, second: Reals, scatter: float, subjects: int) -> Error:
    """Errors of all subjects together, a column of one. `first`, `second`: deviations of the whole runs.

    `scatter`: standard deviation of the changes of `subjects` subjects, NaN where they are too few to know it.
    """
    variance = variance_of(first) / len(first) + variance_of(second) / len(second)
    error = math.sqrt(variance / worth_of_run(first, second))
    middle = 0.0 if math.isnan(scatter) else MEDIAN_ERROR * scatter / math.sqrt(subjects)
    degrees = float(min(len(first), len(second)) - 1)
    return Error(error=np.array([math.hypot(error, middle)]), degrees=np.array([degrees]))


def errors_of_subjects(first: Reals, second: Reals, together: Error) -> Error:
    """Errors of each subject. `first`, `second`: deviations of runs beyond the whole run, runs down, NaN: missing."""
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
    """Variance of the runs of one set; NaN for one run."""
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
    """Error from independent parts of a variance."""
    total = np.sum(np.broadcast_arrays(*parts), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = total**2 / sum(part**2 / one for part, one in zip(parts, degrees, strict=True))
    finite = np.isfinite(total) & np.isfinite(free)
    return Error(error=np.where(finite, np.sqrt(total), np.nan), degrees=np.where(finite, free, 0.0))


class Jumps(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of both sets show of jumps: most deviations are small, and some, of several subjects, are large."""

    deviation: float
    """Standard deviation of a normal distribution with as large a tenth of deviations."""
    differences: Reals
    """Between one run of a subject and the next one of its set: sizes, ascending, of all subjects."""
    largest: Reals
    """The largest one of each subject, ascending."""
    sizes: tuple[int, int]
    """Runs of both sets."""
    subjects: int

    def error_of_middle(self, subjects: float) -> Error:
        """Error of the change of the median over that many subjects; it hides the jumps of less than half of them."""
        error = MEDIAN_ERROR * self.deviation / math.sqrt(subjects) * math.sqrt(sum(1 / n for n in self.sizes))
        degrees = float((sum(self.sizes) - 2) * (self.subjects - 1))
        return Error(error=np.array([error]), degrees=np.array([degrees]))

    def chance_of_middle(self, change: Reals, subjects: float) -> Reals:
        """Probability that jumps alone change the median of that many subjects by as much."""
        error = self.error_of_middle(subjects)
        return two_sided(change / error.error, error.degrees)

    def chance_of(self, change: Reals, runs: Reals) -> Reals:
        """Probability that a subject without a change jumps only between the sets, by the size of `change`.

        `runs`: of the smaller set, a number a subject. Of two levels with probabilities p and 1 - p, two runs differ
        with 2 p (1 - p) = r, and n runs of one level are followed by n of the other one with 2 (r / 2)^n. At least two
        subjects must jump like that: a single unsteady one says nothing of the others.
        """
        alike = _between(self.differences, np.abs(change))
        several = _between(self.largest, np.abs(change)) >= FEWEST_JUMPING
        rate = np.where(several, alike / max(len(self.differences), 1), 0.0)
        return np.minimum(2 * (rate / 2) ** runs, 1.0)


def _between(ascending: Reals, sizes: Reals) -> NDArray[np.intp]:
    """How many numbers look like each size."""
    below = np.searchsorted(ascending, sizes / ALIKE)
    return np.asarray(np.searchsorted(ascending, sizes * ALIKE, side="right") - below)


def jumps_of(sides: Sequence[Reals]) -> Jumps | None:
    """None: subjects do not jump, or subjects or runs are too few to know.

    `sides`: of both sets by how much each subject deviates beyond its whole run, logarithms, runs down, NaN where
    missing.
    """
    subjects = sides[0].shape[1]
    sizes = (len(sides[0]), len(sides[1]))
    by_subject = np.concatenate([_deviations(logs) for logs in sides])
    deviations = by_subject[~np.isnan(by_subject)]
    if subjects < FEWEST_ALIKE or not len(deviations) or sum(sizes) < 3:
        return None
    tenth = float(np.quantile(deviations, LARGEST))
    jumping = int(np.sum(np.nan_to_num(by_subject).max(axis=0) >= tenth))
    largest = tenth / NORMAL_95
    smallest = max(float(np.quantile(deviations, SMALLEST)) / NORMAL_SMALLEST, LEAST_DEVIATION)
    if jumping < FEWEST_JUMPING or largest <= JUMPING * smallest:
        return None
    differences = np.abs(np.concatenate([np.diff(logs, axis=0) for logs in sides]))
    measured = ~np.isnan(differences)
    return Jumps(
        deviation=largest,
        differences=np.sort(differences[measured]),
        largest=np.sort(np.max(np.where(measured, differences, 0.0), axis=0)),
        sizes=sizes,
        subjects=subjects,
    )


def _deviations(logs: Reals) -> Reals:
    """Sizes of the deviations from a subject's mean, scaled by what they are smaller for having made the mean."""
    runs = np.sum(~np.isnan(logs), axis=0)
    scale = np.sqrt(runs / np.where(runs > 1, runs - 1, np.nan))
    sizes: Reals = np.abs((logs - np.nanmean(logs, axis=0)) * scale)
    return sizes


class Shrunken(msgspec.Struct, frozen=True, kw_only=True):
    """One variance a subject, and the degrees of freedom that it is as good as."""

    variances: Reals
    degrees: Reals
    typical: float
    """The variance that the others are drawn towards; NaN without any."""
    typical_degrees: float
    """How strongly; 0: not at all."""


def shrink(variances: Reals, degrees: Reals) -> Shrunken:
    """`variances` with `degrees` of freedom each (0: unknown), drawn towards the typical variance.

    With two or three runs a variance of one subject says little; the variances of all subjects together say how much
    they differ. Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004), section 6.
    """
    floored = np.maximum(variances, LEAST_DEVIATION**2)
    usual = float(np.median(degrees[degrees > 0])) if np.any(degrees > 0) else 0.0
    sample = floored[(degrees == usual) & np.isfinite(floored)] if usual else np.empty(0)
    if len(sample) < FEWEST_VARIANCES:
        typical = float(np.mean(sample)) if len(sample) else math.nan
        return Shrunken(variances=floored, degrees=degrees.astype(float), typical=typical, typical_degrees=0.0)
    typical, strength = _prior(sample, usual)
    own = np.where(degrees > 0, degrees, 0.0)
    total = own + strength
    mixed = (strength * typical + own * np.where(own > 0, np.nan_to_num(floored), 0.0)) / total
    total = np.minimum(total, own.sum())  # the typical variance is measured, too, and no better than by all of them
    return Shrunken(variances=mixed, degrees=total, typical=typical, typical_degrees=strength)


def _prior(sample: Reals, degrees: float) -> tuple[float, float]:
    """The typical variance and its degrees of freedom, from the mean and the scatter of the logarithms."""
    logs = np.log(sample) - digamma(degrees / 2) + math.log(degrees / 2)
    scatter = float(np.var(logs, ddof=1)) - trigamma(degrees / 2)
    if scatter <= 0:
        return float(np.exp(np.mean(logs))), ALL_ALIKE
    strength = min(2 * trigamma_inverse(scatter), ALL_ALIKE)
    return float(np.exp(np.mean(logs) + digamma(strength / 2) - math.log(strength / 2))), strength


def digamma(x: float) -> float:
    """Derivative of log gamma; recurrence and asymptotic series (Abramowitz and Stegun, 6.3.5 and 6.3.18)."""
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    return shift + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))


def trigamma(x: float) -> float:
    """Derivative of digamma (Abramowitz and Stegun, 6.4.6 and 6.4.12)."""
    shift = 0.0
    while x < 10:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    return shift + 1 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))


def trigamma_inverse(value: float) -> float:
    """The x > 0 at which trigamma, which falls, has that value > 0; by bisection of the logarithm."""
    low, high = math.log(1e-8), math.log(1e8)
    for _ in range(100):
        middle = (low + high) / 2
        if trigamma(math.exp(middle)) > value:
            low = middle
        else:
            high = middle
    return math.exp(high)
