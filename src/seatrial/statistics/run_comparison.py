"""Two sets of runs compared subject by subject: ratios with intervals, and whether they show a change or sameness.

The unit of replication is the run: a launch of its own. The logarithm of the value of subject k in run r is
m_k + c_r + e_rk: what the subject usually does, what the whole run deviates by (all subjects together), and what this
subject deviates by in this run. The deviation of a run is shared by all subjects of it, so it is estimated from the
runs alone and never from the many subjects; the deviations of single subjects are estimated from all subjects together
(`change_errors.shrink`). The interval of a change adds both variances, with degrees of freedom after Satterthwaite
(Biometrics Bulletin 2, 1946). Sameness is shown by two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15,
1987): the 90 % interval lies within the practical threshold. That interval is the wider one of the pooled one and of
one that does not assume that both sets scatter alike (`change_errors`).

Where subjects jump between levels from run to run, a few runs may agree by chance (`change_errors.Jumps`). The interval
of all subjects together is then at least as wide as the jumps of single ones make their median, and the change of one
subject is as certain, at most, as that it did not jump.
"""

import math
import warnings

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.measurement import Estimate
from seatrial.model.pair_table import Reals
from seatrial.statistics.change_errors import (
    LEAST_DEVIATION,
    Error,
    Jumps,
    errors_of_runs,
    errors_of_subjects,
    jumps_of,
    shrink,
    variance_of,
    worth_of_run,
)
from seatrial.statistics.estimates import (
    CONFIDENCE,
    ERROR_RATE,
    MOST_LOG,
    SAMENESS_CONFIDENCE,
    UNLIKE_CONFIDENCE,
    quantile,
    ratio_tails,
    robust_scale,
    two_sided,
)

UNLIKE_CHANCE = 0.3
"""Runs of one set seem to scatter more than those of the other if chance makes such a difference more seldom. The
interval is then the wider one of both kinds."""
MOST_WIDENED, HALVINGS = 1e3, 30
"""Largest factor by which jumps widen an error, and the halvings that find it."""
FEWEST_TO_SCATTER = 5
"""The scatter of fewer subjects is not estimated."""


