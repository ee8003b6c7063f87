"""Changes of series: the report of `seatrial judge --as series`."""

from collections.abc import Iterator
from functools import partial

import msgspec

from seatrial.judgement.series_changes import ChangesJudgement, JudgedSeries
from seatrial.model.imported import SeriesSense
from seatrial.model.units import prefixed, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, some
from seatrial.render.finding_text import fitting_sentence
from seatrial.render.json import filled
from seatrial.render.report import Block, Case, Paragraph, Report, judged_report, rows_table
from seatrial.render.run_plot import RunValue, over_runs
from seatrial.statistics.change_points import ChangePoint, Piece
from seatrial.statistics.scan import MOST_AUTOCORRELATION

HEAD = ("series", "#at", "#95 %", "time", "#before", "#after", "#change", "#95 %", "#p")
MOST_NAMES = 5
LEAST_P = 1e-9
MOST_DRAWN = 6
DAY = 10
"""Characters of 2026-11-21."""


class Spike(msgspec.Struct, frozen=True, kw_only=True):
    """A single wild value, by its place in the file."""

    index: int
    time: str


class LevelChange(ChangePoint, frozen=True, kw_only=True):
    """One change of a series, by places in the file."""

    time: str
    worse: bool


class SeriesFields(msgspec.Struct, frozen=True, kw_only=True):
    """One series with its changes."""

    name: str
    better: SeriesSense
    verdict: Verdict
    values: int
    missing: int
    undecided: str
    trend: bool
    scale: float = msgspec.field(name="residual_deviation")
    autocorrelation: float
    detectable: float | None
    small: int = msgspec.field(name="small_changes")
    spikes: tuple[Spike, ...]
    pieces: tuple[Piece, ...]
    changes: tuple[LevelChange, ...]


class ChangesFields(msgspec.Struct, frozen=True, kw_only=True):
    """All series of a file; docs/judge-series.md describes each field."""

    error_rate: float
    effect: float
    better: SeriesSense
    series: tuple[SeriesFields, ...]


def changes_report(judged: ChangesJudgement) -> Report:
    """The whole report: changes, and what would have been found."""
    cases = tuple(Case(name=one.series.name, verdict=one.verdict, reason=_reason(one)) for one in judged.series)
    fields, blocks, pictures = partial(changes_fields, judged), partial(_blocks, judged), partial(_plots, judged)
    return judged_report(judged.verdict, _sentence(judged), fields, blocks, cases, pictures)


def _plots(judged: ChangesJudgement) -> Iterator[Block]:
    """The values of each series over their places or times, with its changes; those first that have any."""
    ordered = sorted(judged.series, key=lambda one: -one.verdict.gravity)
    for drawn in ordered[:MOST_DRAWN]:
        values = [
            RunValue(
                run=str(place), date=drawn.series.time(place)[:DAY] or str(place), value=drawn.series.values[place]
            )
            for place in drawn.series.present
        ]
        name = drawn.series.name
        changes = [change.index for change in drawn.changes]
        yield from filter(None, (over_runs(name, values, prefixed, changes, what=name, of="values"),))


def _reason(judged: JudgedSeries) -> str:
    """Why a series has its verdict, for a test case; empty for PASS."""
    if judged.worsened is not None:
        return _since(judged, judged.worsened)
    return judged.undecided or "; ".join(f"{_size(one)} at {_place(judged, one)}" for one in judged.changes)


def changes_fields(judged: ChangesJudgement) -> ChangesFields:
    """What programs read of the series."""
    return filled(ChangesFields, judged, series=[_series_fields(series) for series in judged.series])


def _series_fields(judged: JudgedSeries) -> SeriesFields:
    present, analysis = judged.series.present, judged.analysis
    end = len(judged.series.values)
    pieces = [
        msgspec.structs.replace(
            piece, first=judged.place(piece.first), end=judged.place(piece.end) if piece.end < len(present) else end
        )
        for piece in analysis.pieces
    ]
    places = [judged.place(place) for place in analysis.spikes]
    return filled(
        SeriesFields,
        judged,
        analysis,
        name=judged.series.name,
        values=len(present),
        missing=_missing(judged),
        spikes=[Spike(index=place, time=judged.series.time(place)) for place in places],
        pieces=pieces,
        changes=[_change_fields(judged, change) for change in judged.changes],
    )


