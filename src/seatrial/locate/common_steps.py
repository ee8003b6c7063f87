"""What changes for everything at once is the machine that measures, not a part."""

import math

import msgspec
import numpy as np

from seatrial.locate.part_series import Series
from seatrial.locate.rows import Flags
from seatrial.model.pair_table import Indices, Reals

MOST_STEPS = 8
FEWEST = 3
"""Rows on either side of a step."""
FEWEST_PAIRS = 4
"""Pairs that were measured on both sides; where there are fewer, nodes are compared."""
MOST_NODES = 0.8
"""Share of the nodes that must have FEWEST values on both sides."""
ERRORS = 3.0
"""Standard errors of the rank-sum contrast from which a step is looked at."""
LOW = 0.2
"""At least all but this share of the pairs ..."""
PART_OF_STEP = 0.5
"""... must move by this part of the step: of four nodes one that turns bad moves half of the pairs."""


def without_common(series: Series, effect: float) -> Series:
    """The series without steps of at least half the effect that nearly all pairs have in common."""
    for _ in range(MOST_STEPS):
        step = _step(series, effect)
        if step is None:
            return series
        series = msgspec.structs.replace(series, log=series.log - step)
    return series


def _step(series: Series, effect: float) -> Reals | None:
    """What to subtract from each row; None where no step is common to all."""
    order = np.argsort(series.time_s, kind="stable")
    cut = _cut(series.time_s[order], series.log[order])
    if cut is None:
        return None
    later = np.zeros(len(order), dtype=np.bool_)
    later[order[cut:]] = True
    moved = _moved(series, later)
    if len(moved) < FEWEST:
        return None
    size = float(np.median(moved))
    least = float(np.quantile(moved * math.copysign(1, size), LOW))
    if abs(size) < effect / 2 or least < PART_OF_STEP * abs(size):
        return None
    # The lower side is the disturbed one.
    return np.where(later, size, 0.0) if size < 0 else np.where(later, 0.0, -size)


def _cut(time_s: Reals, value: Reals) -> int | None:
    """Number of rows before the most likely step of all rows together; None where there is none."""
    total = len(value)
    rank = np.empty(total)
    rank[np.argsort(value, kind="stable")] = np.arange(1, total + 1)
    left = np.arange(1, total)
    right = total - left
    usable = (left >= FEWEST) & (right >= FEWEST) & (time_s[1:] > time_s[:-1])
    if not usable.any():
        return None
    before = np.cumsum(rank - (total + 1) / 2)[:-1]
    score = np.where(usable, np.abs(before) / np.sqrt(left * right * (total + 1) / 12), 0.0)
    best = int(np.argmax(score))
    return best + 1 if score[best] >= ERRORS else None


def _moved(series: Series, later: Flags) -> Reals:
    """By how much the median of each pair moved; of each node where few were measured on both sides."""
    nodes = int(max(series.source.max(), series.target.max())) + 1
    ends = np.minimum(series.source, series.target) * np.int64(nodes) + np.maximum(series.source, series.target)
    moved = _medians_moved(ends, later, series.log, 1)
    if len(moved) >= FEWEST_PAIRS:
        return moved
    node = np.concatenate([series.source, series.target])
    moved = _medians_moved(node, np.concatenate([later, later]), np.concatenate([series.log, series.log]), FEWEST)
    return moved if len(moved) >= MOST_NODES * len(np.unique(node)) else moved[:0]


def _medians_moved(group: Indices, later: Flags, value: Reals, fewest: int) -> Reals:
    """For each group with enough values on both sides: by how much its median moved."""
    key = group * 2 + later
    ordered = value[np.lexsort((value, key))]
    keys, begin, count = np.unique(np.sort(key), return_index=True, return_counts=True)
    middle = (ordered[begin + (count - 1) // 2] + ordered[begin + count // 2]) / 2
    keys, middle = keys[count >= fewest], middle[count >= fewest]
    both = np.flatnonzero((keys[1:] == keys[:-1] + 1) & (keys[:-1] % 2 == 0))
    moved: Reals = middle[both + 1] - middle[both]
    return moved
