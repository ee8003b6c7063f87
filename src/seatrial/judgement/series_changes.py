"""Changes of series that were measured elsewhere: which matter, and whether a series is now worse than it was."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.importers.series import ValueSeries
from seatrial.model.imported import SeriesSense
from seatrial.model.pair_faults import MOST_BETTER
from seatrial.model.units import share
from seatrial.model.verdict import Verdict, worst
from seatrial.model.words import count, some
from seatrial.statistics.change_points import FEWEST, ChangePoint, OpenEnd, SeriesChanges, find_changes, find_level_left
from seatrial.statistics.estimates import ERROR_RATE, last_digit, robust_scale
from seatrial.statistics.fleets import EFFECT, GROSS_EFFECTS, GROSS_SCALES, sign_evidence
from seatrial.statistics.scan import RARE


class JudgedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One series with its changes; places count from 0 in the file, missing values included."""

    series: ValueSeries
    analysis: SeriesChanges
    changes: tuple[ChangePoint, ...]
    """The changes of at least the practical effect."""
    small: int
    """Changes below the practical effect."""
    better: SeriesSense
    verdict: Verdict
    worsened: ChangePoint | None = None
    """The last change since which the series is worse than before."""
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
    judged = tuple(_judged(one, better, effect, error_rate, len(series)) for one in series)
    return ChangesJudgement(series=judged, better=better, effect=effect, error_rate=error_rate)


