"""Estimates with intervals over runs: medians, statistics of iterations, Student's distribution.

Iterations of one run are not independent, so no interval counts them: the unit of replication is the run.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seatrial.model.measurement import Estimate
from seatrial.model.pair_table import Reals

CONFIDENCE = 0.95
FEW_TO_SORT = 1000
"""Values beyond which numpy's partition is as fast as sorting."""
EXACT_RUNS = 20_000
"""Beyond it the binomial distribution is nearly normal, and exact sums would take seconds to hours."""
MAD_TO_DEVIATION = 1 / NormalDist().inv_cdf(0.75)
"""Turns a median absolute deviation into the standard deviation of a normal distribution."""
MAD_EFFICIENCY = 0.37
"""Degrees of freedom of a median absolute deviation for each value: its relative error is 1 / sqrt(2 * 0.37 n)."""
MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median of n normal values: this / sqrt(n)."""
FEWEST_FOR_P99 = 100
"""The 99th percentile of fewer iterations is just the maximum."""
MOST_LOG = 700.0
"""The exponential of more is not a double."""
POWER = 0.90
"""Probability that the runs decide, if the deviations are as estimated."""
MOST_RUNS = 1000
"""More runs than that of each set are not worth planning."""
HEAVY_DEGREES = 3
"""Degrees of freedom of Student's distribution as the heaviest noise of few values."""
ERROR_RATE = 0.01
"""Share of healthy tables, series and runs in which anything may be named by chance."""
NORMAL_95 = NormalDist().inv_cdf(CONFIDENCE)
"""95 % of a normal distribution lie below this many standard deviations."""
FEWEST_ALIKE = 3
"""The fewest subjects or runs that are compared: of two that differ, either may be at fault."""
LEAST_SCATTER = 0.002
"""Scatter below which none is trusted, a share: repeated runs of one pair on the quietest public clusters; rounded
values would make every difference infinite."""
SAMENESS_CONFIDENCE = 0.90
UNLIKE_CONFIDENCE = 0.92
"""Confidence if sets may scatter unequally: medians over subjects are less certain than they are taken for."""
GROUP_SCATTERS = 6.0
"""The step between two groups of subjects is more than this many of their own scatters."""
GROUP_SHARE = 1 / 3
"""The share of all subjects that the worse of two groups has; fewer are bad subjects beside a majority of good ones."""


median = statistics.median
"""Raises ValueError for no values."""


