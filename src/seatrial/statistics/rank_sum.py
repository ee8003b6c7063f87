"""Tails of the rank-sum test and of counts, exact where groups are small, and rates of false discoveries."""

import math

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 2_000_000
"""Steps of the exact count; beyond it the normal approximation is used, which errs upwards in the tail."""
LARGEST_LOG = 690.0
"""Above it a number of subsets is no longer a double."""


def log_choose(total: int, size: int) -> float:
    """Logarithm of the number of subsets of that size."""
    return math.lgamma(total + 1) - math.lgamma(size + 1) - math.lgamma(total - size + 1)


def rank_sum_test(values: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Probability that as many of all numbers, drawn at random, are as large as `values`; equal ones share a rank."""
    _, place, count = np.unique(-np.concatenate([values, others]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    return rank_sum_tail(float(ranks[: len(values)].sum()), len(values), len(ranks))


def rank_sum_tail(rank_sum: float, size: int, total: int) -> float:
    """Probability that `size` of the ranks 1 to `total`, drawn without replacement, sum to `rank_sum` or less.

    Mann and Whitney, Ann. Math. Stat. 18 (1947): exact, by counting partitions, while that is affordable; otherwise the
    normal approximation or, where smaller, the bound s^k / (k!^2 C(n, k)) on the number of k-subsets with sum s.
    """
    other = total - size
    if size <= 0 or other <= 0:
        return 1.0
    beyond = math.floor(rank_sum - size * (size + 1) / 2 + 1e-9)
    if beyond < 0:
        return 0.0
    if beyond >= size * other:
        return 1.0
    subsets = log_choose(total, size)
    few = min(size, other)
    deviation = math.sqrt(size * other * (total + 1) / 12)
    normal = 0.5 * math.erfc((size * other / 2 - beyond - 0.5) / deviation / math.sqrt(2))
    if few * (beyond + 1) <= MOST_STEPS and subsets < LARGEST_LOG:
        return min(float(_partitions(few, max(size, other), beyond).sum()) / math.exp(subsets), 1.0)
    volume = size * math.log(rank_sum) - 2 * math.lgamma(size + 1) - subsets
    return min(normal, math.exp(min(volume, 0.0)))


def _partitions(parts: int, largest: int, most: int) -> NDArray[np.float64]:
    """How many partitions into at most `parts` parts, none above `largest`, each number from 0 to `most` has."""
    count = np.zeros(most + 1)
    count[0] = 1
    for part in range(1, min(parts, most) + 1):
        padded = np.zeros(-(-(most + 1) // part) * part)
        padded[: most + 1] = count
        count = np.cumsum(padded.reshape(-1, part), axis=0).ravel()[: most + 1]
    for part in range(1, parts + 1):
        if largest + part > most:
            break
        count[largest + part :] -= count[: most + 1 - largest - part].copy()
    return np.maximum(count, 0.0)


def count_tail(found: int, drawn: int, marked: int, total: int) -> float:
    """Probability of `found` or more marked ones among `drawn` of `total`, of which `marked` are: hypergeometric."""
    most = min(drawn, marked)
    if found <= max(0, drawn + marked - total):
        return 1.0
    everything = log_choose(total, drawn)
    logs = [
        log_choose(marked, hits) + log_choose(total - marked, drawn - hits) - everything
        for hits in range(found, most + 1)
        if drawn - hits <= total - marked
    ]
    return min(math.fsum(math.exp(one) for one in logs), 1.0)


def adjusted(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least share of false discoveries at which the test of each p-value is named; NaN where it is NaN.

    Benjamini and Hochberg, Controlling the false discovery rate, J. R. Stat. Soc. B 57 (1995). It holds for tests that
    are independent or depend on each other positively, as those do that share the deviation of a whole run (Benjamini
    and Yekutieli, Ann. Stat. 29, 2001).
    """
    p_values = np.asarray(p_values, float)
    shares = np.full(p_values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    if not len(tested):
        return shares
    order = tested[np.argsort(p_values[tested], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    shares[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return shares


def adjusted_together(families: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Adjusted p-values of several columns that are judged as one family; columns of the same lengths."""
    if not families:
        return []
    everything = adjusted(np.concatenate(families))
    ends = np.cumsum([len(column) for column in families])[:-1]
    return list(np.split(everything, ends))
