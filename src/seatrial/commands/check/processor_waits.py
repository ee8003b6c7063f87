"""Whether runs are slow because a rank waited for a processor, and not because of the link.

The probe reads from the kernel how long both ranks of a pair were ready to run without a processor. A link that comes
and goes is bad whether or not they waited; another process on the core of a rank makes bad just those runs in which the
rank waited longest.
"""

import math
from collections.abc import Sequence

import msgspec

from seatrial.statistics.estimates import median
from seatrial.statistics.rank_sum import rank_sum_tail

ERROR_RATE = 0.01
"""Of runs whose times have nothing to do with the waiting, this share is excused."""


class Waits(msgspec.Struct, frozen=True):
    """Share of their time for which the rank that waited longer had no processor: medians of bad and of good runs."""

    bad: float
    good: float


def excused_by_waiting(runs: Sequence[tuple[float, float]], bad_below: float) -> Waits | None:
    """The waits that explain the bad runs, or None where they do not explain them.

    They do where a rank waited longer in the bad runs than in the others, as ranks show, and by at least as much of
    the time as the bad runs lack.

    `runs`: logarithm over the peers, and the waited share of the time, of each run. `bad_below`: a logarithm.
    """
    bad = [run for run in runs if run[0] < bad_below]
    good = [waited for value, waited in runs if value >= bad_below]
    if not bad or not good:
        return None
    waits = Waits(median([waited for _, waited in bad]), median(good))
    lost = 1 - math.exp(median([value for value, _ in bad]))
    if waits.bad - waits.good < lost:
        return None
    tail = rank_sum_tail(_rank_sum_from_the_top([waited for _, waited in bad], good), len(bad), len(runs))
    return waits if tail <= ERROR_RATE else None


def _rank_sum_from_the_top(first: Sequence[float], others: Sequence[float]) -> float:
    """Sum of the ranks of `first` among all, 1 for the largest, and the mean rank of equal ones."""
    every = (*first, *others)
    return sum(sum(one > value for one in every) + (sum(one == value for one in every) + 1) / 2 for value in first)
