"""Changes of a series: positions, sizes with intervals, p-values, and an error rate that correlated noise keeps.

Binary segmentation (Scott and Knott, Biometrics 30, 1974; Vostrikova 1981): the best place to divide the series, then
the best one in either part, while a test says that chance does not explain it. The test differs from the textbook's:

- spikes are replaced first, so that one wild value is not a change;
- the statistic counts the values as fewer by their autocorrelation, of which the upper 95 % limit is used;
- its p-value is that of the best of all places (`scan.largest_p`);
- a step sharper than noise is a change, too, however alike neighbours are (`scan.SharpStep`);
- a few values far off count for less where the noise itself has values far off (`scan.tail_factor`);
- the pieces are levels or straight lines, by Schwarz's criterion, since a steady drift is not a hundred steps.

A change that returns later may only be visible together with its end: one division that fails the test is kept if the
next one passes. Each of the two chances has half of the error rate. At the end every change must pass by itself.
"""

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.model.pair_table import Indices, Reals
from seatrial.statistics.estimates import CONFIDENCE, ERROR_RATE, NORMAL_95, array_median, last_digit, student_quantile
from seatrial.statistics.scan import (
    NEAR,
    SHORTEST,
    SharpStep,
    Stretches,
    critical_statistic,
    independent_share,
    largest_p,
    replace_spikes,
    residual_products,
    tail_factor,
    upper_autocorrelation,
)

FEWEST = 2 * SHORTEST + 2
"""Values below which nothing can be found."""
MOST_CHANGES = 100
CHANCES = 2
NEARLY_ALL_DEVIATIONS = 11.03
"""95 % quantile of the scaled distance between the true and the best place (Bai, Econometric Theory 13, 1997)."""
LARGEST_DEVIATIONS = 1e3
PRECISION = 1e-3
"""Relative precision of the detectable change."""
MOST_DEGREES = 100
NO_NOISE = 1e-18
"""Sum of squares per value below which all is rounding."""


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `index`: of the first value after it, counted from 0."""

    index: int
    low_index: int
    high_index: int
    """Range of the place, with 95 % confidence."""
    before: float
    after: float
    """Level on each side; with slopes the line's value at the change."""
    ratio: float | None
    """After over before; None if that has no meaning: zero, or different signs."""
    ratio_low: float | None
    ratio_high: float | None
    """Upper end of the 95 % interval of `ratio`, the place taken as known."""
    slope_before: float
    slope_after: float
    """Per value; 0 for levels."""
    p_value: float


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch between changes: from `first` to before `end`, spikes replaced."""

    first: int
    end: int
    mean: float
    slope: float


class SeriesChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What one series shows."""

    count: int
    trend: bool = False
    """Whether its pieces are straight lines and not levels."""
    changes: tuple[ChangePoint, ...] = ()
    pieces: tuple[Piece, ...]
    spikes: tuple[int, ...]
    """Places of wild values that were replaced."""
    autocorrelation: float = 0.0
    """Upper 95 % limit that the test used, at most `MOST_AUTOCORRELATION`."""
    scale: float
    """Standard deviation of the residuals."""
    degrees: int
    """Independent residuals behind it."""
    detectable: float | None
    """The smallest change of level in the middle of the series that is found in about 90 % of cases; None: the
    series is too short."""
    error_rate: float

    def chance(self, tests: int, autocorrelation: float = 0.0) -> float:
        """What a value may be off on one side in one of several tests; with `autocorrelation` for means of values."""
        quantile = student_quantile(1 - self.error_rate / tests, min(self.degrees, MOST_DEGREES))
        return quantile * self.scale / math.sqrt(independent_share(autocorrelation))


class OpenEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Newest values of a series that all lie on one side of its last level. `before`, `after`: means."""

    count: int
    before: float
    after: float


class _ResidualNoise(msgspec.Struct, frozen=True, kw_only=True):
    """What a division leaves: sum of squares, largest residual, and what the values are worth."""

    squares: float
    peak: float
    autocorrelation: float
    degrees: int
    none: bool
    """Whether what is left is rounding only."""

    @property
    def deviation(self) -> float:
        """Standard deviation of one value."""
        return math.sqrt(self.squares / self.degrees)

    @property
    def long_run(self) -> float:
        """Deviation as means of many values show it: larger if neighbours are alike."""
        return self.deviation / math.sqrt(independent_share(self.autocorrelation))

    def statistic(self, gain: float, shorter: float) -> float:
        """What a division is worth as a chi-square. `gain`: its drop of the squares; `shorter`: its shorter side."""
        likelihood = self.degrees * math.log1p(gain / self.squares)
        variance = self.squares / self.degrees
        tails = gain / variance * tail_factor(self.peak, math.sqrt(gain / shorter), variance)
        return min(likelihood, tails) * independent_share(self.autocorrelation)


class _Division:
    """Places of division, and the residuals that they leave."""

    def __init__(self, stretches: Stretches) -> None:
        self.stretches = stretches
        self.count = len(stretches.values)
        self.edges = [0, self.count]
        self._residuals = stretches.residuals(0, self.count)
        self._splits: dict[tuple[int, int], tuple[float, int]] = {}
        self._new = [(0, self.count)]
        self._noise: _ResidualNoise | None = None

    def divide(self) -> int | None:
        """Divide at the best place of all stretches and return it; None where there is no place left."""
        self._splits.update((stretch, self.stretches.best_split(*stretch)) for stretch in self._new)
        stretch = max(self._splits, key=lambda one: self._splits[one][0])
        gain, place = self._splits[stretch]
        if gain <= 0:
            self._new = []
            return None
        del self._splits[stretch]
        self._noise = None
        self.edges.insert(self.edges.index(stretch[1]), place)
        self._new = [(stretch[0], place), (place, stretch[1])]
        for first, end in self._new:
            self._residuals[first:end] = self.stretches.residuals(first, end)
        return place

    def join(self, place: int) -> None:
        """Take one place of division back."""
        at = self.edges.index(place)
        first, end = self.edges[at - 1], self.edges[at + 1]
        self.edges.remove(place)
        self._noise = None
        self._residuals[first:end] = self.stretches.residuals(first, end)

    @property
    def places(self) -> list[int]:
        """Beginnings of all parts but the first."""
        return self.edges[1:-1]

    def noise(self) -> _ResidualNoise:
        """Noise of the residuals of this division."""
        if self._noise is None:
            self._noise = self._noise_of(len(self.edges) - 1)
        return self._noise

    def _noise_of(self, pieces: int) -> _ResidualNoise:
        squares, lagged = residual_products(self._residuals)
        parameters = self.stretches.parameters
        return _ResidualNoise(
            squares=squares,
            peak=float(np.abs(self._residuals).max()),
            autocorrelation=upper_autocorrelation(squares, lagged, self.count, pieces, parameters),
            degrees=max(self.count - parameters * pieces, 1),
            none=squares <= NO_NOISE * self.count,
        )

    def p_value(self, place: int) -> float:
        """Probability that chance makes the best place worth as much as this one is beside the others."""
        at = self.edges.index(place)
        first, end = self.edges[at - 1], self.edges[at + 1]
        of = self.stretches.squares
        gain = of(first, end) - of(first, place) - of(place, end)
        if gain <= NO_NOISE * self.count:
            return 1.0
        if self.noise().none:
            return 0.0
        own = self.noise().statistic(gain, min(place - first, end - place))
        plain = largest_p(own, self.stretches.parameters, self.count)
        return plain if self.stretches.lines else min(plain, self._sharp_p(first, place, end))

    def _sharp_p(self, first: int, place: int, end: int) -> float:
        """How likely noise makes a step between levels as sharp as this one; means must differ by half of it."""
        first, end = max(first, place - NEAR), min(end, place + NEAR)
        before, after = self.stretches.values[first:place], self.stretches.values[place:end]
        step = SharpStep(end - first, place - first, self.noise().autocorrelation)
        size, variance = step.size(self.stretches.values[first:end])
        lasts = size and 2 * (after.mean() - before.mean()) / size >= 1
        return step.largest_p(size, variance, self.count) if lasts else 1.0

    def detectable(self, level: float) -> float:
        """The change of level in the middle that mostly passes the test, in units of the values."""
        more = 0 if self.stretches.lines else 1  # a change of level makes one more piece
        noise, count = self._noise_of(len(self.edges) - 1 + more), self.count
        if noise.none:
            return 0.0
        critical, near = critical_statistic(level, self.stretches.parameters, count), min(count // 2, NEAR)
        sharp = SharpStep(2 * near, near, noise.autocorrelation)
        innovations = noise.deviation**2 * (1 - noise.autocorrelation**2)

        def passes(size: float) -> bool:
            plain = noise.statistic(size**2 * count / 4, count / 2) >= critical
            # ten times less, since noise in the two values beside the step may take as much from the evidence
            return plain or (not self.stretches.lines and sharp.largest_p(size, innovations, count) <= level / 10)

        low, high = 0.0, LARGEST_DEVIATIONS * noise.deviation
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            low, high = (low, middle) if passes(middle) else (middle, high)
        return high + NORMAL_95 * 2 * noise.long_run / math.sqrt(count) if passes(high) else math.inf

    def criterion(self) -> float:
        """Schwarz's criterion: pieces, and the places between them, cost log n for each of their numbers."""
        numbers = self.stretches.parameters * (len(self.edges) - 1) + len(self.places)
        return self.count * math.log(max(self.noise().squares / self.count, NO_NOISE)) + numbers * math.log(self.count)


