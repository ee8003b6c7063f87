"""The best place to divide a stretch of a series into two levels or two straight lines, and how likely chance is.

The p-value is that of the largest of all places: a place chosen because it is the best one always looks good.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

SHORTEST = 5
"""Values on each side of a change: a shorter stretch is an episode and not a level."""
LARGEST = 1e6
"""Of a statistic: its probability is 0 in double precision long before."""
SMALL = 1e-4
SINGLE_PARAMETER, LINE_PARAMETERS = 1, 2


class Stretches:
    """Squared residuals of any stretch of one series, by sums: about its mean, or about its least-squares line."""

    def __init__(self, values: Numbers, *, lines: bool) -> None:
        """`values`: centred, with a standard deviation of about 1, so that sums of squares lose no digits."""
        self.values = values
        self.lines = lines
        self.parameters = LINE_PARAMETERS if lines else SINGLE_PARAMETER
        self._sum = _sums(values)
        self._square = _sums(values**2)
        self._places = np.arange(len(values) + 1, dtype=np.float64)
        if lines:
            self._moment = _sums(values * self._places[:-1])

    def squares(self, first: int, end: int) -> float:
        """Least sum of squares of the values from `first` to before `end`."""
        return max(float(self._square[end] - self._square[first]) - self._explained_by_one(first, end), 0.0)

    def _explained_by_one(self, first: int, end: int) -> float:
        """`_explained` of one stretch: many times as fast in numbers of Python as in arrays of one."""
        count = float(end - first)
        total = float(self._sum[end] - self._sum[first])
        if not self.lines:
            return total * total / count
        moment = float(self._moment[end] - self._moment[first]) - (first + end - 1) / 2 * total
        return total * total / count + moment * moment * 12 / (count * (count * count - 1))

    def _explained(self, first: int | slice, end: int | slice) -> Numbers:
        """What the mean or the line takes from the sum of squares; one of the two may be a range of places."""
        count = self._places[end] - self._places[first]
        total = self._sum[end] - self._sum[first]
        if not self.lines:
            return np.asarray(total * total / count)
        moment = self._moment[end] - self._moment[first] - (self._places[first] + self._places[end] - 1) / 2 * total
        return np.asarray(total * total / count + moment * moment * 12 / (count * (count * count - 1)))

    def residuals(self, first: int, end: int) -> Numbers:
        """What the mean or the line leaves of the values from `first` to before `end`."""
        value, slope = self.line(first, end)
        values = self.values[first:end]
        if not slope:
            return values - value
        return values - value - slope * (self._places[: end - first] - (end - first - 1) / 2)

    def line(self, first: int, end: int) -> tuple[float, float]:
        """Value in the middle of the stretch, and slope per place (0 for levels)."""
        count = end - first
        value = float(self._sum[end] - self._sum[first]) / count
        if not self.lines or count < LINE_PARAMETERS:
            return value, 0.0
        places = self._places[:count] - (count - 1) / 2
        return value, float(places @ self.values[first:end]) / (count * (count**2 - 1) / 12)

    def best_split(self, first: int, end: int) -> tuple[float, int]:
        """The largest drop of the squares by one division, and the place where the second part begins; (0, 0): none."""
        if end - first < 2 * SHORTEST:
            return 0.0, 0
        places = slice(first + SHORTEST, end - SHORTEST + 1)
        explained = self._explained(first, places) + self._explained(places, end)
        best = int(np.argmax(explained))
        return float(explained[best]) - self._explained_by_one(first, end), first + SHORTEST + best


def _sums(values: Numbers) -> Numbers:
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, out=sums[1:])
    return sums


def tail_factor(peak: float, deviation: float, variance: float) -> float:
    """What a statistic keeps where the noise has wild values: 1 for long pieces, less for a few values far off.

    By Bennett's inequality (JASA 57, 1962) a mean that deviates by `deviation`, of values with this variance that
    deviate by `peak` at most, is as likely as a normal one whose squared deviation is this many times smaller.
    """
    if variance <= 0:
        return 1.0
    size = peak * deviation / variance
    if size < SMALL:
        return 1.0
    return 2 * ((1 + size) * math.log1p(size) - size) / size**2


def largest_p(statistic: float, parameters: int, count: int) -> float:
    """Probability that the largest of the likelihood-ratio statistics of all places reaches `statistic` by chance.

    `parameters`: how many of them change at the place; `count`: values of the series, `SHORTEST` of which at each end
    are not tried. Miller and Siegmund, Maximally selected chi square statistics, Biometrics 38 (1982), for one
    parameter; DeLong, Comm. Stat. A 10 (1981), for more. 1 where the approximation says nothing.
    """
    if statistic <= parameters or count <= 2 * SHORTEST:
        return 1.0
    half = parameters / 2
    density = math.exp(
        half * math.log(statistic) - min(statistic, LARGEST) / 2 - half * math.log(2) - math.lgamma(half)
    )
    tried = 2 * math.log((count - SHORTEST) / SHORTEST)
    return min(density * ((1 - parameters / statistic) * tried + 4 / statistic), 1.0)


@functools.lru_cache(maxsize=1024)
def critical_statistic(level: float, parameters: int, count: int) -> float:
    """The statistic whose `largest_p` is `level`; infinite where no number of values is enough."""
    if count <= 2 * SHORTEST:
        return math.inf
    low, high = 2.0 * parameters, 1000.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if largest_p(middle, parameters, count) > level else (low, middle)
    return high
