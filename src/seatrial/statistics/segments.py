"""Time over message size as straight pieces, and which of the breaks between them are protocol switches.

T(m) = a + m/b in each piece (Hockney's model, piecewise). The pieces come from dynamic programming over all places to
break (Bellman and Roth, Curve fitting by segmented straight lines, JASA 64, 1969), their number from BIC (Schwarz
1978; Yao 1988 for breaks); pieces need not meet, since a protocol that takes over begins with a cost of its own.

A step between two pieces is a protocol switch only where resampling confirms it: whole runs are drawn again with
replacement (Efron's bootstrap, the run being the unit of replication), pieces and their number are fitted again, and
nearly all of these fits must have a step of the same sign at the same place.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.model.pair_table import Indices, Reals
from seatrial.statistics.estimates import CONFIDENCE, FEWEST_ALIKE
from seatrial.statistics.piecewise import FEWEST_SIZES, Pieces, bic_of, steps_of

MOST_SEGMENTS = 8
JUMP_SCALES = 3.0
"""A step of more than this many residual scales may be a switch; less is curvature (cache, MTU, packets)."""
LEAST_JUMP = 0.05
"""A step that may be a switch is at least this share of the time: a smaller one does not matter, however certain."""
RESAMPLES = 200
DOUBTFUL = 0.5
"""A step that fewer of the resamples find is not worth more runs."""
RAMP_SIZES = 4
"""A piece of no more sizes may be a step that looks like a slope."""
SAME_PLACE_OCTAVES = 0.5
"""One step of the grid of sizes: steps no further apart than this are at the same place."""
MOST_AT_ONCE = 4_000_000
"""Numbers in one array of fits, so that many sizes do not take gigabytes."""


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
    sizes: int
    relative_error: float
    """Root mean square of the residuals over the times."""

    def time_s(self, message_bytes: float) -> float:
        """What the piece predicts, also outside its sizes."""
        return self.startup_s.value + message_bytes / self.bytes_per_s.value


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """The place between two pieces: `last_bytes` still belongs to the one, `first_bytes` to the other."""

    last_bytes: int
    first_bytes: int
    low_bytes: int
    """The place over the resamples: no earlier than above this size."""
    high_bytes: int
    """The place over the resamples: no later than at this size. A step counts only resamples that found it."""
    jump: float
    """The smallest step of the fitted time in the gap, a share of the time before; negative: the next is faster."""
    step: bool
    """Whether the jump is `LEAST_JUMP` and more than `JUMP_SCALES` residual scales of the two pieces that meet here."""
    found_share: float | None = None
    """Share of the resamples that show the step with the same sign; None: not resampled."""

    @property
    def switch(self) -> bool:
        """Whether it is a protocol switch: a step that resampling confirms."""
        return self.step and self.found_share is not None and self.found_share >= CONFIDENCE

    @property
    def at_bytes(self) -> float:
        """The geometric middle of the gap: where in it the one ends is not known."""
        return math.sqrt(self.last_bytes * self.first_bytes)


class Segmentation(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of one curve in order of size, and the breaks between them."""

    segments: tuple[Segment, ...]
    breaks: tuple[Break, ...]
    sizes: int
    runs: int
    method: str

    @property
    def switches(self) -> tuple[Break, ...]:
        """The breaks that are protocol switches."""
        return tuple(one for one in self.breaks if one.switch)

    @property
    def steps(self) -> tuple[Break, ...]:
        """Possible switches, confirmed or not."""
        return tuple(one for one in self.breaks if one.step)

    @property
    def unclear(self) -> tuple[Break, ...]:
        """Breaks where more sizes would help: the steps, and both ends of a short piece that may be a step.

        A steep piece of few sizes between two that are a step apart fits a step as well as a break does.
        """
        ramps: set[int] = set()
        for place in range(1, len(self.segments) - 1):
            before, piece, after = self.segments[place - 1 : place + 2]
            middle = math.sqrt(piece.first_bytes * piece.last_bytes)
            apart = after.time_s(middle) / before.time_s(middle) - 1
            if piece.sizes <= RAMP_SIZES and abs(apart) > LEAST_JUMP:
                ramps |= {place - 1, place}
        return tuple(one for place, one in enumerate(self.breaks) if one.step or place in ramps)

    @property
    def doubtful(self) -> tuple[Break, ...]:
        """The steps that more runs may well confirm, or refute."""
        return tuple(one for one in self.steps if one.found_share and DOUBTFUL <= one.found_share < CONFIDENCE)


