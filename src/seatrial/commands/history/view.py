"""A history in words and as JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from seatrial.judgement.comparison.history import Explained, History
from seatrial.judgement.comparison.records import Suspect
from seatrial.model.subject import Subject
from seatrial.model.units import quantity, share
from seatrial.model.verdict import Verdict, exit_code, worst
from seatrial.model.words import count, some, verb
from seatrial.render.change_text import suspect_text
from seatrial.render.finding_text import fitting_sentence
from seatrial.render.json import MetricName, filled
from seatrial.render.report import Block, Drawing, Lines, Paragraph, Report, Table, columns
from seatrial.render.run_plot import RunValue, bars, over_runs
from seatrial.statistics.change_points import FEWEST, ChangePoint

MOST_VALUES = 30
MOST_SUSPECTS = MOST_METRICS = 5
DAY = 10
"""Characters of 2026-11-21."""


class HistoryValue(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one run."""

    run: str
    started: str
    value: float
    spike: bool


class HistoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the values, and the runs between which it happened."""

    run: str
    after_run: str
    until_run: str
    ratio: float
    p_value: float
    suspects: tuple[Suspect, ...]


class HistoryBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """A baseline beside the values. `newest_ratio`: the newest value over that of the baseline."""

    name: str
    value: float
    newest_ratio: float


class HistoryFields(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one subject over runs."""

    metric: MetricName
    subject: Subject
    unit: str
    verdict: Verdict
    undecided: str
    detectable: float | None
    error_rate: float
    values: tuple[HistoryValue, ...]
    changes: tuple[HistoryChange, ...]
    baselines: tuple[HistoryBaseline, ...]


