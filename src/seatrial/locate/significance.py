"""How much healthy numbers scatter, and how many standard errors count as an effect when many subjects are tested."""

import math
from statistics import NormalDist

import numpy as np

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import (
    ERROR_RATE,
    LEAST_SCATTER,
    array_median,
    robust_scale,
    student_quantile,
    two_sided,
)

POWER = 0.95
_NORMAL = NormalDist()


def critical_value(tests: int, degrees: float, error_rate: float = ERROR_RATE) -> float:
    """Standard errors that a one-sided test must exceed so that `tests` tests err with `error_rate` together.

    Bonferroni over the tests, and Student's distribution with `degrees` of freedom of the scale.
    """
    return student_quantile(1 - error_rate / max(tests, 1), max(degrees, 1.0))


def adjusted_p(scores: Reals, tests: int, degrees: float) -> Reals:
    """Family-wise p-values of one-sided scores: the probability that any of `tests` healthy subjects scores as much."""
    tails = two_sided(np.maximum(scores, 0.0), np.asarray(degrees, dtype=np.float64)) / 2
    return np.minimum(tails * tests, 1.0)


def detectable(threshold: float, standard_error: float) -> float:
    """The smallest effect that exceeds `threshold` with 95 % power, all three on the log scale."""
    return threshold + _NORMAL.inv_cdf(POWER) * standard_error


# Scatter of numbers that should be equal.

HALF_NORMAL = 1.7
"""Robust scatter of a normal distribution over that of its upper half."""
NEAR = 0.05


def resolution(values: Reals) -> float:
    """The step in which values are given: the smallest difference of distinct ones near the median, or 0.

    Tools print two decimals, and of quantised data the median absolute deviation may be zero. Values more than NEAR
    from the median do not count: between a good and a slow pair lies no step of the printer.
    """
    finite = _finite(values)
    centre = array_median(finite)
    steps = np.diff(np.sort(finite[np.abs(finite - centre) <= NEAR * abs(centre)]))
    least = float(steps.min(initial=np.inf, where=steps > 1e-9 * abs(centre)))
    return least if math.isfinite(least) else 0.0


def relative_scale(values: Reals) -> float:
    """Scatter as a share of the median: the greatest of the robust one, rounding's (step / sqrt 12), and LEAST_SCATTER.

    Never zero, so that equal or quantised values divide by something. `values` must be positive and not empty.
    """
    finite = _finite(values)
    centre = array_median(finite)
    return max(robust_scale(finite, centre) / centre, resolution(finite) / math.sqrt(12) / centre, LEAST_SCATTER)


def half_scatter(ratio: Reals) -> float:
    """Robust scatter; of the better half where that is less than half of it, so that the worse half is slow.

    Half a normal distribution scatters less than the whole.
    """
    better = HALF_NORMAL * relative_scale(ratio[ratio >= np.median(ratio)])
    whole = relative_scale(ratio)
    return better if better < whole / 2 else whole


def _finite(values: Reals) -> Reals:
    """The finite values; the array itself where all are finite, since it may be large."""
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]
