"""Single wild values in a series: found and replaced, so that one outlier is not taken for a change of level."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]

REACH = 2
"""Neighbours on each side: one or two wild values in a row are spikes, three or more may be a change."""
SCALES = 5.0
"""A value this many scales from the median of its neighbourhood is a spike."""
RARE = 0.02
"""More wild values than this share (and than one) are the noise of the series, and stay: without them it would look
quieter than it is."""
MEDIAN_TO_DEVIATION = 1.4826 / 2**0.5
MEAN_TO_DEVIATION = 1.2533 / 2**0.5
"""Factors from the median and the mean of absolute differences of neighbours to a normal standard deviation."""


def replace_spikes(values: Numbers) -> tuple[Numbers, Places]:
    """The series with the median of its neighbourhood in place of each spike, and where the spikes were.

    Hampel's filter (Pearson, Outliers in process modeling and identification, IEEE TCST 10, 2002): the median of five
    neighbours keeps a step in its place. The scale is that of differences of neighbours, which changes of level do not
    widen. Where most neighbours are equal (rounded values) the mean takes the place of their median.
    """
    if len(values) <= 2 * REACH:
        return values, np.empty(0, dtype=np.intp)
    steps = np.abs(np.diff(values))
    scale = MEDIAN_TO_DEVIATION * float(np.median(steps)) or MEAN_TO_DEVIATION * float(np.mean(steps))
    padded = np.concatenate((values[REACH:0:-1], values, values[-2 : -2 - REACH : -1]))
    middle = _medians_of_five(*(padded[first : first + len(values)] for first in range(2 * REACH + 1)))
    places = np.flatnonzero(np.abs(values - middle) > SCALES * scale)
    if not len(places) or len(places) > max(RARE * len(values), 1):
        return values, np.empty(0, dtype=np.intp)
    replaced = values.copy()
    replaced[places] = middle[places]
    return replaced, places


def _medians_of_five(a: Numbers, b: Numbers, c: Numbers, d: Numbers, e: Numbers) -> Numbers:
    """Place by place. The median of all is that of `e`, the greater of two minima and the lesser of two maxima."""
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(low, e), np.minimum(np.maximum(low, e), high))
