"""One step in a short series: the cut that divides it best, tested beside its own noise and the other nodes' series.

The search for several changes allows for the largest autocorrelation that the series could have. In a dozen cycles that
is so large that even a loss of a third, ten times the noise, is taken for chance. Values relative to the peers of the
same cycle are little correlated, and by how much the other nodes vary is seen beside them.
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.statistics.estimates import student_quantile
from seatrial.statistics.scan import MOST_AUTOCORRELATION, independent_share, residual_products

LEAST = 3
"""Cycles on either side of a step."""
PADDING = 0.5
"""Standard errors that are added to the estimated autocorrelation."""
PEERS = 3.0
"""A step must be this many times as high as the median of the other nodes' best steps of the same figure."""

Numbers = NDArray[np.float64]


class LevelStep(msgspec.Struct, frozen=True, kw_only=True):
    """The best cut of a series: values `first` and later are higher by `change` than those before."""

    first: int
    change: float
    error: float
    """Standard error of the change, with the autocorrelation of the residuals."""
    degrees: int
    cuts: int
    squares: float
    """Sum of the squared residuals beside both levels."""

    def half_width(self, probability: float) -> float:
        """Half of the two-sided interval with that probability."""
        return student_quantile((1 + probability) / 2, self.degrees) * self.error

    def sure(self, error_rate: float) -> bool:
        """Whether it is higher than chance makes the best of all cuts, with that error rate."""
        return self.change > student_quantile(1 - error_rate / self.cuts, self.degrees) * self.error


def best_step(values: Numbers) -> LevelStep | None:
    """The cut with the least squared residuals; None where there are too few values for one."""
    count = len(values)
    if count < 2 * LEAST:
        return None
    cuts = np.arange(LEAST, count - LEAST + 1)
    sums = np.cumsum(values)
    before = sums[cuts - 1] / cuts
    after = (sums[-1] - sums[cuts - 1]) / (count - cuts)
    best = int(np.argmax(cuts * before**2 + (count - cuts) * after**2))
    first, low, high = int(cuts[best]), float(before[best]), float(after[best])
    residuals = values - np.where(np.arange(count) < first, low, high)
    squares, lagged = residual_products(residuals)
    plain = lagged / squares if squares > 0 else 0.0
    share = independent_share(min(max(plain + PADDING / math.sqrt(count), 0.0), MOST_AUTOCORRELATION))
    spread = 1 / first + 1 / (count - first)
    return LevelStep(
        first=first,
        change=high - low,
        error=math.sqrt(squares / (count - 2) * spread / share),
        degrees=max(int((count - 2) * share), 1),
        cuts=len(cuts),
        squares=squares,
    )
