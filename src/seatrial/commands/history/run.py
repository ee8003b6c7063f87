"""Reads a metric over the runs of an archive, finds its changes, and the facts that changed with each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from seatrial.archive import baselines
from seatrial.archive.clusters import left_out, of_others
from seatrial.archive.reader import parse_all
from seatrial.archive.run_sets import StoredRun, StoredSet, find_runs, is_like, like_usual, load_tables
from seatrial.importers.series import ValueSeries
from seatrial.judgement.comparison.history import (
    Explained,
    History,
    better_of,
    nodes_of,
    span_of,
    values_over_runs,
    worsened_nodes,
)
from seatrial.judgement.comparison.verdicts import find_suspects
from seatrial.judgement.series_changes import judge_series
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.run_values import BaselineLevel, MetricTable, Reals
from seatrial.model.subject import FABRIC, Subject
from seatrial.model.words import natural_sorted, some
from seatrial.statistics.change_points import ChangePoint

ALL_RUNS = ".."
"""Every closed run of the archive."""
MOST_BASELINES = 4
"""Baselines beside a history, the first by name: each is a line of the picture."""
MOST_NODES = MOST_METRICS = 8
"""Names of nodes in an error message."""
PERMITTED = frozenset({"command", "mpi-library", "cluster"})
"""Conditions that may change over time: an upgrade of the MPI is what a history should show."""


def read_history(
    archive: Path, name: str, subject: Subject, note: Callable[[str], None], runs: str = ""
) -> tuple[History, ...]:
    """Each metric whose name begins with `name`. `note`: as `load_tables` takes it.

    Raises UsageError where nothing fits, DamagedRun.
    """
    chosen = _of_one_cluster(find_runs(archive, runs or ALL_RUNS), note)
    tables = load_tables([chosen], trials=True, note=note)
    kept = tuple(_baselines(archive, note))
    histories = [
        history
        for table in tables
        if table.metric.name.startswith(name) and (rows := _usual_rows(table, chosen.runs, subject))
        for history in _histories([chosen.runs[row] for row in rows], _part(table, rows), subject, kept)
    ]
    if not histories:
        raise _nothing(archive, name, subject, tables)
    return tuple(sorted(histories, key=_prominence))


def _of_one_cluster(stored: StoredSet, note: Callable[[str], None]) -> StoredSet:
    """The set without runs of another cluster that has the name of the newest run's."""
    others = of_others(stored.summaries)
    if others:
        note(left_out(stored.summaries, others))
    return replace(stored, runs=tuple(run for run in stored.runs if run.summary.run not in others))


def _usual_rows(table: MetricTable, runs: Sequence[StoredRun], subject: Subject) -> list[int]:
    """The runs of a history, by their place: of those that have the metric the usual ones."""
    having = np.flatnonzero(~np.isnan(values_over_runs(table, subject, {}))).tolist()
    usual = like_usual([runs[row] for row in having], PERMITTED) if having else []
    return [row for row in having if runs[row] in usual]


def _part(table: MetricTable, rows: Sequence[int]) -> MetricTable:
    """The table of these runs with the pairs that they measured."""
    part = table.rows(rows)
    columns = np.flatnonzero(~np.isnan(part.values).all(axis=0))
    return replace(part, pairs=tuple(table.pairs[column] for column in columns), values=part.values[:, columns])


def _baselines(archive: Path, note: Callable[[str], None]) -> Iterator[tuple[str, StoredSet, Sequence[MetricTable]]]:
    """Names, runs and values of baselines; `note` gets a sentence on one that is damaged."""
    try:
        names = baselines.names(archive)[:MOST_BASELINES]
    except SeatrialError as error:
        note(str(error))
        return
    for name in names:
        try:
            kept = find_runs(archive, f"{name}@{max(baselines.versions(archive, name), default=0)}")
            yield name, kept, load_tables([kept], trials=True)
        except SeatrialError as error:
            note(f"The baseline {name} is left out: {error}")