def _change_fields(judged: JudgedSeries, change: ChangePoint) -> LevelChange:
    index = judged.place(change.index)
    return filled(
        LevelChange,
        change,
        index=index,
        low_index=judged.place(change.low_index),
        high_index=judged.place(change.high_index),
        time=judged.series.time(index),
        worse=change is judged.worsened,
    )


def _sentence(judged: ChangesJudgement) -> str:
    """What changed where, or what would have been found, and where values are missing, as far as a line has room."""
    sentences = [_sentence_with(judged, names) for names in range(MOST_NAMES, 0, -1)]
    unchanged = not any(one.changes for one in judged.series)
    gaps = _gaps(judged)
    if gaps and judged.verdict is Verdict.PASS:
        total = count(len(judged.series), "series", "series")
        sentences.append(f"no change in {total}; {_detectable(judged)[1]} in the middle would show")
    return fitting_sentence(judged.verdict, sentences, gaps, needed=unchanged)


def _gaps(judged: ChangesJudgement) -> list[str]:
    """Texts on missing values, longer sentences first."""
    lacking = [one for one in judged.series if _missing(one)]
    if not lacking:
        return []
    missing = f"{count(sum(map(_missing, lacking)), 'value')} missing"
    if len(judged.series) == 1:
        return [f"{_missing(lacking[0])} of {count(len(lacking[0].series.values), 'value')} missing", missing]
    named = [f"{some([one.series.name for one in lacking], names)}" for names in range(MOST_NAMES, 0, -1)]
    return [*(f"{missing} in {names}" for names in named), missing]


def _missing(judged: JudgedSeries) -> int:
    """How many values of a series are missing."""
    return len(judged.series.values) - len(judged.series.present)


def _sentence_with(judged: ChangesJudgement, names: int) -> str:
    """`names`: how many series are listed."""
    total = count(len(judged.series), "series", "series")
    if worse := [(one, one.worsened) for one in judged.series if one.worsened is not None]:
        first, change = worse[0]
        among = f", among {total}" if len(judged.series) > 1 else ""
        if len(worse) > 1:
            return f"{len(worse)} of {total} became worse: {some([each.series.name for each, _ in worse], names)}"
        newest = f"; {first.undecided}" if first.undecided else ""
        return f"{first.series.name}: {_since(first, change, brief=names < MOST_NAMES)}{among}{newest}"
    if judged.verdict is Verdict.INCONCLUSIVE:
        why = next(one.undecided for one in judged.series if one.undecided)
        alike = [one.series.name for one in judged.series if one.undecided == why]
        return f"{why}: {some(alike, names)}"
    changed = [one for one in judged.series if one.changes]
    if not changed:
        return f"no change in {total}; one {' '.join(_detectable(judged))} in the middle would have been found"
    changes = sum(len(one.changes) for one in changed)
    if changes == 1:
        return (
            f"{changed[0].series.name}: {_size(changed[0].changes[0])} at {_place(changed[0], changed[0].changes[0])}"
        )
    return f"{changes} changes in {len(changed)} of {total}: {some([one.series.name for one in changed], names)}"


def _detectable(judged: ChangesJudgement) -> tuple[str, str]:
    """The smallest change that would have been found in the middle of the worst series, as a share where all have a
    level to be a share of."""
    detectable = [(one.analysis.detectable, one.analysis.pieces[0].mean) for one in judged.series]
    if all(level for _, level in detectable):
        return "of", share(max((size or 0.0) / abs(level) for size, level in detectable))
    return "by", f"{max(size or 0.0 for size, _ in detectable):.3g}"