class HistoriesFields(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics that were asked for; docs/history.md describes each field."""

    histories: tuple[HistoryFields, ...]


def history_report(histories: Sequence[History]) -> Report:
    """The verdict that `seatrial judge` has on the same values, the values over runs, and changes."""
    verdict = worst([each.judged.verdict for each in histories])
    return Report(
        word=verdict.value,
        sentence=_sentence(histories, verdict.value),
        exit_code=exit_code(verdict),
        payload=lambda: HistoriesFields(histories=tuple(map(_fields, histories))),
        terminal=lambda width: _each(
            histories, lambda each, named: (*_blocks(each, named=named), *_small(each, width))
        ),
        page=lambda: _each(histories, lambda each, named: _page(each, named=named)),
    )


def _each(histories: Sequence[History], blocks: Callable[[History, bool], Iterable[Block]]) -> Iterator[Block]:
    """The blocks of each that can be judged, else of the first, and one line on the others: a curve has some forty."""
    shown = [each for each in histories if len(each.values) >= FEWEST] or histories[:1]
    for history in shown:
        yield from blocks(history, len(histories) > 1)
    others = dict.fromkeys(_named(each) for each in histories if each not in shown)
    if others:
        text = f"{count(len(others), 'more metric')} {verb(len(others), 'has', 'have')} fewer than {FEWEST} values: "
        remedy = f"Measure until there are {FEWEST} runs; seatrial history 'METRIC' shows the values of one."
        yield Paragraph(text=f"{text}{some(list(others), MOST_METRICS)}. {remedy}")


def _small(history: History, width: int) -> Iterable[Block]:
    """The values as a line of bars, the oldest first; nothing for one run, or in a narrow terminal."""
    if len(history.values) > 1:
        say = partial(quantity, metric=history.metric.unit)
        yield from (Drawing(lines=lines) for lines in filter(None, (bars(history.values, say, width),)))


def _page(history: History, *, named: bool) -> Iterable[Block]:
    """The values drawn, then what a terminal shows."""
    values = [
        RunValue(run=run.run, date=run.started[:DAY], value=value)
        for run, value in zip(history.runs, history.values, strict=True)
    ]
    changes = [explained.change.index for explained in history.changes]
    unit = history.metric.unit
    levels = [(kept.value, f"baseline {kept.name}: {quantity(kept.value, unit)}") for kept in history.baselines]
    plot = over_runs(
        _named(history), values, lambda value: quantity(value, unit), changes, history.metric.name, levels=levels
    )
    return (*((plot,) if plot else ()), *_blocks(history, named=named))


def _sentence(histories: Sequence[History], word: str) -> str:
    """The change for the worse, else the latest one, of the first metric that has it; and how many metrics changed.

    What has no room is left out from the end.
    """
    changed = [each for each in histories if each.changes]
    first = next((each for each in changed if each.judged.worsened), (changed or histories)[0])
    metrics, moved = ({each.metric.name for each in some_of} for some_of in (histories, changed))
    parts = [f"{len(moved)} of {count(len(metrics), 'metric')} changed"] if len(metrics) > 1 else []
    named = f"{_named(first)}: {summary(first)}"
    if first.judged.undecided and not changed:
        named, parts = f"{first.judged.undecided}: {_named(first)}", [count(len(first.runs), "run"), *parts]
    if changed:
        change = first.judged.worsened or first.changes[-1].change
        named = f"{_named(first)}: {_percent(change)} since {first.runs[change.index].started}"
        parts = [summary(first), *parts]
    return fitting_sentence(word, ["; ".join((named, *parts[:end])) for end in range(len(parts), -1, -1)], needed=True)


def _named(history: History) -> str:
    """latency 8 B of n3."""
    return f"{history.metric.name} of {history.metric.whose(history.subject)}"


def _percent(change: ChangePoint) -> str:
    return f"{(change.after / change.before - 1) * 100:+.1f} %"


def _blocks(history: History, *, named: bool) -> Iterable[Block]:
    """`named`: there are others, so each begins with its name."""
    if named:
        yield Paragraph(text=f"{_named(history)}: {summary(history)}", strong=True)
    changed = {explained.change.index for explained in history.changes}
    shown = range(max(len(history.runs) - MOST_VALUES, 0), len(history.runs))
    yield Table(
        columns=columns("run", "=started", "#value", ""),
        rows=tuple(_row(history, place, changed=place in changed) for place in shown),
        left_out=f"{count(shown.start, 'earlier run')} {verb(shown.start)} in the JSON." if shown.start else "",
    )
    yield Lines(rows=tuple(_beside_baselines(history)))
    for explained in history.changes:
        yield Lines(title=_change_text(history, explained), rows=tuple(_suspects(explained)))


def _beside_baselines(history: History) -> Iterable[tuple[str, str]]:
    """The value of each baseline, and how far the newest run is from it."""
    for place, kept in enumerate(history.baselines):
        apart = f"{(history.values[-1] / kept.value - 1) * 100:+.1f} %"
        text = f"{kept.name}: {quantity(kept.value, history.metric.unit)}; the newest run {apart}"
        yield "" if place else "baseline", text


def summary(history: History) -> str:
    """2 changes in 40 runs; why nothing is decided."""
    runs = count(len(history.runs), "run")
    open_question = f", {history.judged.undecided}" if history.judged.undecided else ""
    if history.changes:
        return f"{count(len(history.changes), 'change')} in {runs}{open_question}"
    if open_question:
        return f"{runs}{open_question}"
    least = _detectable(history)
    return f"no change in {runs}" + (f"; one of {share(least)} would have been found" if least else "")


def _detectable(history: History) -> float | None:
    """The smallest change that would have been found, as a share of the level."""
    analysis = history.judged.analysis
    return None if analysis.detectable is None else analysis.detectable / analysis.pieces[0].mean


def _row(history: History, place: int, *, changed: bool) -> tuple[str, ...]:
    run = history.runs[place]
    mark = "changed" if changed else "spike" if place in history.judged.analysis.spikes else ""
    return run.run, run.started, quantity(history.values[place], history.metric.unit), mark


def _change_text(history: History, explained: Explained) -> str:
    change = explained.change
    before, after = (quantity(level, history.metric.unit) for level in (change.before, change.after))
    since = history.runs[change.index]
    between = f"between {explained.before.run} and {explained.after.run}, p = {change.p_value:.1g}"
    return f"Since {since.run} ({since.started}): {before} → {after}, {_percent(change)}, {between}"


def _suspects(explained: Explained) -> Iterable[tuple[str, str]]:
    if not explained.suspects:
        yield "facts", "none changed, or none are kept"
    for place, suspect in enumerate(explained.suspects[:MOST_SUSPECTS], start=1):
        yield str(place), suspect_text(suspect)


def _fields(history: History) -> HistoryFields:
    analysis = history.judged.analysis
    values = [
        HistoryValue(run=run.run, started=run.started, value=value, spike=place in analysis.spikes)
        for place, (run, value) in enumerate(zip(history.runs, history.values, strict=True))
    ]
    return filled(
        HistoryFields,
        history.judged,
        analysis,
        history.metric,
        metric=history.metric,
        subject=history.subject,
        detectable=_detectable(history),
        values=values,
        changes=[_change_fields(history, explained) for explained in history.changes],
        baselines=[
            HistoryBaseline(name=kept.name, value=kept.value, newest_ratio=history.values[-1] / kept.value)
            for kept in history.baselines
        ],
    )


def _change_fields(history: History, explained: Explained) -> HistoryChange:
    change = explained.change
    return filled(
        HistoryChange,
        explained,
        change,
        run=history.runs[change.index].run,
        after_run=explained.before.run,
        until_run=explained.after.run,
        ratio=change.after / change.before,
    )
