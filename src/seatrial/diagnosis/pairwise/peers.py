"""Every pair's number as a ratio to what like pairs give: below one is worse, whatever the metric."""

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.diagnosis.pairwise.scale import relative_scale
from seatrial.model.pair_table import Indices, PairTable, Places, Reals
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

    source: Places
    target: Places
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
    spread = _spread(table, values, known, metric)
    reference = _references(spread.middle, _ways_between(table, spread.source, spread.target, group_of))
    ratio = spread.middle / reference
    once = spread.worst is spread.middle
    worst = ratio if once else spread.worst / reference
    best = ratio if once else spread.best / reference
    source, target, repetitions = spread.source, spread.target, spread.repetitions
    del spread, reference, values, known  # of 25 million pairs each takes 200 MB
    scatter = relative_scale(ratio)
    return Ratios(
        source=source,
        target=target,
        ratio=ratio,
        worst=worst,
        best=best,
        repetitions=repetitions,
        line=1 - max(PRACTICAL[metric], SCATTERS * scatter),
        tolerance=3 * scatter,
    )


class _Spread(msgspec.Struct, frozen=True, kw_only=True):
    """One row an ordered pair: the median and the ends of its numbers, greater is better."""

    source: Places
    target: Places
    middle: Reals
    worst: Reals
    best: Reals
    repetitions: Indices


def _spread(table: PairTable, values: Reals, known: NDArray[np.bool_], metric: str) -> _Spread:
    whole = bool(known.all())
    good = values if whole else values[known]
    good = 1 / good if metric == LATENCY else good
    if table.is_ordered:  # a large table has each pair once, and 25 million rows take no second sorting
        return _Spread(
            source=table.source if whole else table.source[known],
            target=table.target if whole else table.target[known],
            middle=good,
            worst=good,
            best=good,
            repetitions=np.broadcast_to(np.intp(1), len(good)),
        )
    pairs, where, count = np.unique(table.keys()[known], return_inverse=True, return_counts=True)
    order = np.lexsort((good, where))
    starts = np.concatenate(([0], np.cumsum(count)[:-1]))
    ordered = good[order]
    return _Spread(
        source=(pairs // len(table.nodes)).astype(np.int32),
        target=(pairs % len(table.nodes)).astype(np.int32),
        middle=(ordered[starts + (count - 1) // 2] + ordered[starts + count // 2]) / 2,
        worst=ordered[starts],
        best=ordered[starts + count - 1],
        repetitions=count,
    )


def _ways_between(
    table: PairTable, source: Places, target: Places, group_of: Mapping[str, int] | None
) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """By pair: a number for the groups of its ends, and whether they differ; None where no groups are known."""
    if not group_of:
        return None
    group = np.array([group_of.get(node, -1) + 1 for node in table.nodes], dtype=np.int32)
    way: NDArray[Any] = group[source]
    there = group[target]
    far: NDArray[np.bool_] = way != there
    kind = np.int32 if (int(group.max()) + 1) ** 2 < 1 << 31 else np.int64
    way = way.astype(kind, copy=False)
    way *= int(group.max()) + 1
    way += there
    return way, far


def _references(values: Reals, ways: tuple[NDArray[Any], NDArray[np.bool_]] | None) -> "Reals | float":
    """What each pair is compared with; one number for all where the groups are not known."""
    if ways is None:
        return float(np.median(values))
    way, far = ways
    reference = np.full(len(values), float(np.median(values)))
    near = ~far
    if near.sum() >= FEWEST:
        reference[near] = np.median(values[near])
    if far.sum() >= FEWEST:
        reference[far] = _between_groups(values, way, far)
    return reference


def _between_groups(values: Reals, way: NDArray[Any], far: NDArray[np.bool_]) -> float:
    """The median; or the second best pair of groups, where that is so much better that half of the uplinks may be bad.

    A slow uplink is on two of three ways between three groups, and on half of those between four.
    """
    usual = float(np.median(values[far]))
    order = np.argsort(way, kind="stable")
    starts = np.concatenate(([0], np.flatnonzero(np.diff(way[order])) + 1, [len(way)]))
    parts = [order[first:last] for first, last in itertools.pairwise(starts.tolist())]
    medians = sorted(float(np.median(values[part])) for part in parts if far[part[0]])
    if len(medians) < FEWEST_WAYS:
        return usual
    return medians[-2] if medians[-2] > BETTER * usual else usual
