"""The best place to divide a stretch of a series into two levels or two straight lines, and how likely chance is.

The p-value is that of the largest of all places: a place chosen because it is the best one always looks good. Noise of
machines is correlated (temperature, other users, time of day), so that a series shows less than independent values do;
single wild values are replaced, so that an outlier is not a change of level.
"""

import functools
import math

import numpy as np

from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import HEAVY_DEGREES, MEDIAN_ERROR, NORMAL_95, robust_scale, two_sided

SHORTEST = 5
"""Values on each side of a change: a shorter stretch is an episode and not a level."""
LARGEST = 1e6
"""Largest statistic: its probability is 0 in double precision long before."""
SMALL = 1e-4
SHORTEST_LINE = 2 * SHORTEST
"""A line has two parameters: a shorter stretch is a level, also beside lines."""
MOST_AUTOCORRELATION = 0.8
"""Beyond it a series drifts rather than scatters: its levels are changes and not noise."""
LEAST_DIVISOR = 0.3
NEAR = 10 * SHORTEST
"""Values on each side by which it is known how sharp a step is."""
BIASES = {1: (1.0, 3.0), 2: (2.0, 4.0)}
"""Parameters fitted to each piece, mean or line -> (a, b): r is underestimated by (a + b r) / n for each piece
(Kendall, Biometrika 41, 1954, for the mean)."""

REACH = 2
"""Neighbours on each side: one or two wild values in a row are spikes, three or more may be a change."""
SCALES = 5.0
"""A value this many scales from the median of its neighbourhood is a spike."""
RARE = 0.02
"""More wild values than this share (and than one) are the noise of the series, and stay: without them it would look
quieter than it is."""


class Stretches:
    """Squared residuals of any stretch of one series, by sums: about its mean, or about its least-squares line."""

    def __init__(self, values: Reals, *, lines: bool) -> None:
        """`values`: centred, with a standard deviation of about 1, so that sums of squares lose no digits."""
        self.values = values
        self.lines = lines
        self.parameters = 2 if lines else 1
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
        if not self.lines or count < SHORTEST_LINE:
            return total * total / count
        moment = float(self._moment[end] - self._moment[first]) - (first + end - 1) / 2 * total
        return total * total / count + moment * moment * 12 / (count * (count * count - 1))

    def _explained(self, first: int | slice, end: int | slice) -> Reals:
        """What the mean or the line takes from the sum of squares; one of the two may be a range of places."""
        count = self._places[end] - self._places[first]
        total = self._sum[end] - self._sum[first]
        if not self.lines:
            return np.asarray(total * total / count)
        moment = self._moment[end] - self._moment[first] - (self._places[first] + self._places[end] - 1) / 2 * total
        sloped = count >= SHORTEST_LINE
        return np.asarray(total * total / count + sloped * moment * moment * 12 / (count * (count * count - 1)))

    def residuals(self, first: int, end: int) -> Reals:
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
        if not self.lines or count < SHORTEST_LINE:
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


def _sums(values: Reals) -> Reals:
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


class SharpStep:
    """A step between neighbours that are alike: noise goes from level to level bit by bit, a change is there at once.

    Generalised least squares of an AR(1) process: of each value that part counts which the one before does not predict.
    """

    def __init__(self, count: int, place: int, autocorrelation: float) -> None:
        """`count`: values, of which that at `place` is the first one after the step."""
        self._correlation = autocorrelation
        self._level = self._innovations(np.ones(count))
        self._step = self._beside_level(np.arange(count) >= place)
        self._energy = float(self._step @ self._step)
        """Square of a step of 1, as a sum over innovations."""
        self._deciding = self._energy / float((self._step**2).max())
        """Innovations by which the step is known."""

    def _innovations(self, column: Reals | Flags) -> Reals:
        first, rest = column[:1] * math.sqrt(1 - self._correlation**2), column[1:] - self._correlation * column[:-1]
        return np.concatenate((first, rest))

    def _beside_level(self, column: Reals | Flags) -> Reals:
        """The innovations less what one level explains of them."""
        own = self._innovations(column)
        return np.asarray(own - self._level * (self._level @ own) / (self._level @ self._level))

    def size(self, values: Reals) -> tuple[float, float]:
        """The step, and the variance of the innovations."""
        left = self._beside_level(values)
        size = float(self._step @ left) / self._energy
        return size, max(float(left @ left) - size**2 * self._energy, 0.0) / (len(values) - 2)

    def largest_p(self, size: float, variance: float, count: int) -> float:
        """Probability that the sharpest of all steps in `count` values is of that size by chance, also where noise has
        tails as heavy as Student's with `HEAVY_DEGREES`."""
        gain = size**2 * self._energy / max(variance, SMALL * size**2)
        degrees = len(self._level) - 2
        normal = math.erfc(math.sqrt(degrees * math.log1p(gain / degrees) / 2))
        single = float(two_sided(np.array(math.sqrt(gain / self._deciding)), np.array(HEAVY_DEGREES)))
        return min(count * (normal + math.pow(single, self._deciding)), 1.0)


