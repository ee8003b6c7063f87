"""How much numbers scatter that ought to be alike."""

import math

import numpy as np

from seatrial.model.pair_table import Reals

NORMAL = 1.4826
"""Turns a median absolute deviation into the standard deviation of a normal distribution."""
NEAR = 0.05
BLOCK = 1 << 20
FLOOR = 0.002
"""Of the median: what repeated runs of one pair scatter at least on the quietest of the public clusters."""


def resolution(values: Reals) -> float:
    """The step in which values are given: the smallest difference of distinct ones near the median, or 0.

    Tools print two decimals, and of quantised data the median absolute deviation may be zero. Values more than NEAR
    from the median do not count: between a good and a slow pair lies no step of the printer.
    """
    known = _finite(values)
    if not known.size:
        return 0.0
    centre = float(np.median(known))
    apart = known - centre
    np.abs(apart, out=apart)
    near = known[apart <= NEAR * abs(centre)]
    del apart
    near.sort()
    least = np.inf
    for first in range(0, len(near), BLOCK):
        steps = np.diff(near[first : first + BLOCK + 1])
        least = min(least, float(steps.min(initial=np.inf, where=steps > 1e-9 * abs(centre))))
    return least if np.isfinite(least) else 0.0


def relative_scale(values: Reals) -> float:
    """Scatter as a share of the median: the greatest of the robust one, rounding's (step / sqrt 12), and FLOOR.

    Never zero, so that equal or quantised values divide by something. `values` must be positive and not empty.
    """
    known = _finite(values)
    centre = float(np.median(known))
    apart = known - centre
    np.abs(apart, out=apart)
    robust = NORMAL * float(np.median(apart, overwrite_input=True))
    del apart
    return max(robust / centre, resolution(known) / math.sqrt(12) / centre, FLOOR)


def _finite(values: Reals) -> Reals:
    """Those that are finite; the array itself where all are, since it may be large."""
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]
