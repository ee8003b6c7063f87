"""Student's distribution, for whole columns of numbers and for one, with fractional degrees of freedom."""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from seatrial.model.pair_table import Reals

STEPS = 300
TINY = 1e-300
CLOSE = 1e-13
SETTLED = 1e-11
"""Relative step of a quantile below which it is taken."""
GRID = 256
"""Quantiles are computed on a grid of 1/degrees and interpolated between."""
MOST_DEGREES = 1e4
"""Beyond it the distribution is the normal one to four digits."""
_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def two_sided(t: Reals, degrees: Reals) -> Reals:
    """P(|T| >= |t|), elementwise; NaN where either is NaN. Degrees are at least 1.

    The regularised incomplete beta function I_x(d/2, 1/2) at x = d/(d + t^2), by its continued fraction
    (NIST Digital Library of Mathematical Functions, 8.17.5 and 8.17.22).
    """
    t, degrees = np.broadcast_arrays(np.abs(np.asarray(t, float)), np.clip(np.asarray(degrees, float), 1, MOST_DEGREES))
    shape = t.shape
    t, degrees = t.ravel(), degrees.ravel()
    x = degrees / (degrees + t * t)
    half = degrees / 2
    valid = ~np.isnan(x)
    direct = valid & (x < (half + 1) / (half + 2.5))
    tails = np.full(t.shape, np.nan)
    tails[direct] = _beta_share(x[direct], half[direct], 0.5)
    rest = valid & ~direct
    tails[rest] = 1 - _beta_share(1 - x[rest], 0.5, half[rest])
    clipped: Reals = np.clip(tails, 0.0, 1.0).reshape(shape)
    return clipped


def ratio_tails(ratio: float, over: float, under: float) -> float:
    """Probability of a ratio of two estimates of one variance that is as far from 1 as this one, to either side.

    `over`, `under`: degrees of freedom of numerator and denominator. The two-sided F test, by the same function.
    """
    share = over * ratio / (over * ratio + under)
    if share < (over / 2 + 1) / ((over + under) / 2 + 2):
        below = float(_beta_share(np.array([share]), over / 2, under / 2)[0])
    else:
        below = 1 - float(_beta_share(np.array([1 - share]), under / 2, over / 2)[0])
    return min(max(2 * min(below, 1 - below), 0.0), 1.0)


def _beta_share(x: Reals, a: Reals | float, b: Reals | float) -> Reals:
    """I_x(a, b) where x < (a + 1)/(a + b + 2), by Lentz's method; converges in about sqrt(a + b) steps."""
    x = np.clip(x, TINY, 1 - 1e-16)
    total = np.asarray(a + b, float)
    log_beta = np.asarray(_log_gamma(a) + _log_gamma(b) - _log_gamma(total), float)
    front: Reals = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta) / a
    c, d = np.ones_like(x), 1 / _no_zero(1 - total * x / (a + 1))
    value = d.copy()
    for step in range(1, STEPS):
        numerator = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        d = 1 / _no_zero(1 + numerator * d)
        c = _no_zero(1 + numerator / c)
        value *= d * c
        numerator = -(a + step) * (total + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        d = 1 / _no_zero(1 + numerator * d)
        c = _no_zero(1 + numerator / c)
        value *= d * c
        if np.all(np.abs(d * c - 1) < CLOSE):
            break
    return front * value


def _no_zero(numbers: Reals) -> Reals:
    return np.where(np.abs(numbers) < TINY, TINY, numbers)


def quantile(confidence: float, degrees: Reals) -> Reals:
    """The t that |T| does not exceed with this probability, elementwise; infinite for fewer than 1 degree."""
    inverse = 1 / np.clip(degrees, 1e-9, MOST_DEGREES)
    tails: Reals = np.interp(inverse, *_grid(confidence))
    return np.where(np.asarray(degrees) < 1 - 1e-9, np.inf, tails)


@lru_cache(maxsize=4096)
def student_quantile(probability: float, degrees: float) -> float:
    """The t below which Student's T stays with this probability, for a probability from 0.5 to below 1."""
    return float(_newton(2 * probability - 1, np.array([degrees], dtype=float))[0])


@lru_cache(maxsize=16)
def _grid(confidence: float) -> tuple[Reals, Reals]:
    inverse = np.linspace(1 / MOST_DEGREES, 1.0, GRID)
    return inverse, _newton(confidence, 1 / inverse)


def _newton(confidence: float, degrees: Reals) -> Reals:
    """Quantiles by Newton's method from the normal one: tails are convex in t, so it comes to the root from below."""
    tails = np.full(len(degrees), NormalDist().inv_cdf((1 + confidence) / 2))
    for _ in range(STEPS):
        step = (two_sided(tails, degrees) - (1 - confidence)) / (2 * _density(tails, degrees))
        tails = tails + step
        if np.all(np.abs(step) <= SETTLED * tails):
            break
    return tails


def _density(t: Reals, degrees: Reals) -> Reals:
    log_factor = np.asarray(_log_gamma((degrees + 1) / 2) - _log_gamma(degrees / 2), float)
    logs = log_factor - np.log(degrees * math.pi) / 2 - (degrees + 1) / 2 * np.log1p(t * t / degrees)
    density: Reals = np.exp(logs)
    return density
