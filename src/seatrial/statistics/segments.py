"""Time over message size as straight pieces, and which of the breaks between them are switches of protocol.

T(m) = a + m/b in each piece (Hockney's model, piecewise). The pieces come from dynamic programming over all places to
break (Bellman and Roth, Curve fitting by segmented straight lines, JASA 64, 1969), their number from BIC (Schwarz
1978; Yao 1988 for breaks); pieces need not meet, since a protocol that takes over begins with a cost of its own.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

FEWEST_SIZES = 3
"""A piece of two sizes fits anything."""
MOST_SEGMENTS = 8
FLOOR = 0.002
"""Relative error below which no measurement is trusted to go; keeps exact or rounded data from endless pieces."""
JUMP_SCALES = 3.0
"""A jump of more than so many residual scales is a switch; less is curvature (cache, MTU, packets)."""
LEAST_JUMP = 0.05
"""... and of at least this share of the time: a smaller one, however sure, matters to nobody."""
BORROWED = 3.0
"""The scale of two short pieces is that of few residuals: the whole fit's counts as so many more."""
RESAMPLES = 200
CONFIDENCE = 0.95


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A value and the range of it over the resamples of runs; infinite where the value is."""

    value: float
    low: float
    high: float


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """T = startup_s + m / bytes_per_s for sizes `first_bytes` to `last_bytes`; an infinite rate is a flat piece."""

    first_bytes: int
    last_bytes: int
    startup_s: Interval
    bytes_per_s: Interval
    relative_error: float
    """Root mean square of the residuals over the times."""

    def time_s(self, message_bytes: float) -> float:
        """What the piece predicts, also outside its sizes."""
        return self.startup_s.value + message_bytes / self.bytes_per_s.value


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """Where one piece ends and the next begins: `last_bytes` still belongs to the one, `first_bytes` to the other."""

    last_bytes: int
    first_bytes: int
    low_bytes: int
    """Over the resamples: no earlier than above this size ..."""
    high_bytes: int
    """... and no later than at this one."""
    jump: float
    """The least step of the fitted time in the gap, a share of the time before; negative: the next is faster."""
    switch: bool
    """Whether the step is `LEAST_JUMP` and more than `JUMP_SCALES` residual scales of the two pieces that meet here."""

    @property
    def at_bytes(self) -> float:
        """The geometric middle of the gap: where in it the one ends is not known."""
        return math.sqrt(self.last_bytes * self.first_bytes)


class Segmentation(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of one curve in order of size, and the breaks between them."""

    segments: tuple[Segment, ...]
    breaks: tuple[Break, ...]
    relative_scale: float
    """Residual scale of the whole fit, a share of the time; at least `FLOOR`."""
    sizes: int
    runs: int
    method: str

    @property
    def switches(self) -> tuple[Break, ...]:
        """The breaks that are switches of protocol."""
        return tuple(one for one in self.breaks if one.switch)


