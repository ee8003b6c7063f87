"""Levels that divide a table: two populations of nodes (two generations, say), and two distances of pairs."""

import msgspec
import numpy as np

from seatrial.locate.additive import BLOCK
from seatrial.model.pair_table import Flags, Reals
from seatrial.statistics.estimates import GROUP_SHARE, array_median, two_groups

UPPER = 0.8
"""A node's pace is this quantile of its cells: of a good node up to four partners in five may be slow."""
FEWEST_FASTER = 2
"""One node that is faster than all others is a population of none."""
FEWEST = 6
"""Nodes below which nothing is called a population."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """`slower`: which nodes belong to the slower population; `gap`: between the two paces, as a log difference."""

    slower: Flags
    gap: float


def split(y: Reals, least_gap: float) -> Split | None:
    """Divide the nodes of `y[i, j]` (log) at the widest gap between their paces; None where they are one population.

    Each node's pace comes from both directions. The slower population must be a third of the nodes or more: then no
    majority says which of the two is as it should be.
    """
    pace = (upper_quantiles(y) + upper_quantiles(y.T)) / 2
    measured = np.flatnonzero(np.isfinite(pace))
    count = len(measured)
    if count < FEWEST:
        return None
    order = measured[np.argsort(pace[measured], kind="stable")]
    ordered = pace[order]
    cut = two_groups(ordered, least_gap, lower=int(np.ceil(GROUP_SHARE * count)), upper=FEWEST_FASTER)
    if not cut:
        return None
    slower = np.zeros(len(y), dtype=np.bool_)
    slower[order[:cut]] = True
    return Split(slower=slower, gap=array_median(ordered[cut:]) - array_median(ordered[:cut]))


def levelled(y: Reals, populations: Split) -> Reals:
    """`y` less the median of its population pair: slow with slow, slow with fast, fast with fast."""
    level = np.array(y)
    for one in (False, True):
        for other in (False, True):
            rows, columns = np.flatnonzero(populations.slower == one), np.flatnonzero(populations.slower == other)
            cells = level[np.ix_(rows, columns)]
            if np.isfinite(cells).any():
                level[np.ix_(rows, columns)] = cells - np.nanmedian(cells)
    return level


def upper_quantiles(y: Reals) -> Reals:
    """The UPPER quantile of every row of known cells; NaN for a row without any."""
    result = np.full(len(y), np.nan)
    for begin in range(0, len(y), BLOCK):
        ordered = np.sort(y[begin : begin + BLOCK], axis=1)
        count = np.count_nonzero(~np.isnan(ordered), axis=1)
        place = np.maximum(np.ceil(UPPER * count).astype(np.intp) - 1, 0)
        taken = np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
        result[begin : begin + BLOCK] = np.where(count > 0, taken, np.nan)
    return result


# Distances: pairs of two distances are brought to one level, so that each can be compared with every other.


def level_distances(y: Reals, near: Flags) -> None:
    """Lift the far cells of `y[i, j]` by what nodes usually lose from near to far.

    The difference is taken node by node, so that slow nodes, of which one group may have more, do not shift it.
    """
    steps = []
    for table in (y, y.T):
        here, there = upper_quantiles(np.where(near, table, np.nan)), upper_quantiles(np.where(near, np.nan, table))
        step = there - here
        steps.append(step[np.isfinite(step)])
    measured = np.concatenate(steps)
    if measured.size:
        y[~near] -= y.dtype.type(np.median(measured))
