"""Statistics over the iterations of several runs, as benchmarks print them, with intervals over runs.

Iterations of one run are not independent, so none of the intervals counts them: the run is the unit of replication.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seatrial.model.estimate import Estimate
from seatrial.statistics.median import WANTED_CONFIDENCE, median_estimate
from seatrial.statistics.paired import student_quantile

Numbers = NDArray[np.float64]

FEWEST_FOR_P99 = 100
"""Of fewer iterations the 99th percentile is the greatest one, and says nothing else."""
P99 = 0.99


def mean_estimate(runs: Sequence[Numbers]) -> Estimate:
    """The mean of all iterations of all runs; none of the runs is empty. Raises ValueError for no runs.

    Runs are clusters of iterations: the interval is Student's, from the deviations of the runs' own means, each as
    heavy as its run has iterations (Cochran, Sampling Techniques, 3rd ed., 9.4 and 6.3: the ratio estimator). It ends
    at the least iteration, below which no mean lies. One run has no interval.
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
        half = student_quantile((1 + WANTED_CONFIDENCE) / 2, len(runs) - 1) * math.sqrt(spread) / everything
        low, high = max(value - half, min(float(one.min()) for one in runs)), value + half
    return Estimate(
        value=value,
        low=min(low, value),
        high=high,
        confidence=WANTED_CONFIDENCE if len(runs) > 1 else 0.0,
        runs=len(runs),
        method=f"mean of {int(everything)} iterations in {len(runs)} runs, Student's interval over runs",
    )


def p99_estimate(runs: Sequence[Numbers]) -> Estimate | None:
    """What 99 % of all iterations of all runs do not exceed (nearest rank); None for fewer than `FEWEST_FOR_P99`.

    The interval is that of the runs' own 99th percentiles, by order statistics over runs, widened to hold the value.
    """
    everything = np.concatenate(list(runs)) if runs else np.empty(0)
    if len(everything) < FEWEST_FOR_P99:
        return None
    value = _nearest_rank(everything)
    each = median_estimate([_nearest_rank(one) for one in runs])
    return Estimate(
        value=value,
        low=min(each.low, value),
        high=max(each.high, value),
        confidence=each.confidence,
        runs=len(runs),
        method=f"99th percentile of {len(everything)} iterations; interval: that of each run, {each.method}",
    )


def _nearest_rank(times: Numbers) -> float:
    rank = math.ceil(P99 * len(times)) - 1
    return float(np.partition(times, rank)[rank])
