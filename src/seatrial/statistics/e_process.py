"""Evidence that may be looked at after every run: the sign test as an e-process, and a confidence sequence.

A test that is repeated after every run rejects too often. An e-value does not: the probability that it ever exceeds
1 / alpha is at most alpha, however many looks there are (Ville's inequality; Ramdas et al., Statistical Science 38,
2023). It needs no assumption on the values but that runs are independent.
"""

import bisect
import functools
import math
from collections.abc import Sequence

ERROR_RATE = 0.05


def sign_evidence(below: int, runs: int) -> float:
    """The e-value that the median is below a limit, with `below` of the `runs` below it. 20 is evidence at 5 %.

    The likelihood ratio of the share p of runs below the limit against 1/2, averaged over p from 1/2 to 1:
    2^(n+1) times the integral of p^k (1-p)^(n-k), which is a sum of binomial coefficients.
    """
    if not 0 <= below <= runs:
        raise ValueError(f"{below} of {runs} runs is not possible")
    total = sum(math.comb(runs + 1, fewer) for fewer in range(below + 1))
    return total / ((runs + 1) * math.comb(runs, below))


@functools.lru_cache(maxsize=4096)
def alarm_count(runs: int, error_rate: float = ERROR_RATE) -> int:
    """The fewest of the `runs` below a limit that are evidence at `error_rate`; more than `runs` if none is."""
    return bisect.bisect_left(range(runs + 1), 1 / error_rate, key=lambda below: sign_evidence(below, runs))


def median_sequence(values: Sequence[float], error_rate: float = ERROR_RATE) -> tuple[float, float]:
    """An interval for the median that holds after every run at once, with probability 1 - `error_rate`.

    Values for which neither direction of the sign test has evidence at half the error rate (the quantile sequences of
    Howard and Ramdas, Bernoulli 28, 2022, with this e-process). Infinite ends with few runs.
    """
    ordered = sorted(values)
    runs = len(ordered)
    rank = alarm_count(runs, error_rate / 2)
    if rank > runs:
        return -math.inf, math.inf
    return ordered[runs - rank], ordered[rank - 1]
