"""One metric over runs in time: a value a run of one subject, its changes, and which facts changed then."""

import math
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.importers.series import ValueSeries
from seatrial.judgement.comparison.records import Suspect
from seatrial.judgement.comparison.subjects import COMMON_SHARE
from seatrial.judgement.series_changes import JudgedSeries, judge_series
from seatrial.model.errors import UsageError
from seatrial.model.imported import SeriesSense
from seatrial.model.run_values import BaselineLevel, MetricTable, Reals, RunMetric, RunSummary
from seatrial.model.subject import FABRIC, Subject, SubjectKind, node
from seatrial.model.units import LATENCY
from seatrial.model.words import natural_sorted
from seatrial.statistics.change_points import ChangePoint
from seatrial.statistics.estimates import ERROR_RATE
from seatrial.statistics.fleets import EFFECT
from seatrial.statistics.scan import SHORTEST


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A change, the runs between which it happened, and the facts that changed between them."""

    change: ChangePoint
    before: RunSummary
    """The last run that is surely before it."""
    after: RunSummary
    """The first run after it."""
    suspects: tuple[Suspect, ...] = ()


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one subject over runs, oldest first."""

    metric: RunMetric
    subject: Subject
    runs: tuple[RunSummary, ...]
    values: tuple[float, ...]
    """One a run; seconds or bytes per second."""
    judged: JudgedSeries
    """The judgement that `seatrial judge` makes of the same values."""
    changes: tuple[Explained, ...] = ()
    baselines: tuple[BaselineLevel, ...] = ()


def values_over_runs(table: MetricTable, subject: Subject, leaf_of: Mapping[str, str]) -> Reals:
    """A value for each run: the middle of the subject's pairs, each as a ratio to its own usual value.

    Where runs draw other pairs each time, the ratio is to the usual value of pairs below one leaf switch, or below two.
    NaN for a run without any of the subject's pairs.
    """
    columns = np.flatnonzero([_belongs(pair, subject, both_ways=table.metric.unit == LATENCY) for pair in table.pairs])
    if not len(columns):
        return np.full(len(table.values), np.nan)
    logs = np.log(table.values[:, columns])
    with warnings.catch_warnings():  # means of nothing are NaN, as they should be
        warnings.simplefilter("ignore", RuntimeWarning)
        if np.mean(~np.isnan(logs)) >= COMMON_SHARE:
            usual = np.nanmean(logs, axis=0)
        else:
            usual = _by_distance(logs, [table.pairs[column] for column in columns], leaf_of)
        values: Reals = np.exp(np.nanmedian(logs - usual, axis=1) + float(np.nanmedian(usual)))
    return values


def _belongs(pair: tuple[str, str], subject: Subject, *, both_ways: bool) -> bool:
    """Latency has one column for both directions of a pair."""
    if subject == FABRIC:
        return True
    if subject.kind is SubjectKind.NODE:
        return subject.name in pair
    return subject.name == ">".join(pair) or (both_ways and subject.name == ">".join(reversed(pair)))


def _by_distance(logs: Reals, pairs: Sequence[tuple[str, str]], leaf_of: Mapping[str, str]) -> Reals:
    near = np.array([leaf_of.get(source, source) == leaf_of.get(target, target) for source, target in pairs])
    usual = np.full(len(pairs), float(np.nanmedian(logs)))
    for part in (near, ~near):
        if part.any():
            usual[part] = float(np.nanmedian(logs[:, part]))
    return usual


def span_of(change: ChangePoint, count: int) -> tuple[int, int]:
    """Numbers of the last run that is surely before a change, and of the first that is surely after it."""
    return max(min(change.low_index, change.index) - 1, 0), min(max(change.high_index, change.index), count - 1)


def nodes_of(subject: Subject) -> frozenset[str]:
    """The nodes that a subject names; empty for all pairs."""
    return frozenset() if subject == FABRIC else frozenset(subject.name.split(">"))


def metric_named(tables: Sequence[MetricTable], name: str) -> MetricTable:
    """The only metric whose name begins so, or the only main figure of a benchmark among them. Raises UsageError."""
    fitting = [table for table in tables if table.metric.name.startswith(name)]
    exact = [table for table in fitting if table.metric.name == name]
    main = [table for table in fitting if table.metric.main]
    chosen = exact or (main if len(main) == 1 else fitting)
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(dict.fromkeys(table.metric.name for table in (chosen or tables)))
    what = f"Several metrics begin with {name!r}" if chosen else f"The runs have no metric {name!r}"
    raise UsageError(f"{what}: {names or 'none'}.", "Choose one with --column.")


def values_by_node(table: MetricTable, leaf_of: Mapping[str, str]) -> dict[str, list[tuple[int, float]]]:
    """The values of each node with the number of their run, in the order of the runs; missing ones left out."""
    nodes = natural_sorted({name for pair in table.pairs for name in pair})
    return {
        name: [
            (run, float(value))
            for run, value in enumerate(values_over_runs(table, node(name), leaf_of))
            if not math.isnan(value)
        ]
        for name in nodes
    }


def series_of(
    tables: Sequence[MetricTable], runs: Sequence[RunSummary], leaf_of: Mapping[str, str]
) -> tuple[ValueSeries, ...]:
    """One series for each metric: all nodes or pairs together, a value a run, with the time of the run.

    One for each node that became worse follows: all nodes together do not show it.
    """
    times = tuple(run.started for run in runs)
    return tuple(
        ValueSeries(
            name=table.metric.name if own == FABRIC else f"{table.metric.name} of {own.name}",
            values=tuple(float(value) for value in values_over_runs(table, own, leaf_of)),
            times=times,
            better=better_of(table),
        )
        for table in tables
        for own in (FABRIC, *worsened_nodes(table, leaf_of))
    )


def better_of(table: MetricTable) -> SeriesSense:
    """Which values of a metric are good."""
    return SeriesSense.LOWER if table.metric.sign > 0 else SeriesSense.HIGHER


def worsened_nodes(table: MetricTable, leaf_of: Mapping[str, str]) -> list[Subject]:
    """The nodes whose values became worse over the runs while those of all pairs together did not."""
    columns: defaultdict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(table.pairs):
        for name in {*pair}:
            columns[name].append(place)
    series = [ValueSeries(name="", values=tuple(values_over_runs(table, FABRIC, leaf_of).tolist()))]
    for name in natural_sorted(columns) if len(columns) > 1 else ():
        pairs = tuple(table.pairs[place] for place in columns[name])
        own = msgspec.structs.replace(table, pairs=pairs, values=table.values[:, columns[name]])
        values = values_over_runs(own, FABRIC, leaf_of)
        if _may_be_worse(values * table.metric.sign):
            series.append(ValueSeries(name=name, values=tuple(values.tolist())))
    error_rate = ERROR_RATE / max(len(columns), 1)
    judged = judge_series(series, better=better_of(table), effect=EFFECT, error_rate=error_rate).series
    worse = [one.series.name for one in judged if one.worsened is not None]
    return [] if "" in worse else [node(name) for name in worse]


def _may_be_worse(values: Reals) -> bool:
    """Whether the newest values are worse than any of as many before them by half of the smallest effect that matters.

    `values`: lower ones are better; the judgement itself takes some milliseconds for each node.
    """
    measured = values[np.isfinite(values)]
    means = np.convolve(measured, np.full(SHORTEST, 1 / SHORTEST), "valid") if len(measured) >= SHORTEST else measured
    return len(means) > 1 and bool(means[-1] - means.min() >= EFFECT / 2 * abs(means.min()))
