"""Pairs of two distances brought to one level, so that every pair can be compared with every other."""

import numpy as np

from seatrial.locate.additive import Fit
from seatrial.locate.populations import upper_quantiles
from seatrial.locate.rows import Flags
from seatrial.model.pair_table import Reals

CLOSE = 0.1
"""A step of less than this part of the residual scale changes nothing."""


def level_distances(y: Reals, near: Flags) -> None:
    """Lift the far cells of `y[i, j]` by what nodes usually lose from near to far.

    The difference is taken node by node, so that slow nodes, of which one group may have more, do not shift it.
    """
    steps = []
    for table in (y, y.T):
        here, there = upper_quantiles(np.where(near, table, np.nan)), upper_quantiles(np.where(near, np.nan, table))
        step = there - here
        steps.append(step[np.isfinite(step)])
    known = np.concatenate(steps)
    if known.size:
        y[~near] -= y.dtype.type(np.median(known))


def level_again(y: Reals, near: Flags, fit: Fit, reference: Flags) -> bool:
    """The same from the residuals between reference nodes, in which no node counts; True if it changed anything."""
    cells = np.ix_(reference, reference)
    residual = y[cells] - np.nan_to_num(fit.out)[reference, None] - np.nan_to_num(fit.into)[reference]
    known, close = np.isfinite(residual), near[cells]
    if not (known & close).any() or not (known & ~close).any():
        return False
    step = float(np.median(residual[known & ~close]) - np.median(residual[known & close]))
    if abs(step) < CLOSE * fit.scale:
        return False
    y[~near] -= y.dtype.type(step)
    return True