class SubjectChange(msgspec.Struct, frozen=True, kw_only=True):
    """Logarithms of ratios, second set over first, one number a subject; NaN or infinite where unknown."""

    change: Reals
    error: Reals
    """Standard error of the change."""
    degrees: Reals
    low: Reals
    high: Reals
    p_value: Reals
    """p-value of no change; NaN if the runs cannot say."""
    same_low: Reals
    same_high: Reals
    """The 90 % interval."""
    relative: Reals
    """The change beyond that of all subjects together."""
    relative_p: Reals
    """p-value of no change relative to all subjects."""

    def within(self, threshold: float) -> NDArray[np.bool_]:
        """Subjects whose change is shown to be below the threshold, a share: 0.02 permits ratios 0.98 to 1/0.98."""
        bound = -math.log1p(-threshold)
        inside: NDArray[np.bool_] = (self.same_low > -bound) & (self.same_high < bound)
        return inside

    def certain(self, p_value: Reals, deviates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Subjects whose change is certain by its own test (`p_value`, adjusted), or by its interval, with the
        deviations of whole runs, if the subject changed otherwise than most others did (`deviates`), and by more."""
        with np.errstate(invalid="ignore"):
            more = np.abs(self.change - self.relative) < np.abs(self.change)  # else only the others may have changed
            away = ((self.low > 0) | (self.high < 0)) & more & (2 * deviates.sum() < len(deviates))
            return np.asarray((p_value <= ERROR_RATE) | (away & deviates))

    def ratio(self, place: int, runs: tuple[int, int]) -> Estimate:
        """One subject's ratio, second set over first; without bounds if the `runs` of both sets cannot give any."""
        logs = (float(numbers[place]) for numbers in (self.change, self.low, self.high))
        value, low, high = (math.inf if log > MOST_LOG else math.exp(log) for log in logs)
        return Estimate(
            value=value, low=low, high=high, confidence=CONFIDENCE, runs=sum(runs),
            method=f"geometric mean of ratios, {runs[0]} and {runs[1]} runs; Student's interval over runs",
        )  # fmt: skip


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """Standard deviations of logarithms at each level; NaN where it cannot be estimated."""

    run: float
    """Deviation of whole runs of one set, all subjects together."""
    subject_run: float
    """Deviation of one subject from run to run, beyond the whole run."""
    subject: float
    """Between subjects."""

    @property
    def one_run(self) -> float:
        """Deviation of one subject's value in one run from its usual one; the unknown part counts as zero."""
        return math.hypot(*(0.0 if math.isnan(each) else each for each in (self.run, self.subject_run)))


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of one metric: each subject, all subjects together (a column of one), and the deviations."""

    subjects: SubjectChange
    together: SubjectChange
    levels: Levels
    runs: tuple[int, int]
    jumps: Jumps | None = None


def compare_runs(first: Reals, second: Reals, *, pairs: Jumps | None = None) -> RunComparison:
    """`first`, `second`: positive values, one row a run and one column a subject; NaN where it was not measured.

    Every subject has a value in both. `pairs`: of the pairs, where subjects are nodes, each the median over its pairs.
    """
    before, after = np.log(first), np.log(second)
    with warnings.catch_warnings():  # means of nothing are NaN, as they should be
        warnings.simplefilter("ignore", RuntimeWarning)
        usual = np.nanmean(before, axis=0)
        common = (np.nanmedian(before - usual, axis=1), np.nanmedian(after - usual, axis=1))
        sides = [logs - own[:, None] for logs, own in zip((before, after), common, strict=True)]
        sizes = np.array([np.sum(~np.isnan(logs), axis=0) for logs in sides], float)
        squares = sum(np.nansum((logs - np.nanmean(logs, axis=0)) ** 2, axis=0) for logs in sides)
        free = sizes.sum(axis=0) - 2
        own = squares / np.where(free > 0, free, np.nan)
        change = np.nanmean(after, axis=0) - usual
        middle = change - float(common[1].mean() - common[0].mean())
        same = errors_of_runs(*common, _scatter(middle), len(change))
        whole_runs = _together(*common, same)
        jumps = jumps_of(sides)
        together = _together(*common, same, jumps.error_of_middle(len(change)) if jumps else None)
        same = errors_of_subjects(sides[0], sides[1], same)
    relative = change - together.change[0]
    if len(change) == 1:
        own, free = np.zeros(1), np.full(1, math.inf)
        deviations, degrees, typical = np.zeros(1), np.full(1, 1e6), math.nan
    elif np.any(free > 0):
        shrunken = shrink(np.where(free > 0, own, np.nan), free)
        deviations, degrees, typical = shrunken.variances, shrunken.degrees, math.sqrt(shrunken.typical)
    else:
        typical = _scatter(relative) / math.sqrt(2)
        deviations, degrees = np.full(len(change), typical**2), np.full(len(change), float(len(change) - 1))
    error = np.sqrt(deviations * (1 / sizes[0] + 1 / sizes[1]))
    levels = Levels(
        run=_deviation(common),
        subject_run=typical,
        subject=float(np.std(usual, ddof=1)) if len(usual) > 1 else math.nan,
    )
    subjects = _subjects(change, relative, whole_runs, error, degrees, same)
    return RunComparison(
        subjects=_no_surer(subjects, same, jumps, pairs, sizes.min(axis=0)),
        together=together,
        levels=levels,
        runs=(len(first), len(second)),
        jumps=jumps,
    )


def _no_surer(
    subjects: SubjectChange, same: Error, own: Jumps | None, pairs: Jumps | None, fewest: Reals
) -> SubjectChange:
    """Than the jumps of subjects, or of their pairs, permit. `fewest`: runs of the smaller set, by subject.

    A subject that jumped changed otherwise than the others by its jump alone. Errors grow until the p-values are those
    of jumps, so intervals say the same.
    """
    chances = []
    for size in (subjects.change, subjects.relative):
        of_size = np.zeros(len(size)) if own is None else own.chance_of(size, fewest)
        if pairs is not None:
            of_size = np.maximum(of_size, pairs.chance_of_middle(size, 2 * pairs.subjects / len(size)))
        chances.append(of_size)
    relative_p = np.maximum(subjects.relative_p, np.maximum(*chances))
    surer = subjects.p_value < chances[0]
    if not surer.any():
        return msgspec.structs.replace(subjects, relative_p=relative_p)
    error = subjects.error.copy()
    error[surer] *= _widening(subjects.change[surer] / error[surer], subjects.degrees[surer], chances[0][surer])
    return _change(subjects.change, error, subjects.degrees, subjects.relative, relative_p, same)


def _widening(t: Reals, degrees: Reals, p_value: Reals) -> Reals:
    """The factor on an error that gives `t` the p-value; by bisection of its logarithm."""
    low, high = np.zeros(len(t)), np.full(len(t), math.log(MOST_WIDENED))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        surer = two_sided(t / np.exp(middle), degrees) < p_value
        low, high = np.where(surer, middle, low), np.where(surer, high, middle)
    factors: Reals = np.exp(high)
    return factors


def _scatter(numbers: Reals) -> float:
    """Robust standard deviation; NaN for too few."""
    if len(numbers) < FEWEST_TO_SCATTER:
        return math.nan
    return max(robust_scale(numbers), LEAST_DEVIATION)


def _deviation(common: tuple[Reals, Reals]) -> float:
    """Deviation of whole runs, pooled over both sets; NaN if each has only one."""
    free = sum(len(values) - 1 for values in common)
    if free < 1:
        return math.nan
    squares = sum(float(np.sum((values - values.mean()) ** 2)) for values in common)
    return max(math.sqrt(squares / free), LEAST_DEVIATION)


def _together(before: Reals, after: Reals, same: Error, jumps: Error | None = None) -> SubjectChange:
    """All subjects together: one number a run. Of several errors the one with the widest interval counts."""
    change = np.array([after.mean() - before.mean()])
    # The standard error and its degrees of freedom where both sets scatter alike.
    error = np.array([_deviation((before, after)) * math.sqrt(1 / len(before) + 1 / len(after))])
    degrees = np.array([float(len(before) + len(after) - 2)])
    others = [_apart(before, after)] if min(len(before), len(after)) > 1 and _unlike(before, after) else []
    if jumps is not None:
        others.append((jumps.error, jumps.degrees))
    for other, other_degrees in others:
        if _half(CONFIDENCE, other, other_degrees) > _half(CONFIDENCE, error, degrees):
            error, degrees = other, other_degrees
    error /= math.sqrt(worth_of_run(before, after))
    return _change(change, error, degrees, np.zeros(1), np.full(1, np.nan), same)


def _apart(before: Reals, after: Reals) -> tuple[Reals, Reals]:
    """Standard error and degrees of freedom if each set has its own variance (Welch, Biometrika 34, 1947)."""
    parts = [variance_of(values) / len(values) for values in (before, after)]
    free = sum(part**2 / (len(values) - 1) for part, values in zip(parts, (before, after), strict=True))
    return np.array([math.sqrt(sum(parts))]), np.array([sum(parts) ** 2 / free])


def _unlike(before: Reals, after: Reals) -> bool:
    first, second = variance_of(before), variance_of(after)
    if not first or not second:
        return first != second
    return ratio_tails(first / second, len(before) - 1, len(after) - 1) < UNLIKE_CHANCE


def _subjects(
    change: Reals, relative: Reals, together: SubjectChange, error: Reals, degrees: Reals, same: Error
) -> SubjectChange:
    relative_p = two_sided(relative / np.where(error > 0, error, np.nan), degrees)
    of_run, run_degrees = float(together.error[0]), float(together.degrees[0])
    total = np.sqrt(error**2 + of_run**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        own_part = np.where(error > 0, error**4 / np.maximum(degrees, 1e-9), 0.0)
        free = total**4 / (own_part + of_run**4 / max(run_degrees, 1e-9))
    return _change(change, total, free, relative, relative_p, same)


def _half(confidence: float, error: Reals, degrees: Reals) -> Reals:
    """Half of an interval; infinite where the error is unknown."""
    bounded = np.isfinite(error) & (degrees >= 1 - 1e-9)
    return np.where(bounded, quantile(confidence, np.where(bounded, degrees, 1)) * np.where(bounded, error, 1), np.inf)


def _change(
    change: Reals, error: Reals, degrees: Reals, relative: Reals, relative_p: Reals, same: Error
) -> SubjectChange:
    """An unknown error makes the interval infinite, and leaves the test open."""
    bounded = np.isfinite(error) & (degrees >= 1 - 1e-9)
    half = _half(CONFIDENCE, error, degrees)
    same_half = np.maximum(
        _half(SAMENESS_CONFIDENCE, error, degrees), _half(UNLIKE_CONFIDENCE, same.error, same.degrees)
    )
    return SubjectChange(
        change=change,
        error=np.where(bounded, error, np.nan),
        degrees=np.where(bounded, degrees, 0.0),
        low=change - half,
        high=change + half,
        p_value=np.where(
            bounded, two_sided(change / np.where(bounded, error, 1.0), np.where(bounded, degrees, 1)), np.nan
        ),
        same_low=change - same_half,
        same_high=change + same_half,
        relative=relative,
        relative_p=relative_p,
    )
