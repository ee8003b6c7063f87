"""Changes of series that were measured elsewhere: which matter, and whether a series is now worse than it was."""

import enum
from collections.abc import Sequence

import msgspec

from seatrial.importers.series import ValueSeries
from seatrial.model.units import share
from seatrial.model.verdict import Verdict, worst
from seatrial.model.words import count
from seatrial.statistics.change_points import (
    FEWEST,
    ChangePoint,
    OpenEnd,
    SeriesChanges,
    find_changes,
    find_level_left,
)
from seatrial.statistics.estimates import ERROR_RATE, last_digit


class SeriesSense(enum.StrEnum):
    """Which values are good: those of a bandwidth are higher, those of a time lower."""

    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"


class JudgedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One series with its changes; places count from 0 in the file, missing values included."""

    series: ValueSeries
    analysis: SeriesChanges
    changes: tuple[ChangePoint, ...]
    """The changes of at least the practical effect."""
    small: int
    """Changes below the practical effect."""
    verdict: Verdict
    worsened: ChangePoint | None = None
    """The change after which the series became worse than it had been."""
    undecided: str = ""
    """Why the newest state of the series is not known; empty where it is."""

    def place(self, index: int) -> int:
        """The place of a value in the file, from its place among the values that are not missing."""
        return self.series.present[index]


class ChangesJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """All series of a file."""

    series: tuple[JudgedSeries, ...]
    better: SeriesSense
    effect: float
    error_rate: float

    @property
    def verdict(self) -> Verdict:
        """The most severe one."""
        return worst([one.verdict for one in self.series])


def judge_series(
    series: Sequence[ValueSeries],
    *,
    better: SeriesSense = SeriesSense.UNKNOWN,
    effect: float = 0.0,
    error_rate: float = ERROR_RATE,
) -> ChangesJudgement:
    """Find the changes of each series. `effect`: the smallest change that matters, a share of the level before it."""
    judged = tuple(_judged(one, better, effect, error_rate) for one in series)
    return ChangesJudgement(series=judged, better=better, effect=effect, error_rate=error_rate)


def _judged(series: ValueSeries, better: SeriesSense, effect: float, error_rate: float) -> JudgedSeries:
    values = [series.values[place] for place in series.present]
    changed, end = find_level_left(values, error_rate)
    if end is not None and abs(end.after - end.before) < effect * abs(end.before):
        changed, end = find_changes(values, error_rate), None
    if changed.detectable == 0:  # values that are all equal could hide a step of their last digit
        changed = msgspec.structs.replace(changed, detectable=last_digit(values))
    changes = tuple(one for one in changed.changes if _size(one) >= effect or one.slope_before != one.slope_after)
    worsened = _worsened(changed, changes, better, effect)
    verdict = Verdict.NOTE if changes else Verdict.PASS
    if worsened is not None:
        verdict = Verdict.SLOW
    undecided = (_newest(end) if end else _undecided(changed, values, better)) or series.without_end
    if undecided and worsened is None:
        verdict = Verdict.INCONCLUSIVE
    return JudgedSeries(
        series=series,
        analysis=changed,
        changes=changes,
        small=len(changed.changes) - len(changes),
        verdict=verdict,
        worsened=worsened,
        undecided=undecided,
    )


def _undecided(changed: SeriesChanges, values: Sequence[float], better: SeriesSense) -> str:
    """Why a series without a change shows nothing: a benchmark that did not run prints zeros, too."""
    if changed.count < FEWEST:
        return f"fewer than {FEWEST} values"
    if changed.changes:
        return ""
    if not changed.scale and not any(piece.mean for piece in changed.pieces):
        return "every value is 0"
    zeros = sum(value == 0 for value in values)
    if zeros and min(values) >= 0 and (better is SeriesSense.HIGHER or _stray(values)):
        return f"{zeros} of {count(len(values), 'value')} {'is' if zeros == 1 else 'are'} 0"
    if changed.detectable is None:
        return "a change of any size could have been missed"
    unseen = min(values) >= 0 and changed.detectable >= changed.pieces[0].mean
    return "even a fall to 0 could have been missed" if unseen else ""


def _newest(end: OpenEnd) -> str:
    """How far the newest values are from the level before them."""
    apart = f"{end.after:.4g} in place of {end.before:.4g}"
    if end.before * end.after > 0:
        apart = f"{share(abs(end.after / end.before - 1))} {'higher' if end.after > end.before else 'lower'}"
    return f"the newest {'value is' if end.count == 1 else f'{end.count} values are'} {apart}"


def _stray(values: Sequence[float]) -> bool:
    """Whether zeros lie farther below the other values than these lie apart: not counts, that can be 0 by chance."""
    others = [value for value in values if value]
    return min(others) > max(others) - min(others)


def _size(change: ChangePoint) -> float:
    """The size of a change, as a share of the level before it; infinite if that is 0."""
    if change.before == 0:
        return float("inf")
    return abs(change.after - change.before) / abs(change.before)


def _worsened(
    changed: SeriesChanges, changes: Sequence[ChangePoint], better: SeriesSense, effect: float
) -> ChangePoint | None:
    """The last change for the worse, where the series now is worse than its best earlier piece."""
    if better is SeriesSense.UNKNOWN or not changes:
        return None
    sign = 1.0 if better is SeriesSense.HIGHER else -1.0
    levels = [sign * piece.mean for piece in changed.pieces]
    best = max(levels[:-1])
    if best - levels[-1] <= effect * abs(best):
        return None
    falls = [
        change
        for change, earlier, later in zip(changed.changes, levels[:-1], levels[1:], strict=True)
        if later < earlier and change in changes
    ]
    return falls[-1] if falls else None
