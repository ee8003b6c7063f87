"""Two populations of nodes, of which no majority says which is as it should be."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.additive import BLOCK
from seatrial.locate.rows import Rows
from seatrial.model.pair_faults import Population
from seatrial.model.pair_table import Flags, Reals
from seatrial.statistics.estimates import GROUP_SHARE, array_median, two_groups

UPPER = 0.8
"""A node's pace is this quantile of its cells: of a good node up to four partners in five may be slow."""
FEWEST_FASTER = 2
"""One node that is faster than all others is a population of none."""
FEWEST = 6
"""Nodes below which nothing is called a population."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes belong to the two populations; `gap`: between their paces, as a log difference."""

    slower: Flags
    faster: Flags
    gap: float


def split(pace: Reals, least_gap: float) -> Split | None:
    """Divide nodes at the widest gap between their paces (log, NaN if unknown); None where they are one population.

    The slower population must be a third of the nodes or more: then no majority says which of the two is as it should
    be.
    """
    measured = np.flatnonzero(np.isfinite(pace))
    count = len(measured)
    if count < FEWEST:
        return None
    order = measured[np.argsort(pace[measured], kind="stable")]
    ordered = pace[order]
    cut = two_groups(ordered, least_gap, lower=int(np.ceil(GROUP_SHARE * count)), upper=FEWEST_FASTER)
    if not cut:
        return None
    slower, faster = (np.isin(np.arange(len(pace)), part) for part in (order[:cut], order[cut:]))
    return Split(slower=slower, faster=faster, gap=array_median(ordered[cut:]) - array_median(ordered[:cut]))


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


def sparse_paces(rows: Rows, log: Reals) -> Reals:
    """The UPPER quantile of the rows of every node, in either direction; NaN for a node without any.

    `log`: one value for each row, NaN for those that do not count.
    """
    places = np.flatnonzero(np.isfinite(log))
    end, values = np.concatenate(rows.ends(places)), np.tile(log[places], 2)
    ordered, count = values[np.lexsort((values, end))], np.bincount(end, minlength=rows.nodes)
    place = np.cumsum(count) - count + np.maximum(np.ceil(UPPER * count).astype(np.intp) - 1, 0)
    paces = np.full(rows.nodes, np.nan)
    paces[count > 0] = ordered[place[count > 0]]
    return paces


def populations(nodes: Sequence[str], halves: Split | None, metric: str) -> tuple[Population, ...]:
    """The slower and the faster of two populations; nothing where there is one."""
    if halves is None:
        return ()
    return tuple(
        Population(metric=metric, nodes=tuple(nodes[place] for place in np.flatnonzero(part).tolist()), ratio=ratio)
        for part, ratio in ((halves.slower, math.exp(-halves.gap)), (halves.faster, 1.0))
    )