def segment(
    runs: Mapping[int, Sequence[float]], *, most: int = MOST_SEGMENTS, resamples: int = RESAMPLES, seed: int = 1
) -> Segmentation:
    """Fit the medians over runs, at each size in bytes, of times in seconds; `runs[size][r]` is of run r.

    NaN stands for a run without that size. Intervals are percentiles over `resamples` resamples of whole runs (Efron's
    bootstrap), with the number of pieces kept; of three runs they can be no wider than their range. Raises ValueError
    for fewer sizes than one piece needs, and for times that are not positive.
    """
    sizes = np.array(sorted(runs), dtype=np.float64)
    table = _table([runs[int(size)] for size in sizes])
    if len(sizes) < FEWEST_SIZES or not np.nanmin(table) > 0:
        raise ValueError(f"{len(sizes)} sizes, least time {np.nanmin(table) if table.size else None}")
    times = np.nanmedian(table, axis=0)
    choices = _best_cuts(sizes, times, min(most, len(sizes) // FEWEST_SIZES))
    cuts = min(choices, key=lambda cuts: _bic(sizes, times, cuts))
    draw = np.random.default_rng(seed)
    fits: list[tuple[list[int], Numbers]] = []
    for _ in range(resamples if len(table) > 1 else 0):
        again = _medians(table[draw.integers(len(table), size=len(table))], times)
        other = _best_cuts(sizes, again, len(cuts) + 1)[len(cuts)]
        fits.append((other, _lines(sizes, again, other)))
    return _described(sizes, times, cuts, fits, len(table))


def _table(columns: list[Sequence[float]]) -> Numbers:
    """Runs down, sizes across; NaN where a size has fewer runs than others."""
    table = np.full((max((len(column) for column in columns), default=0), len(columns)), np.nan)
    for place, column in enumerate(columns):
        table[: len(column), place] = column
    return table


def _medians(table: Numbers, otherwise: Numbers) -> Numbers:
    known = ~np.isnan(table).all(axis=0)
    medians = otherwise.copy()
    medians[known] = np.nanmedian(table[:, known], axis=0)
    return medians


def _sums_of_squares(sizes: Numbers, times: Numbers) -> Numbers:
    """[first, last]: least sum of squared relative residuals of one line, slope ≥ 0, over the sizes first to last.

    Sizes and times are taken relative to the first ones, so that no precision is lost between bytes and megabytes.
    """
    place = np.arange(len(sizes))
    held = place - place[:, None] + 1
    x = (sizes - sizes[:, None]) / np.maximum(sizes[:, None], 1.0)
    y = times / times[:, None]
    w = np.where(held > 0, 1 / y**2, 0)
    sw, sx, sy, sxx, sxy = (np.cumsum(term, axis=1) for term in (w, w * x, w * y, w * x * x, w * x * y))
    whole = np.where(held > 0, sw, 1)
    spread, together = sxx - sx**2 / whole, sxy - sx * sy / whole
    gain = np.where((together > 0) & (spread > 0), together**2 / np.where(spread > 0, spread, 1), 0)
    return np.where(held >= FEWEST_SIZES, np.maximum(held - sy**2 / whole - gain, 0), np.inf)


def _best_cuts(sizes: Numbers, times: Numbers, most: int) -> list[list[int]]:
    """For one piece, two, ... up to `most`: the indices at which pieces after the first begin."""
    count = len(sizes)
    squares = _sums_of_squares(sizes, times)
    best = [squares[0]]
    begun: list[NDArray[np.intp]] = []
    for _ in range(most - 1):
        before = np.concatenate(([np.inf], best[-1][:-1]))
        candidates = before[:, None] + squares
        begun.append(np.argmin(candidates, axis=0))
        best.append(candidates[begun[-1], np.arange(count)])
    found = []
    for pieces in range(most):
        cuts, last = [], count - 1
        for chosen in reversed(begun[:pieces]):
            cuts.append(int(chosen[last]))
            last = cuts[-1] - 1
        found.append(cuts[::-1])
    return found


def _lines(sizes: Numbers, times: Numbers, cuts: Sequence[int]) -> Numbers:
    """Start-up and seconds per byte of each piece, slope ≥ 0."""
    lines = []
    for first, end in _spans(len(sizes), cuts):
        x, y = sizes[first:end], times[first:end]
        w = 1 / y**2
        x0, y0 = np.average(x, weights=w), np.average(y, weights=w)
        spread = np.sum(w * (x - x0) ** 2)
        slope = max(float(np.sum(w * (x - x0) * (y - y0)) / spread), 0.0)
        lines.append((y0 - slope * x0, slope))
    return np.array(lines)


def _spans(count: int, cuts: Sequence[int]) -> list[tuple[int, int]]:
    return list(itertools.pairwise((0, *cuts, count)))


def _residuals(sizes: Numbers, times: Numbers, cuts: Sequence[int], lines: Numbers) -> list[Numbers]:
    """Relative, one array a piece."""
    spans = zip(_spans(len(sizes), cuts), lines, strict=True)
    return [1 - (a + slope * sizes[first:end]) / times[first:end] for (first, end), (a, slope) in spans]


def _bic(sizes: Numbers, times: Numbers, cuts: Sequence[int]) -> float:
    """n ln(RSS/n) + (3K - 1) ln n: a start-up, a slope and a place for each piece but the first, which has no place."""
    count = len(sizes)
    residuals = np.concatenate(_residuals(sizes, times, cuts, _lines(sizes, times, cuts)))
    mean_square = float(np.mean(residuals**2)) + FLOOR**2
    return count * math.log(mean_square) + (3 * (len(cuts) + 1) - 1) * math.log(count)


def _described(
    sizes: Numbers, times: Numbers, cuts: Sequence[int], fits: Sequence[tuple[list[int], Numbers]], runs: int
) -> Segmentation:
    lines = _lines(sizes, times, cuts)
    residuals = _residuals(sizes, times, cuts, lines)
    scale = _scale(residuals, 0.0, 0.0)
    segments = tuple(
        Segment(
            first_bytes=int(sizes[first]),
            last_bytes=int(sizes[end - 1]),
            startup_s=_interval(lines[place, 0], [other[place, 0] for _, other in fits]),
            bytes_per_s=_rate(lines[place, 1], [other[place, 1] for _, other in fits]),
            relative_error=float(np.sqrt(np.mean(residuals[place] ** 2))),
        )
        for place, (first, end) in enumerate(_spans(len(sizes), cuts))
    )
    breaks = tuple(
        _break(
            sizes,
            cut,
            lines[place : place + 2],
            [other[place] for other, _ in fits],
            _scale(residuals[place : place + 2], scale, BORROWED),
        )
        for place, cut in enumerate(cuts)
    )
    method = f"segmented least squares on relative error, BIC, {len(fits)} resamples of {runs} runs"
    return Segmentation(
        segments=segments, breaks=breaks, relative_scale=scale, sizes=len(sizes), runs=runs, method=method
    )


def _scale(residuals: Sequence[Numbers], whole: float, borrowed: float) -> float:
    """Scale of the residuals about these pieces, less what the pieces have free, with `borrowed` of scale `whole`."""
    free = sum(len(each) for each in residuals) - (3 * len(residuals) - 1)
    squares = sum(float(np.sum(each**2)) for each in residuals)
    return max(math.sqrt((squares + borrowed * whole**2) / max(free + borrowed, 1)), FLOOR)


def _break(sizes: Numbers, cut: int, lines: Numbers, others: Sequence[int], scale: float) -> Break:
    jump = _jump(sizes[cut - 1 : cut + 1], lines)
    low, high = _percentiles(others) if others else (cut, cut)
    return Break(
        last_bytes=int(sizes[cut - 1]),
        first_bytes=int(sizes[cut]),
        low_bytes=int(sizes[min(math.floor(low), cut) - 1]),
        high_bytes=int(sizes[max(math.ceil(high), cut)]),
        jump=jump,
        switch=abs(jump) > max(JUMP_SCALES * scale, LEAST_JUMP),
    )


def _jump(sizes: Numbers, lines: Numbers) -> float:
    """The least step between two lines anywhere in the gap, as a share of the first's time; 0 where they meet in it.

    Where in the gap the one ends is not known, and lines of different slope are apart in most places.
    """
    (startup, slope), (next_startup, next_slope) = lines
    before = startup + slope * sizes
    steps = (next_startup + next_slope * sizes - before) / before
    if steps[0] * steps[1] <= 0:
        return 0.0
    return float(min(steps, key=abs))


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def _interval(value: float, others: Sequence[float]) -> Interval:
    value = float(value)  # NumPy's own kind of number cannot be written as JSON
    low, high = _percentiles(others) if others else (value, value)
    return Interval(value=value, low=min(low, value), high=max(high, value))


def _rate(slope: float, others: Sequence[float]) -> Interval:
    """From seconds per byte to bytes per second, the interval's ends changing places."""
    found = _interval(slope, others)
    value, low, high = (1 / each if each > 0 else math.inf for each in (found.value, found.high, found.low))
    return Interval(value=value, low=low, high=high)