def last_digit(values: NDArray[np.floating[Any]] | Sequence[float]) -> float:
    """The last decimal place in which any of the values is not 0: 1 of whole numbers; 0 beyond six places."""
    numbers = np.asarray(values)
    steps = [10.0**-place for place in range(7)]
    for some in (numbers[:: len(numbers) // FEW_TO_SORT + 1], numbers):  # a few of millions exclude most steps
        steps = [step for step in steps if np.allclose(some / step, np.rint(some / step), 1e-9, 0)]
    return steps[0] if steps else 0.0


def array_median(values: NDArray[np.floating[Any]]) -> float:
    """`numpy.median` of all values, at a tenth of its time where they are few. NaN among them, or none: NaN."""
    count = values.size
    if not 0 < count <= FEW_TO_SORT:
        return float(np.median(values))
    ordered = np.sort(values, axis=None)
    half = count // 2
    if np.isnan(ordered[-1]):  # sorted last
        return math.nan
    return float(ordered[half] if count % 2 else (ordered[half - 1] + ordered[half]) / 2)


def robust_scale(values: NDArray[np.floating[Any]] | Sequence[float], centre: float | None = None) -> float:
    """Standard deviation of a normal distribution with the values' median absolute deviation from their centre."""
    numbers = np.asarray(values)
    middle = array_median(numbers) if centre is None else centre
    apart = numbers - middle
    np.abs(apart, out=apart)  # in place: the values may be those of a million pairs
    return MAD_TO_DEVIATION * array_median(apart)


def two_groups(ordered: Reals | Sequence[float], least_gap: float, *, lower: int, upper: int) -> int:
    """How many of the values, ascending, are the lower one of two groups; 0 if they are one group.

    They are divided at the widest step that leaves at least `lower` and `upper` of them at its sides. The medians must
    differ by more than `least_gap`, and the step must be most of that: values that spread evenly are one group. Of six
    to eight normal values without a least gap, 1 to 3 % are divided by chance.
    """
    values = np.asarray(ordered)
    if len(values) < lower + upper:
        return 0
    steps = np.diff(values)[lower - 1 : len(values) - upper]
    cut = lower + int(np.argmax(steps))
    parts = values[:cut], values[cut:]
    gap = array_median(parts[1]) - array_median(parts[0])
    step = max(gap / 2, GROUP_SCATTERS * max(map(robust_scale, parts)))
    return cut if gap > least_gap and float(steps.max()) > step else 0


def coverage(runs: int, rank: int) -> float:
    """Probability that the `rank`-th smallest and largest of `runs` values enclose the true median.

    Exact, from the binomial distribution: 1 - 2 P(X < rank), X ~ Bin(runs, 1/2) (David and Nagaraja,
    Order Statistics, 3rd ed., 7.1). Holds for independent runs of any continuous distribution.
    """
    outside, ways = 0, 1
    for fewer in range(rank):
        outside += ways  # of `fewer` of the runs below the median
        ways = ways * (runs - fewer) // (fewer + 1)
    return 1 - 2 * outside / (1 << runs)


def median_estimate(runs: Sequence[float]) -> Estimate:
    """Median over runs (each run one value) with the narrowest order-statistic interval that reaches 95 %.

    Fewer than six runs cannot reach 95 %: the interval is then their whole range, and its confidence shows that
    (75 % for three).
    """
    ordered = sorted(runs)
    count = len(ordered)
    centre = median(ordered)
    rank, confidence, method = _interval(count)
    return Estimate(
        value=centre,
        low=ordered[rank - 1],
        high=ordered[count - rank],
        confidence=confidence,
        runs=count,
        method=method,
    )


@lru_cache(maxsize=4096)
def _interval(count: int) -> tuple[int, float, str]:
    """Rank, confidence and name of the interval, which depend on nothing but the number of runs."""
    if count > EXACT_RUNS:  # the number of runs below the median is normal: mean n/2, deviation sqrt(n)/2
        rank = int((count - NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(count)) / 2)
        confidence = math.erf((count + 1 - 2 * rank) / math.sqrt(2 * count))
    else:
        ranks = range(2, (count + 1) // 2 + 1)
        rank = 1 + bisect_left(ranks, True, key=lambda each: coverage(count, each) < CONFIDENCE)
        confidence = coverage(count, rank)
    return rank, confidence, f"median of {count} runs, order statistics {rank} and {count - rank + 1}"


def mean_estimate(runs: Sequence[Reals]) -> Estimate:
    """The mean of all iterations of all runs; none of the runs is empty. Raises ValueError for no runs.

    Runs are clusters of iterations: the interval is Student's, from the deviations of the runs' own means, each as
    heavy as its run has iterations (Cochran, Sampling Techniques, 3rd ed., 9.4 and 6.3: the ratio estimator). It ends
    at the smallest iteration, below which no mean lies. One run has no interval.
    """
    if not runs:
        raise ValueError("no mean of no runs")
    counts = np.array([len(one) for one in runs], dtype=np.float64)
    means = np.array([float(np.mean(one)) for one in runs])
    everything = float(counts.sum())
    value = float((counts * means).sum() / everything)
    low = high = value
    if len(runs) > 1:
        spread = float(((counts * (means - value)) ** 2).sum()) * len(runs) / (len(runs) - 1)
        half = student_quantile((1 + CONFIDENCE) / 2, len(runs) - 1) * math.sqrt(spread) / everything
        low, high = max(value - half, min(float(one.min()) for one in runs)), value + half
    return Estimate(
        value=value,
        low=min(low, value),
        high=high,
        confidence=CONFIDENCE if len(runs) > 1 else 0.0,
        runs=len(runs),
        method=f"mean of {int(everything)} iterations in {len(runs)} runs, Student's interval over runs",
    )


def p99_estimate(runs: Sequence[Reals]) -> Estimate | None:
    """What 99 % of all iterations of all runs do not exceed (nearest rank); None for fewer than `FEWEST_FOR_P99`.

    The interval is that of the runs' own 99th percentiles, by order statistics over runs, widened to hold the value.
    """
    everything = np.concatenate(list(runs)) if runs else np.empty(0)
    if len(everything) < FEWEST_FOR_P99:
        return None
    value = _nearest_rank(everything)
    estimate = median_estimate([_nearest_rank(one) for one in runs])
    return Estimate(
        value=value,
        low=min(estimate.low, value),
        high=max(estimate.high, value),
        confidence=estimate.confidence,
        runs=len(runs),
        method=f"99th percentile of {len(everything)} iterations; interval: that of each run, {estimate.method}",
    )


def _nearest_rank(times: Reals) -> float:
    rank = math.ceil(0.99 * len(times)) - 1
    return float(np.partition(times, rank)[rank])


def runs_to_detect(effect: float, deviation: float, *, before: int = 0, confidence: float = CONFIDENCE) -> int | None:
    """Runs of each set that show a change by `effect`, a share, with `POWER`.

    `deviation`: of the logarithm of one run. `before`: runs that the first set has already; then the runs of the second
    set. `confidence`: above 95 % where many subjects are tested. None: more than `MOST_RUNS`.

    Two-sided tests with Student's quantiles: t(1 - a/2) + t(power) standard errors must fit into the distance between
    what is estimated and what is to be excluded (Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd
    ed., 2.4). The answer is only as good as the deviation that it is computed from.
    """
    return _least(abs(math.log1p(-min(effect, 0.99))), deviation, confidence, before=before)


def runs_to_decide(change: float, threshold: float, deviation: float, *, held: int = 1) -> int | None:
    """Runs that each set needs in all until the estimated change is shown, or shown to be within the threshold.

    `change`: logarithm of the ratio as estimated now; `held`: runs of each set that exist. None: more than `MOST_RUNS`.
    """
    apart = -math.log1p(-threshold) - abs(change)
    needed = (_least(abs(change), deviation, 1 - ERROR_RATE), _least(apart, deviation, UNLIKE_CONFIDENCE, alike=False))
    possible = [count for count in needed if count is not None]
    return max(min(possible), held + 1) if possible else None


def _least(distance: float, deviation: float, confidence: float, *, before: int = 0, alike: bool = True) -> int | None:
    """`alike`: whether both sets scatter alike, so that the runs of both say how much."""
    if not distance > 0 or not math.isfinite(deviation):
        return None
    counts = np.arange(1, MOST_RUNS + 1, dtype=float)
    first = np.full_like(counts, before) if before else counts
    degrees = np.maximum(first + counts - 2 if alike else counts - 1, 0.0)
    error = deviation * np.sqrt(1 / first + 1 / counts)
    enough = (quantile(confidence, degrees) + quantile(2 * POWER - 1, degrees)) * error <= distance
    return int(counts[np.argmax(enough)]) if bool(enough.any()) else None


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
    logs: Reals = log_factor - np.log(degrees * math.pi) / 2 - (degrees + 1) / 2 * np.log1p(t * t / degrees)
    return np.exp(logs)
