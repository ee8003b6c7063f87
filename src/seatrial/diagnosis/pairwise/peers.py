"""Every pair's number as a ratio to what like pairs give: below one is worse, whatever the metric."""

from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.diagnosis.pairwise.scale import relative_scale
from seatrial.model.pair_table import Indices, PairTable, Reals
from seatrial.model.units import BANDWIDTH, LATENCY

LEAST, MOST = 1e-15, 1e15
"""Seconds or bytes per second; beyond lies no network, and sums of such numbers overflow. NaN is on neither side."""
FEWEST = 8
"""Pairs of one distance that can be each other's peers; with fewer all pairs are."""
FEWEST_WAYS = 6
"""Ordered pairs of groups: three groups."""
BETTER = 1.05
SCATTERS = 4.5
"""A pair is bad where it lies so many times the peers' scatter below them ..."""
PRACTICAL = {BANDWIDTH: 0.01, LATENCY: 0.15}
"""... and at least by this share; less is not worth anybody's night."""


class Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """One row an ordered pair that was measured; `spread` holds the least and the greatest of its repetitions."""

    source: Indices
    target: Indices
    ratio: Reals
    worst: Reals
    best: Reals
    repetitions: Indices
    line: float
    tolerance: float


def ratios(table: PairTable, metric: str, group_of: Mapping[str, int] | None = None) -> Ratios | None:
    """The table's metric, repetitions by their median, over the median of the pairs of the same distance.

    `group_of` says which nodes are near each other; without it all pairs have one distance. None: nothing was measured.
    """
    values = table.metric(metric)
    known = (values > LEAST) & (values < MOST)
    if not known.any():
        return None
    key = table.source[known] * len(table.nodes) + table.target[known]
    pairs, where, count = np.unique(key, return_inverse=True, return_counts=True)
    source, target = pairs // len(table.nodes), pairs % len(table.nodes)
    good = 1 / values[known] if metric == LATENCY else values[known]
    order = np.lexsort((good, where))
    starts = np.concatenate(([0], np.cumsum(count)[:-1]))
    sorted_good = good[order]
    middle = (sorted_good[starts + (count - 1) // 2] + sorted_good[starts + count // 2]) / 2
    reference = _references(middle, _groups(table, source, target, group_of))
    ratio = middle / reference
    scatter = relative_scale(ratio)
    return Ratios(
        source=source,
        target=target,
        ratio=ratio,
        worst=sorted_good[starts] / reference,
        best=sorted_good[starts + count - 1] / reference,
        repetitions=count,
        line=1 - max(PRACTICAL[metric], SCATTERS * scatter),
        tolerance=3 * scatter,
    )


def _groups(
    table: PairTable, source: Indices, target: Indices, group_of: Mapping[str, int] | None
) -> tuple[Indices, Indices]:
    """The groups of both ends of every pair; all 0 where none are known."""
    group = np.array([(group_of or {}).get(node, -1) for node in table.nodes], dtype=np.intp)
    return group[source], group[target]


def _references(values: Reals, ends: tuple[Indices, Indices]) -> Reals:
    far = ends[0] != ends[1]
    reference = np.full(len(values), float(np.median(values)))
    if (~far).sum() >= FEWEST:
        reference[~far] = np.median(values[~far])
    if far.sum() >= FEWEST:
        reference[far] = _between_groups(values[far], ends[0][far], ends[1][far])
    return reference


def _between_groups(values: Reals, here: Indices, there: Indices) -> float:
    """The median; or the second best pair of groups, where that is so much better that half of the uplinks may be bad.

    A slow uplink is on two of three ways between three groups, and on half of those between four.
    """
    usual = float(np.median(values))
    ways, where = np.unique(here * (int(there.max()) + 2) + there, return_inverse=True)
    if len(ways) < FEWEST_WAYS:
        return usual
    second = sorted(float(np.median(values[where == way])) for way in range(len(ways)))[-2]
    return second if second > BETTER * usual else usual