def find_changes(values: Sequence[float] | Reals, error_rate: float = ERROR_RATE) -> SeriesChanges:
    """The changes of a series of finite values in their order. Their unit and the time between them do not matter."""
    series = np.asarray(values, dtype=np.float64)
    cleaned, spikes = replace_spikes(series)
    centre = float(cleaned.mean()) if len(cleaned) else 0.0
    spread = float(cleaned.std()) if len(cleaned) else 0.0
    if len(series) < FEWEST or not spread > 0:
        return _nothing(cleaned, centre, spikes, error_rate)
    standard = (cleaned - centre) / spread
    divisions = [_divided(Stretches(standard, lines=lines), error_rate / CHANCES) for lines in (False, True)]
    best = min(divisions, key=_Division.criterion)
    return _described(best, centre, spread, spikes, error_rate)


def find_level_left(
    values: Sequence[float], error_rate: float = ERROR_RATE, together: int = 1
) -> tuple[SeriesChanges, OpenEnd | None]:
    """The changes of a series, and newest values that have left its last level and are too few for one of their own.

    They have no part in the changes then: five values, of which four are new, would be a level between both.
    `together`: how many series share the error rate of newest values.
    """
    whole, series, step = find_changes(values, error_rate), np.asarray(values, dtype=np.float64), last_digit(values)
    for length in range(min(SHORTEST, len(series) - SHORTEST) if len(series) >= FEWEST else 0, 0, -1):
        before = find_changes(series[:-length], error_rate)
        beside = series[whole.pieces[-1].first : -length][-SHORTEST if whole.trend else 0 :]
        end = _level_left(series[-length:], beside, before, step, together) if len(beside) else None
        if end is not None:
            return before, end
    return whole, None


def _level_left(newest: Reals, beside: Reals, before: SeriesChanges, step: float, together: int) -> OpenEnd | None:
    """None if chance may explain any of the values: each alone, as one value beside the last piece may be, or a step
    of the last digit. `beside`: the other values of the level that the whole series ends with."""
    last = before.pieces[-1]
    length = last.end - last.first
    level = last.mean + last.slope * ((length + 1) / 2 + np.arange(len(newest)))
    if not before.scale and math.comb(length + len(newest), len(newest)) * before.error_rate > 1:
        step = 0.0  # rounding would rarely give all the others one number, and just the newest ones the next
    reach = max(before.chance(2 * together) * math.sqrt(1 + (4 if last.slope else 1) / length), step)  # 4: line's end
    off = newest - level
    if not (off.min() > reach or off.max() < -reach) or np.abs(newest - array_median(beside)).min() <= reach:
        return None
    return OpenEnd(count=len(newest), before=float(level.mean()), after=float(newest.mean()))


