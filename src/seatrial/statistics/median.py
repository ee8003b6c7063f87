"""Medians with intervals that assume nothing about the distribution."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from seatrial.model.estimate import Estimate

WANTED_CONFIDENCE = 0.95
WANTED_DEVIATIONS = 1.96
EXACT_RUNS = 20_000
"""Of more runs the binomial distribution is as good as normal, and exact sums of it would take seconds to hours."""


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError for an empty sequence."""
    if not values:
        raise ValueError("no median of no values")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


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

    Fewer than six runs cannot reach 95 %: the interval is then their whole range, and its confidence says so
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
    if count > EXACT_RUNS:
        return _normal_interval(count)
    ranks = range(2, (count + 1) // 2 + 1)
    rank = 1 + bisect_left(ranks, True, key=lambda each: coverage(count, each) < WANTED_CONFIDENCE)
    method = f"median of {count} runs, order statistics {rank} and {count - rank + 1}"
    return rank, coverage(count, rank), method


def _normal_interval(count: int) -> tuple[int, float, str]:
    """The same of many runs, where the number of runs below the median is normal: mean n/2, deviation sqrt(n)/2."""
    rank = int((count - WANTED_DEVIATIONS * math.sqrt(count)) / 2)
    confidence = math.erf((count + 1 - 2 * rank) / math.sqrt(2 * count))
    return rank, confidence, f"median of {count} runs, order statistics {rank} and {count - rank + 1}"
