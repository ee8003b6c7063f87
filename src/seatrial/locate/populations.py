"""Two populations of nodes: two adapters, two generations, or a third of all nodes with the same fault."""

import msgspec
import numpy as np

from seatrial.locate.additive import BLOCK, NORMAL
from seatrial.locate.rows import Flags
from seatrial.model.pair_table import Reals

UPPER = 0.8
"""A node's pace is this quantile of its cells: of a good node up to four partners in five may be slow."""
APART = 6.0
"""The two paces lie at least this many of their own scatters apart."""
LEAST_SHARE = 1 / 3
"""With fewer slow nodes than this the others are plainly the majority, and the slow ones are named."""
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
    known = np.flatnonzero(np.isfinite(pace))
    count = len(known)
    if count < FEWEST:
        return None
    order = known[np.argsort(pace[known], kind="stable")]
    ordered = pace[order]
    first, last = int(np.ceil(LEAST_SHARE * count)), count - 2
    steps = np.diff(ordered)[first - 1 : last]
    if not steps.size:
        return None
    cut = first + int(np.argmax(steps))
    below, above = ordered[:cut], ordered[cut:]
    gap = float(np.median(above) - np.median(below))
    scatter = max(_scatter(below), _scatter(above))
    if gap < least_gap or gap < APART * scatter or steps.max() < gap / 2:
        return None
    slower = np.zeros(len(y), dtype=np.bool_)
    slower[order[:cut]] = True
    return Split(slower=slower, gap=gap)


def levelled(y: Reals, found: Split) -> Reals:
    """`y` less the median of its population pair: slow with slow, slow with fast, fast with fast."""
    level = np.array(y)
    for one in (False, True):
        for other in (False, True):
            rows, columns = np.flatnonzero(found.slower == one), np.flatnonzero(found.slower == other)
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


def _scatter(values: Reals) -> float:
    return NORMAL * float(np.median(np.abs(values - np.median(values))))