def _divided(stretches: Stretches, level: float) -> _Division:
    """Divide while the test passes; `CHANCES` divisions in a row that fail end it and are taken back."""
    division = _Division(stretches)
    pending: list[int] = []
    certain: set[int] = set()
    while len(certain) < MOST_CHANGES and len(pending) < CHANCES:
        place = division.divide()
        if place is None:
            break
        pending.append(place)
        if division.p_value(place) <= level:
            certain.update(pending)
            pending = []
    for place in pending:
        division.join(place)
    while division.places:
        weakest = max(division.places, key=lambda place: (division.p_value(place), -place))
        if division.p_value(weakest) <= level:
            break
        division.join(weakest)
    return division


def _nothing(series: Reals, centre: float, spikes: Indices, error_rate: float) -> SeriesChanges:
    """Result for a series that is too short, or constant."""
    piece = Piece(first=0, end=len(series), mean=centre, slope=0.0)
    return SeriesChanges(
        count=len(series),
        pieces=(piece,) if len(series) else (),
        spikes=tuple(int(place) for place in spikes),
        scale=float(series.std(ddof=1)) if len(series) > 1 else 0.0,
        degrees=max(len(series) - 1, 1),
        detectable=0.0 if len(series) >= FEWEST else None,
        error_rate=error_rate,
    )


def _described(division: _Division, centre: float, spread: float, spikes: Indices, error_rate: float) -> SeriesChanges:
    noise = division.noise()
    scale, long_run = noise.deviation * spread, noise.long_run * spread
    pieces = []
    for first, end in itertools.pairwise(division.edges):
        value, slope = division.stretches.line(first, end)
        pieces.append(Piece(first=first, end=end, mean=centre + spread * value, slope=spread * slope))
    detectable = division.detectable(error_rate / CHANCES) * spread
    worth = max(int(noise.degrees * independent_share(noise.autocorrelation)), 1)
    changes = tuple(
        _change(before, after, division.p_value(after.first), long_run, worth)
        for before, after in itertools.pairwise(pieces)
    )
    return SeriesChanges(
        count=division.count,
        trend=division.stretches.lines,
        changes=changes,
        pieces=tuple(pieces),
        spikes=tuple(int(place) for place in spikes),
        autocorrelation=noise.autocorrelation,
        scale=scale,
        degrees=worth,
        detectable=detectable if math.isfinite(detectable) else None,
        error_rate=error_rate,
    )


def _change(before: Piece, after: Piece, p_value: float, long_run: float, degrees: int) -> ChangePoint:
    """`long_run`: deviation of one value as a mean of many shows it; `degrees`: independent values behind it."""
    counts = before.end - before.first, after.end - after.first
    old = before.mean + before.slope * counts[0] / 2
    new = after.mean - after.slope * counts[1] / 2
    widths = [2.0 if before.slope or after.slope else 1.0] * 2  # the end of a line is less certain than a mean
    errors = [width * long_run / math.sqrt(count) for width, count in zip(widths, counts, strict=True)]
    low, ratio, high = _ratio(old, new, errors, student_quantile((1 + CONFIDENCE) / 2, min(degrees, MOST_DEGREES)))
    near = 1 + min(int(NEARLY_ALL_DEVIATIONS * (long_run / (new - old)) ** 2), 1 << 40) if new != old else 1 << 40
    return ChangePoint(
        index=after.first,
        low_index=max(before.first + 1, after.first - near),
        high_index=min(after.end - 1, after.first + near),
        before=old,
        after=new,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        slope_before=before.slope,
        slope_after=after.slope,
        p_value=p_value,
    )


def _ratio(
    old: float, new: float, errors: Sequence[float], deviations: float
) -> tuple[float | None, float | None, float | None]:
    """Low, value and high of new over old, on logarithms."""
    if not old * new > 0:
        return None, None, None
    ratio = new / old
    half = deviations * math.hypot(errors[0] / old, errors[1] / new)
    if half > 100:
        return None, ratio, None
    return ratio * math.exp(-half), ratio, ratio * math.exp(half)
