"""Values that lie beyond the tail of all others, however heavy that tail is.

Losses of healthy pairs have no law of their own: some networks scatter like a normal variable, others like Student's
with three degrees of freedom. So the tail of the table itself is the measure: the logarithms of the largest values of a
tail that is not heavier than a power fall in steps that are exponential (Rényi; Hill, Annals of Statistics 3, 1975).
"""

import math

import msgspec
import numpy as np

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import ERROR_RATE

MOST_OUT = 0.25
"""Share of all values that can be out; more of them leave no tail to compare with."""
TAIL = 2.0
"""Values of the tail that are compared with, times the root of the number of all values."""
FEWEST = 7
"""Values of the tail that show how heavy it is."""
LEAST_MEAN = 1e-12
"""Least mean of the steps; equal numbers have none."""
HEAVY_DEGREES = 3
"""Degrees of freedom of Student's distribution as the heaviest noise of tables with few values."""


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """`line`: values from here on are out; infinite where none is. `detectable`: a single value so large would be."""

    line: float
    detectable: float


def power_tail(losses: Reals, scale: float, heavy_line: float) -> Tail:
    """The values beyond the tail of `losses`: positive is worse, NaN and others that are not finite do not count.

    `scale`: their usual scatter. `heavy_line`: a value that is out whatever the others are, which decides where too few
    values show a tail. Of j values that are out together, the gap to the next one is compared with the mean of the
    steps below it: their ratio has Fisher's distribution with 2 and 2k degrees of freedom. All j are tested, each with
    the share 1 / (j (j + 1)) of half the error rate; the clearest group is taken away, and the rest is tested again.
    """
    finite = losses[np.isfinite(losses)]
    line = float(finite[finite >= heavy_line].min(initial=math.inf))
    most = int(MOST_OUT * len(finite))
    below = min(int(TAIL * math.sqrt(len(finite))), most)
    if below < FEWEST:
        return Tail(line=line, detectable=heavy_line)
    wanted = most + below + 1
    values = np.partition(finite, len(finite) - wanted)[-wanted:] if wanted < len(finite) else finite
    values = np.sort(values)[::-1].astype(np.float64)
    height = np.log(np.maximum(values, 0) + scale)
    taken = 0
    while taken < most and (group := _clearest_group(height[taken:], most - taken, below)):
        taken += group
        line = min(line, float(values[taken - 1]))
    drops = height[taken : taken + below] - height[taken + 1 : taken + below + 1]
    mean = float(np.arange(2, below + 2) @ drops) / below
    step = below * math.expm1(-math.log(ERROR_RATE / 4) / below)
    single = math.exp(min(float(height[taken]) + step * mean, 700.0)) - scale
    return Tail(line=line, detectable=min(single, heavy_line))


def _clearest_group(height: Reals, most: int, below: int) -> int:
    """How many of the largest values are out together; 0 where none is. `height`: logarithms, descending."""
    steps = np.arange(1, len(height)) * (height[:-1] - height[1:])
    sums = np.concatenate(([0.0], np.cumsum(steps)))
    count = np.arange(1, most + 1)
    mean = np.maximum((sums[below + 1 : below + most + 1] - sums[1 : most + 1]) / below, LEAST_MEAN)
    chance = np.log(count * (count + 1.0)) - below * np.log1p(steps[:most] / mean / below)
    best = int(np.argmin(chance))
    return best + 1 if chance[best] < math.log(ERROR_RATE / 2) else 0