def _judged(series: ValueSeries, better: SeriesSense, effect: float, error_rate: float, together: int) -> JudgedSeries:
    better = series.better if better is SeriesSense.UNKNOWN else better
    values = [series.values[place] for place in series.present]
    changed, end = find_level_left(values, error_rate, together)
    if end is not None and abs(end.after - end.before) < effect * abs(end.before):
        changed, end = find_changes(values, error_rate), None
    if changed.detectable == 0:  # values that are all equal could hide a step of their last digit
        changed = msgspec.structs.replace(changed, detectable=last_digit(values))
    worsened = _worsened(changed, better, effect)
    changes = tuple(
        one for one in changed.changes if _size(one) >= effect or one.slope_before != one.slope_after or one is worsened
    )
    verdict = Verdict.SLOW if worsened is not None else Verdict.NOTE if changes else Verdict.PASS
    undecided = (_newest(end) if end else _undecided(changed, values, better)) or series.without_end
    undecided = undecided or _drift(values, changed, better, effect) or _unsteady(values, changed, better)
    if undecided and worsened is None:
        verdict = Verdict.INCONCLUSIVE
    return JudgedSeries(
        series=series,
        analysis=changed,
        changes=changes,
        small=len(changed.changes) - len(changes),
        better=better,
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
    others = [value for value in values if value]  # far above 0 unless they are counts, which may be 0
    if zeros and min(values) >= 0 and (better is SeriesSense.HIGHER or 2 * min(others) > max(others)):
        return f"{zeros} of {count(len(values), 'value')} {'is' if zeros == 1 else 'are'} 0"
    if changed.detectable is None:
        return "a change of any size could have been missed"
    least, missed = (math.ulp(0), "twice as much") if better is SeriesSense.LOWER else (0, "a fall to 0")
    unseen = min(values) >= least and changed.detectable >= changed.pieces[0].mean
    return f"even {missed} could have been missed" if unseen else ""


def _unsteady(values: Sequence[float], changed: SeriesChanges, better: SeriesSense) -> str:
    """Which scatter no level describes: values too good to be true, more values far off, by the rule for runs of a
    node, than a series may have as single wild ones, or newest ones that scatter twice as much, by that for levels."""
    if changed.count < FEWEST or not np.median(values):  # counts of errors that are usually 0 vary by more
        return ""
    lines = [
        piece.mean + piece.slope * (np.arange(piece.end - piece.first) - (piece.end - piece.first - 1) / 2)
        for piece in changed.pieces
    ]
    levels = np.concatenate(lines)
    seen = np.asarray(values[: len(levels)])
    off = seen - levels
    more, less = (levels, seen) if better is SeriesSense.LOWER else (seen, levels)
    if better is not SeriesSense.UNKNOWN and len(good := np.flatnonzero((more > MOST_BETTER * less) & (less > 0))):
        which = some([f"{seen[place]:.4g}" for place in good.tolist()], 3)
        return f"check the unit: {which} beside a level of {levels[good[0]]:.4g}"
    least = np.maximum(GROSS_SCALES * robust_scale(off), GROSS_EFFECTS * EFFECT * np.abs(levels))
    for sign, word, bad_if in ((-1.0, "lower", SeriesSense.HIGHER), (1.0, "higher", SeriesSense.LOWER)):
        far = np.flatnonzero(sign * off > least)
        if better in (SeriesSense.UNKNOWN, bad_if) and len(far) > max(1, RARE * len(off)):
            return f"{len(far)} of {count(len(off), 'value')} are far {word} than the others"
    roots = np.sqrt(np.abs(off))
    widths = find_changes(roots, changed.error_rate)
    wider = math.sqrt(2) - 1  # of roots: twice the scatter
    if _worsened(widths, SeriesSense.LOWER, wider) or _drift(roots.tolist(), widths, SeriesSense.LOWER, wider):
        return "the newest values scatter more than earlier ones"
    return ""


def _newest(end: OpenEnd) -> str:
    """How far the newest values are from the level before them."""
    apart = f"{end.after:.4g} in place of {end.before:.4g}"
    if end.before * end.after > 0:
        apart = f"{share(abs(end.after / end.before - 1))} {'higher' if end.after > end.before else 'lower'}"
    return f"the newest {'value is' if end.count == 1 else f'{end.count} values are'} {apart}"


def _size(change: ChangePoint) -> float:
    """The size of a change, as a share of the level before it; infinite if that is 0."""
    return abs(change.after - change.before) / abs(change.before) if change.before else math.inf


def _worsened(changed: SeriesChanges, better: SeriesSense, effect: float) -> ChangePoint | None:
    """The change behind the last level that was better than the newest one by more than the effect and more than
    chance: a series that is back where it was is some digits off. The last change has passed a test of its own."""
    if better is SeriesSense.UNKNOWN or not changed.changes:
        return None
    sign = 1.0 if better is SeriesSense.HIGHER else -1.0
    *earlier, (newest, weight) = [(piece.mean, 1 / (piece.end - piece.first)) for piece in changed.pieces]
    chance = changed.chance(len(changed.pieces), changed.autocorrelation)
    tested = None if changed.trend else changed.changes[-1]
    falls = [
        change
        for change, (mean, other) in zip(changed.changes, earlier, strict=True)
        if sign * (mean - newest) > max(effect * abs(mean), (change is not tested) * chance * math.sqrt(other + weight))
    ]
    return falls[-1] if falls else None


def _drift(values: Sequence[float], changed: SeriesChanges, better: SeriesSense, effect: float) -> str:
    """How far the newest line leads, except to better values: nothing says where it ends."""
    if not changed.trend:
        return ""
    last = changed.pieces[-1]
    moved = last.slope * ((length := last.end - last.first) - 1)
    chance = changed.chance(2, changed.autocorrelation) * math.sqrt(12 / length)  # of the slope, over all
    rising = int((np.diff(values[last.first : last.end]) * moved > 0).sum())
    steady = sign_evidence(rising, length - 1) * changed.error_rate >= 1  # whatever neighbours have in common
    good = better is (SeriesSense.HIGHER if moved > 0 else SeriesSense.LOWER)
    if good or abs(moved) <= max(0 if steady else chance, effect * abs(last.mean)):
        return ""
    size = share(abs(moved / (last.mean - moved / 2))) if last.mean > abs(moved) else f"{abs(moved):.4g}"
    return f"the newest {length} values drift {'up' if moved > 0 else 'down'} by {size}"
