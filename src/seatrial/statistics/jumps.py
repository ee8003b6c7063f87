"""Subjects that jump between levels from run to run, as the latency of a pair does whose ranks land elsewhere.

Such numbers are not normal. The two runs of a set agree by chance, and their scatter then says that nothing varies:
of six pairs that do 12 or 19 microseconds, one does 12 in both runs before and 19 in both runs after.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.statistics.sameness import MEDIAN_ERROR, Error
from seatrial.statistics.shrunken_variances import LEAST_DEVIATION
from seatrial.statistics.student import two_sided

Reals = NDArray[np.float64]
FEWEST_SUBJECTS = 3
JUMPING = 2.0
"""Subjects jump if the largest tenth of their deviations begins at this many times what a normal distribution with as
small a smallest fifth would make it; of Student's distribution with 3 degrees of freedom it is 1.3 times."""
LARGEST, SMALLEST = 0.9, 0.2
NORMAL_LARGEST, NORMAL_SMALLEST = 1.6449, 0.2533
"""The same quantiles of the size of a standard normal number."""
FEWEST_JUMPING = 2
"""Subjects: a single unsteady one says nothing of the others."""
ALIKE = 1.5
"""A jump looks like a change if neither is more than this many times the other one."""


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
        """Of the change of the median over that many subjects, which hides the jumps of less than half of them."""
        error = MEDIAN_ERROR * self.deviation / math.sqrt(subjects) * math.sqrt(sum(1 / n for n in self.sizes))
        degrees = float((sum(self.sizes) - 2) * (self.subjects - 1))
        return Error(error=np.array([error]), degrees=np.array([degrees]))

    def chance_of_middle(self, change: Reals, subjects: float) -> Reals:
        """That jumps alone change the median of that many subjects by as much: a p-value."""
        error = self.error_of_middle(subjects)
        return two_sided(change / error.error, error.degrees)

    def chance_of(self, change: Reals, runs: Reals) -> Reals:
        """That a subject without a change jumps only between the sets, by the size of `change`: a p-value.

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
    if subjects < FEWEST_SUBJECTS or not len(deviations) or sum(sizes) < 3:
        return None
    tenth = float(np.quantile(deviations, LARGEST))
    jumping = int(np.sum(np.nan_to_num(by_subject).max(axis=0) >= tenth))
    largest = tenth / NORMAL_LARGEST
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