class _Resamples:
    """Fits of resamples of whole runs. `lines`: with the number of pieces kept; `steps`: with the number chosen again.

    `steps`: for each resample the place at which a step begins, by sign.
    """

    def __init__(self) -> None:
        self.cuts: list[Indices] = []
        self.lines: list[Reals] = []
        self.steps: list[list[tuple[int, bool]]] = []

    def take(self, sizes: Reals, times: Reals, pieces: int, most: int) -> None:
        """Fit some resamples (rows of `times`)."""
        fitted = Pieces(sizes, times, max(most, pieces))
        self.cuts.append(fitted.cuts[pieces - 1])
        self.lines.append(fitted.lines(fitted.cuts[pieces - 1]))
        chosen = np.argmin(bic_of(fitted), axis=0)
        steps: list[list[tuple[int, bool]]] = [[] for _ in times]
        for count in np.unique(chosen[chosen > 0]):
            jumps, _ = steps_of(fitted, int(count))
            rows, columns = np.nonzero((np.abs(jumps) >= LEAST_JUMP) & (chosen == count)[:, None])
            for row, column in zip(rows, columns, strict=True):
                steps[row].append((int(fitted.cuts[count][row, column]), bool(jumps[row, column] > 0)))
        self.steps += steps

    def drawn(self, which: Indices) -> "_Resamples":
        """One fit for each draw: of few runs many draws are the same, and each of these is fitted once."""
        of_draws = _Resamples()
        of_draws.cuts = [np.concatenate(self.cuts)[which]]
        of_draws.lines = [np.concatenate(self.lines)[which]]
        of_draws.steps = [self.steps[draw] for draw in which]
        return of_draws


