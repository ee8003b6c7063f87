"""Straight pieces through many series of times at once: all places to break, by dynamic programming over sums.

A series is the time at each of the same sizes. Every array has the series first; [series, first, last] is the one line
through the sizes `first` to `last` (their places in order), fitted by least squares of relative error with slope ≥ 0.
"""

import numpy as np

from seatrial.model.pair_table import Indices, Reals
from seatrial.statistics.estimates import LEAST_SCATTER

FEWEST_SIZES = 3
"""A piece of two sizes fits anything."""
BORROWED = 3.0
"""The scale of two short pieces is that of few residuals: the whole fit's counts as this many more."""


class Pieces:
    """The least squares of every possible piece of every series, and the best division into 1, 2, ... `most`."""

    def __init__(self, sizes: Reals, times: Reals, most: int) -> None:
        """`sizes`: bytes, ascending; `times`: seconds, one row a series, all positive."""
        self._sizes = sizes
        self.squares, self.startup_s, self.slope_s = _all_lines(sizes, times)
        self.cost, self.cuts = _divisions(self.squares, most)

    def lines(self, cuts: Indices) -> Reals:
        """[series, piece, 0 or 1]: start-up and seconds per byte of the pieces that begin at 0 and at `cuts`."""
        first, last, row = self._spans(cuts)
        return np.stack((self.startup_s[row, first, last], self.slope_s[row, first, last]), axis=-1)

    def piece_squares(self, cuts: Indices) -> Reals:
        """[series, piece]: the sum of squared relative residuals."""
        first, last, row = self._spans(cuts)
        squares: Reals = self.squares[row, first, last]
        return squares

    def held(self, cuts: Indices) -> Indices:
        """[series, piece]: how many sizes each has."""
        first, last, _ = self._spans(cuts)
        sizes: Indices = last - first + 1
        return sizes

    def steps_in_gaps(self, cuts: Indices, lines: Reals) -> tuple[Reals, ...]:
        """[series, break] at both ends of each gap: from one line to the next, as a share of the time before."""
        ends = []
        for sizes in (self._sizes[cuts - 1], self._sizes[cuts]):
            before = lines[:, :-1, 0] + lines[:, :-1, 1] * sizes
            ends.append((lines[:, 1:, 0] + lines[:, 1:, 1] * sizes - before) / before)
        return tuple(ends)

    def _spans(self, cuts: Indices) -> tuple[Indices, Indices, Indices]:
        series, count = len(self.squares), len(self._sizes)
        first = np.hstack((np.zeros((series, 1), dtype=np.intp), cuts))
        last = np.hstack((cuts, np.full((series, 1), count, dtype=np.intp))) - 1
        return first, last, np.arange(series)[:, None]


def _all_lines(sizes: Reals, times: Reals) -> tuple[Reals, Reals, Reals]:
    """Squares, start-up and slope [series, first, last]; infinite squares where there are too few sizes.

    Sizes and times are taken relative to the first ones, so that no precision is lost between bytes and megabytes.
    """
    place = np.arange(len(sizes))
    held = place - place[:, None] + 1
    first_size = np.maximum(sizes[:, None], 1.0)
    first_time = times[:, :, None]
    x = (sizes - sizes[:, None]) / first_size
    y = times[:, None, :] / first_time
    w = np.where(held > 0, 1 / y**2, 0)
    sw, sx, sy, sxx, sxy = (np.cumsum(term, axis=2) for term in (w, w * x, w * y, w * x * x, w * x * y))
    whole = np.where(held > 0, sw, 1)
    spread, together = sxx - sx**2 / whole, sxy - sx * sy / whole
    rises = (together > 0) & (spread > 0)
    slope = np.where(rises, together / np.where(spread > 0, spread, 1), 0)
    squares = np.maximum(held - sy**2 / whole - slope * together, 0)
    startup = (sy - slope * sx) / whole - slope * sizes[:, None] / first_size
    return np.where(held >= FEWEST_SIZES, squares, np.inf), startup * first_time, slope * first_time / first_size


def _divisions(squares: Reals, most: int) -> tuple[list[Reals], list[Indices]]:
    """The least sum of squares of each series in 1, 2, ... `most` pieces, and the places at which pieces begin."""
    series, count = squares.shape[:2]
    best = [squares[:, 0]]
    begun: list[Indices] = []
    for _ in range(most - 1):
        before = np.hstack((np.full((series, 1), np.inf), best[-1][:, :-1]))
        candidates = before[:, :, None] + squares
        begun.append(np.argmin(candidates, axis=1))
        best.append(np.take_along_axis(candidates, begun[-1][:, None], axis=1)[:, 0])
    row = np.arange(series)
    divisions = []
    for pieces in range(most):
        last = np.full(series, count - 1, dtype=np.intp)
        cuts: list[Indices] = []
        for chosen in reversed(begun[:pieces]):
            cuts.append(chosen[row, last])
            last = cuts[-1] - 1
        divisions.append(np.array(cuts[::-1], dtype=np.intp).reshape(pieces, series).T)
    return [each[:, -1] for each in best], divisions


def bic_of(fitted: Pieces) -> Reals:
    """[pieces - 1, series]: n ln(RSS/n) + (3K - 1) ln n, a start-up, a slope and a place for each of K pieces but one.

    Relative errors below `LEAST_SCATTER` are not believed.
    """
    count = fitted.squares.shape[1]
    criteria = [
        count * np.log(cost / count + LEAST_SCATTER**2) + (3 * (place + 1) - 1) * np.log(count)
        for place, cost in enumerate(fitted.cost)
    ]
    return np.array(criteria)


def steps_of(fitted: Pieces, breaks: int) -> tuple[Reals, Reals]:
    """[series, break]: the step at each break, and the residual scale of the two pieces that meet there.

    The step is the least one anywhere in the gap between the two sizes, as a share of the time before; 0 where the
    lines meet in the gap. Where in the gap one piece ends is not known, and lines of different slope are apart in
    most places.
    """
    cuts = fitted.cuts[breaks]
    lines, squares = fitted.lines(cuts), fitted.piece_squares(cuts)
    ends = fitted.steps_in_gaps(cuts, lines)
    least = np.where(np.abs(ends[0]) < np.abs(ends[1]), ends[0], ends[1])
    held = fitted.held(cuts)
    whole = squares.sum(axis=1, keepdims=True) / max(int(held[0].sum()) - (3 * breaks + 2), 1)
    free = np.maximum(held[:, :-1] + held[:, 1:] - 5 + BORROWED, 1)
    scale = np.sqrt((squares[:, :-1] + squares[:, 1:] + BORROWED * np.maximum(whole, LEAST_SCATTER**2)) / free)
    return np.where(ends[0] * ends[1] <= 0, 0.0, least), np.maximum(scale, LEAST_SCATTER)