def _place(judged: JudgedSeries, change: ChangePoint) -> str:
    place = judged.place(change.index)
    time = judged.series.time(place)
    return f"value {place} ({time})" if time not in ("", str(place)) else f"value {place}"


def _since(judged: JudgedSeries, change: ChangePoint, *, brief: bool = False) -> str:
    """How far the newest level is from the one before that change. `brief`: without its place where it has a time."""
    pieces = {piece.end: piece.mean for piece in judged.analysis.pieces}
    before, after = pieces[change.index], judged.analysis.pieces[-1].mean
    whole = msgspec.structs.replace(
        change, before=before, after=after, ratio=after / before if before * after > 0 else None
    )
    time = judged.series.time(judged.place(change.index)) if brief else ""
    return f"{_size(whole)} since {time if time and not time.isdecimal() else _place(judged, change)}"


def _size(change: ChangePoint) -> str:
    """+3.2 %, or the values where no ratio has a meaning."""
    if change.ratio is None:
        return f"{change.before:.4g} to {change.after:.4g}"
    return _percent(change.ratio)


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * (ratio - 1):+.1f} %"


def _blocks(judged: ChangesJudgement) -> Iterator[Block]:
    rows = [_row(one, change) for one in judged.series for change in one.changes]
    yield rows_table(HEAD, rows)
    for note in _notes(judged):
        yield Paragraph(text=note)


def _row(judged: JudgedSeries, change: ChangePoint) -> tuple[str, ...]:
    places = judged.place(change.low_index), judged.place(change.high_index)
    interval = f"{_percent(change.ratio_low)} to {_percent(change.ratio_high)}" if change.ratio_low else ""
    return (
        judged.series.name,
        str(judged.place(change.index)),
        f"{places[0]}–{places[1]}",
        judged.series.time(judged.place(change.index)),
        f"{change.before:.5g}",
        f"{change.after:.5g}",
        _percent(change.ratio),
        interval,
        "< 1e-9" if change.p_value < LEAST_P else f"{change.p_value:.1g}",
    )


def _end(judged: JudgedSeries) -> str:
    """Whether the newest values are among the missing ones."""
    present = judged.series.present
    newest = len(judged.series.values) - 1 - present[-1] if present else 0
    return f", the newest {newest} among them" if newest else ""


def _notes(judged: ChangesJudgement) -> Iterator[str]:
    expected = judged.error_rate * len(judged.series)
    many = f": {expected:.2g} of {count(len(judged.series), 'series', 'series')}" if len(judged.series) > 1 else ""
    yield f"About {share(judged.error_rate)} at most of series without a change are reported as changed{many}."
    if lacking := [f"{one.series.name} ({_missing(one)}{_end(one)})" for one in judged.series if _missing(one)]:
        yield f"Values are missing, and nothing is known of changes there: {some(lacking, MOST_NAMES)}."
    if spikes := [f"{one.series.name} ({len(one.analysis.spikes)})" for one in judged.series if one.analysis.spikes]:
        yield f"Single wild values, not counted as changes: {some(spikes, MOST_NAMES)}."
    undecided = [f"{one.series.name}: {one.undecided}" for one in judged.series if one.undecided]
    if undecided and judged.verdict is not Verdict.INCONCLUSIVE:
        yield f"Not decided: {some(undecided, MOST_NAMES)}."
    if small := sum(one.small for one in judged.series):
        yield f"{count(small, 'change')} below the practical effect of {share(judged.effect)}."
    if alike := [one.series.name for one in judged.series if one.analysis.autocorrelation >= MOST_AUTOCORRELATION]:
        yield (
            f"Neighbouring values are alike (autocorrelation up to {MOST_AUTOCORRELATION:g} or more), which leaves the "
            f"error rate uncertain: {some(alike, MOST_NAMES)}."
        )
    if trends := [one.series.name for one in judged.series if one.analysis.trend]:
        yield f"Described by straight lines, because levels do not fit: {some(trends, MOST_NAMES)}."