def upper_autocorrelation(squares: float, lagged: float, count: int, pieces: int, parameters: int) -> float:
    """Upper 95 % limit of the lag-1 autocorrelation behind `count` residuals, between 0 and `MOST_AUTOCORRELATION`.

    `squares`, `lagged`: sums of products of the residuals with themselves and with their successors. `pieces`: fitted
    pieces with `parameters` each, which make residuals less alike than the noise is.
    """
    if squares <= 0:
        return MOST_AUTOCORRELATION
    usual = autocorrelation(squares, lagged, count, pieces, parameters)
    return min(usual + NORMAL_95 * math.sqrt((1 - usual**2) / count), MOST_AUTOCORRELATION)


def autocorrelation(squares: float, lagged: float, count: int, pieces: int, parameters: int) -> float:
    """The lag-1 autocorrelation without the bias of fitted pieces, between 0 and 0.999; `squares` is not 0."""
    offset, slope = BIASES[parameters]
    plain = lagged / squares
    corrected = (plain + offset * pieces / count) / max(1 - slope * pieces / count, LEAST_DIVISOR)
    return min(max(corrected, 0.0), 0.999)


def independent_share(autocorrelation: float) -> float:
    """How many independent values one value of the series is worth: 1 for none, 1/9 for an autocorrelation of 0.8.

    A mean of n values of an AR(1) process varies as one of n (1 - r) / (1 + r) independent values (Bartlett, JRSS 98,
    1935).
    """
    return (1 - autocorrelation) / (1 + autocorrelation)


def residual_products(residuals: Reals) -> tuple[float, float]:
    """Sums of the residuals' squares, and of the products with their successors."""
    return float(residuals @ residuals), float(residuals[1:] @ residuals[:-1])


def replace_spikes(values: Reals) -> tuple[Reals, Indices]:
    """The series with the median of its neighbourhood in place of each spike, and where the spikes were.

    Hampel's filter (Pearson, Outliers in process modeling and identification, IEEE TCST 10, 2002): the median of five
    neighbours keeps a step in its place. The scale is that of differences of neighbours, which changes of level do not
    widen. Where most neighbours are equal (rounded values) the mean takes the place of their median.
    """
    if len(values) <= 2 * REACH:
        return values, np.empty(0, dtype=np.intp)
    steps = np.abs(np.diff(values))
    mean = MEDIAN_ERROR * float(np.mean(steps))  # sqrt(pi / 2), also of the mean of absolute deviations
    scale = (robust_scale(steps, 0.0) or mean) / math.sqrt(2)
    padded = np.concatenate((values[REACH:0:-1], values, values[-2 : -2 - REACH : -1]))
    middle = _medians_of_five(*(padded[first : first + len(values)] for first in range(2 * REACH + 1)))
    places = np.flatnonzero(np.abs(values - middle) > SCALES * scale)
    if not len(places) or len(places) > max(RARE * len(values), 1):
        return values, np.empty(0, dtype=np.intp)
    replaced = values.copy()
    replaced[places] = middle[places]
    return replaced, places


def _medians_of_five(a: Reals, b: Reals, c: Reals, d: Reals, e: Reals) -> Reals:
    """Place by place. The median of all is that of `e`, the greater of two minima and the lesser of two maxima."""
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(low, e), np.minimum(np.maximum(low, e), high))