def segment(runs: Mapping[int, Sequence[float]], *, resamples: int = RESAMPLES, seed: int = 1) -> Segmentation:
    """Fit the medians over runs, at each size in bytes, of times in seconds; `runs[size][r]` is of run r.

    NaN stands for a run without that size. Intervals are percentiles over `resamples` resamples of whole runs, with
    the number of pieces kept; of three runs they can be no wider than their range. Raises ValueError for fewer sizes
    than one piece needs, and for times that are not positive and finite.
    """
    sizes = np.array(sorted(runs), dtype=np.float64)
    table = _table([runs[int(size)] for size in sizes])
    if len(sizes) < FEWEST_SIZES or not np.nanmin(table) > 0 or np.isinf(table).any():
        raise ValueError(f"{len(sizes)} sizes, least time {np.nanmin(table) if table.size else None}")
    times = np.nanmedian(table, axis=0)
    most = min(MOST_SEGMENTS, len(sizes) // FEWEST_SIZES)
    fitted = Pieces(sizes, times[None], most)
    pieces = int(np.argmin(bic_of(fitted)[:, 0])) + 1
    again = _resampled(sizes, table, times, pieces, most, resamples if len(table) > 1 else 0, seed)
    return _described(sizes, fitted, pieces, again, len(table))


def _table(columns: list[Sequence[float]]) -> Reals:
    """Runs down, sizes across; NaN where a size has fewer runs than others."""
    table = np.full((max((len(column) for column in columns), default=0), len(columns)), np.nan)
    for place, column in enumerate(columns):
        table[: len(column), place] = column
    return table


def _resampled(
    sizes: Reals, table: Reals, times: Reals, pieces: int, most: int, resamples: int, seed: int
) -> _Resamples:
    found = _Resamples()
    if not resamples:
        return found
    draws = np.random.default_rng(seed).integers(len(table), size=(resamples, len(table)))
    different, which = np.unique(np.sort(draws, axis=1), axis=0, return_inverse=True)
    whole = not np.isnan(table).any()
    at_once = max(MOST_AT_ONCE // (len(sizes) * max(len(sizes), len(table))), 1)
    for first in range(0, len(different), at_once):
        some = different[first : first + at_once]
        medians = np.median(table[some], axis=1) if whole else np.array([_medians(table[one], times) for one in some])
        found.take(sizes, medians, pieces, most)
    return found.drawn(which.ravel())


def _medians(table: Reals, otherwise: Reals) -> Reals:
    measured = ~np.isnan(table).all(axis=0)
    medians = otherwise.copy()
    medians[measured] = np.nanmedian(table[:, measured], axis=0)
    return medians


def _described(sizes: Reals, fitted: Pieces, pieces: int, again: _Resamples, runs: int) -> Segmentation:
    cuts = fitted.cuts[pieces - 1]
    lines, squares = fitted.lines(cuts)[0], fitted.piece_squares(cuts)[0]
    jumps, scales = steps_of(fitted, pieces - 1)
    others = np.concatenate(again.lines) if again.lines else np.empty((0, pieces, 2))
    ends = list(itertools.pairwise((0, *(int(cut) for cut in cuts[0]), len(sizes))))
    segments = tuple(
        Segment(
            first_bytes=int(sizes[first]),
            last_bytes=int(sizes[end - 1]),
            startup_s=_interval(lines[place, 0], others[:, place, 0]),
            bytes_per_s=_rate(lines[place, 1], others[:, place, 1]),
            sizes=end - first,
            relative_error=math.sqrt(float(squares[place]) / (end - first)),
        )
        for place, (first, end) in enumerate(ends)
    )
    breaks = tuple(
        _break(sizes, int(cut), float(jumps[0, place]), float(scales[0, place]), place, again, runs)
        for place, cut in enumerate(cuts[0])
    )
    return Segmentation(
        segments=segments,
        breaks=breaks,
        sizes=len(sizes),
        runs=runs,
        method=f"segmented least squares on relative error, BIC, {len(again.steps)} resamples of {runs} runs",
    )


def _break(sizes: Reals, cut: int, jump: float, scale: float, place: int, again: _Resamples, runs: int) -> Break:
    step = abs(jump) > max(JUMP_SCALES * scale, LEAST_JUMP)
    others: Sequence[int] = [int(each) for some in again.cuts for each in some[:, place]]
    share = None
    if step and again.steps and runs >= FEWEST_ALIKE:
        others = [at for steps in again.steps if (at := _same_step(sizes, cut, jump > 0, steps)) is not None]
        share = len(others) / len(again.steps)
    low, high = _percentiles(others) if others else (cut, cut)
    return Break(
        last_bytes=int(sizes[cut - 1]),
        first_bytes=int(sizes[cut]),
        low_bytes=int(sizes[min(math.floor(low), cut) - 1]),
        high_bytes=int(sizes[max(math.ceil(high), cut)]),
        jump=jump,
        step=step,
        found_share=share,
    )


def _same_step(sizes: Reals, cut: int, rises: bool, steps: Sequence[tuple[int, bool]]) -> int | None:
    """The place of the step of the same sign that is nearest to `cut`; None where none is at the same place."""
    middle = sizes[cut - 1] * sizes[cut]  # of each gap, squared
    near = [(abs(math.log2(sizes[at - 1] * sizes[at] / middle)) / 2, at) for at, others in steps if others is rises]
    same = [(apart, at) for apart, at in near if apart <= SAME_PLACE_OCTAVES or abs(at - cut) <= 1]
    return min(same)[1] if same else None


def _percentiles(values: Sequence[float] | Reals) -> tuple[float, float]:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def _interval(value: float, others: Reals) -> Interval:
    value = float(value)  # NumPy's own kind of number cannot be written as JSON
    low, high = _percentiles(others) if len(others) else (value, value)
    return Interval(value=value, low=min(low, value), high=max(high, value))


def _rate(slope: float, others: Reals) -> Interval:
    """Convert seconds per byte to bytes per second; the ends of the interval change places."""
    interval = _interval(slope, others)
    value, low, high = (1 / each if each > 0 else math.inf for each in (interval.value, interval.high, interval.low))
    return Interval(value=value, low=low, high=high)