def _level(
    earlier: MetricTable, table: MetricTable, values: Reals, subject: Subject, leaves: Mapping[str, str]
) -> float:
    """The value of the runs of a baseline on the scale of a history, over its pairs; NaN where none is common.

    `values`: of the history, a row of `table` each.
    """
    columns = {pair: place for place, pair in enumerate(table.pairs)}
    common = [place for place, pair in enumerate(earlier.pairs) if pair in columns]
    rows = np.full((len(earlier.values), len(columns)), np.nan)
    rows[:, [columns[earlier.pairs[place]] for place in common]] = earlier.values[:, common]
    together = values_over_runs(replace(table, values=np.vstack((table.values, rows))), subject, leaves)
    level = together[len(values) :][np.isfinite(together[len(values) :])]
    return float(np.nanmedian(values / together[: len(values)]) * np.median(level)) if len(level) else float("nan")


def _histories(
    runs: Sequence[StoredRun],
    table: MetricTable,
    subject: Subject,
    kept: Sequence[tuple[str, StoredSet, Sequence[MetricTable]]],
) -> Iterator[History]:
    """The histories of a metric that these runs have of the subject. `kept`: name, runs and values of each baseline.

    Nodes that became worse, which all pairs together do not show, are further subjects.
    """
    leaf_of = {node: leaf for run in runs for node, leaf in run.summary.leaf_of.items()}
    for own in (subject, *(worsened_nodes(table, leaf_of) if subject == FABRIC else ())):
        values = values_over_runs(table, own, leaf_of)
        levels = (
            BaselineLevel(name=label, value=_level(earlier, table, values, own, leaf_of))
            for label, of_baseline, its_tables in kept
            if all(is_like(run, runs[-1], PERMITTED) for run in of_baseline.runs)
            for earlier in its_tables
            if earlier.metric == table.metric
        )
        beside = tuple(level for level in levels if np.isfinite(level.value))
        yield replace(_history(runs, table, own, values), baselines=beside)


def _prominence(history: History) -> tuple[int, int]:
    """Sort key: of curves the bandwidth that most runs have, at the largest message, comes first."""
    size = history.metric.plateau_bytes
    return -len(history.runs) if size else 0, -size


def _nothing(archive: Path, name: str, subject: Subject, tables: Sequence[MetricTable]) -> UsageError:
    """What the runs lack: any values, the metric, or the subject; and what they have."""
    if not tables:
        return UsageError(
            f"The runs of {archive} have no values.", "Name other runs with --runs; seatrial runs list shows all."
        )
    of_metric = [table for table in tables if table.metric.name.startswith(name)]
    if not of_metric:
        names = some(list(dict.fromkeys(table.metric.name for table in tables)), MOST_METRICS)
        return UsageError(f"No run of {archive} measured {name!r}.", f"Measured were: {names}.")
    nodes = natural_sorted({node for table in of_metric for pair in table.pairs for node in pair})
    return UsageError(
        f"No run of {archive} measured {name!r} of {subject.kind.value} {subject.name}.",
        f"Measured nodes: {some(nodes, MOST_NODES)}.",
    )


def _history(measured: Sequence[StoredRun], table: MetricTable, subject: Subject, values: Reals) -> History:
    rows = np.flatnonzero(~np.isnan(values))
    runs = tuple(measured[row] for row in rows.tolist())
    series = ValueSeries(name=table.metric.name, values=tuple(float(value) for value in values[rows]))
    (judged,) = judge_series([series], better=better_of(table)).series
    return History(
        metric=table.metric,
        subject=subject,
        runs=tuple(run.summary for run in runs),
        values=series.values,
        judged=judged,
        changes=tuple(_explained(change, runs, subject) for change in judged.changes),
    )


def _explained(change: ChangePoint, runs: tuple[StoredRun, ...], subject: Subject) -> Explained:
    """The facts of the runs on both sides of a change."""
    first, last = span_of(change, len(runs))
    before, after = _facts(runs[first], subject), _facts(runs[last], subject)
    nodes = nodes_of(subject)
    losses = dict.fromkeys(nodes, 1.0)
    suspects = find_suspects(before, after, losses, nodes, all_slower=not nodes) if before and after else ()
    return Explained(change=change, before=runs[first].summary, after=runs[last].summary, suspects=suspects)


def _facts(run: StoredRun, subject: Subject) -> dict[str, NodeFacts]:
    """The facts of the subject's nodes, or of all nodes."""
    nodes = nodes_of(subject)
    return parse_all({node: text for node, text in run.facts_texts().items() if not nodes or node in nodes})
