"""Variances of many subjects that were each measured a few times: each is drawn towards the typical one.

With two or three runs a variance of one subject says little; the variances of all subjects together say how much
they differ. Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004), section 6.
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
LEAST_DEVIATION = 1e-5
"""Of a logarithm. Numbers that are equal in every run are no more certain than this: clocks and formats round."""
FEWEST_SUBJECTS = 4
"""Variances of fewer subjects say nothing of how variances differ, and are left as they are."""
ALL_ALIKE = 1e4
"""Degrees of freedom of the typical variance where all variances are alike but for chance."""


class Shrunken(msgspec.Struct, frozen=True, kw_only=True):
    """One variance a subject, and the degrees of freedom that it is as good as."""

    variances: Reals
    degrees: Reals
    typical: float
    """The variance that the others are drawn towards; NaN without any."""
    typical_degrees: float
    """How strongly; 0: not at all."""


def shrink(variances: Reals, degrees: Reals) -> Shrunken:
    """`variances` with `degrees` of freedom each (0: unknown), drawn towards the typical variance."""
    floored = np.maximum(variances, LEAST_DEVIATION**2)
    usual = float(np.median(degrees[degrees > 0])) if np.any(degrees > 0) else 0.0
    sample = floored[(degrees == usual) & np.isfinite(floored)] if usual else np.empty(0)
    if len(sample) < FEWEST_SUBJECTS:
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
