"""Reads a metric over the runs of an archive, finds its changes, and the facts that changed with each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from seatrial.archive import baselines
from seatrial.archive.reader import parse_all
from seatrial.archive.run_sets import StoredRun, find_runs, load_tables
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
from seatrial.judgement.comparison.records import unlike_runs
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

    Of runs that were measured under unlike conditions those count that are like the newest with such a value.
    """
    chosen = find_runs(archive, runs or ALL_RUNS)
    left = list(chosen.runs)
    tables: list[MetricTable] = []
    while left:
        alike = [run for run in left if _alike(run, left[-1])]
        left = [run for run in left if run not in alike]
        of_alike = load_tables([replace(chosen, runs=tuple(alike))], trials=True, note=note)
        chosen = replace(chosen, left_out=())  # each is noted once
        tables += of_alike
        kept = tuple(_baselines(archive, alike[-1], note))
        if histories := tuple(_histories(alike, of_alike, name, subject, kept)):
            return tuple(sorted(histories, key=_prominence))
    raise _nothing(archive, name, subject, tables, chosen.runs[-1])


def _baselines(
    archive: Path, newest: StoredRun, note: Callable[[str], None]
) -> Iterator[tuple[str, Sequence[MetricTable]]]:
    """Names and values of baselines that were measured like a run; `note` gets a sentence on one that is damaged."""
    try:
        names = baselines.names(archive)[:MOST_BASELINES]
    except SeatrialError as error:
        note(str(error))
        return
    for name in names:
        try:
            kept = find_runs(archive, f"{name}@{max(baselines.versions(archive, name), default=0)}")
            if all(_alike(run, newest) for run in kept.runs):
                yield name, load_tables([kept], trials=True)
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
    tables: Sequence[MetricTable],
    name: str,
    subject: Subject,
    kept: Sequence[tuple[str, Sequence[MetricTable]]],
) -> Iterator[History]:
    """The histories of the metrics of this name that these runs have of the subject. `kept`: names and values of
    baselines.

    Nodes that became worse, which all pairs together do not show, are further subjects.
    """
    leaf_of = {node: leaf for run in runs for node, leaf in run.summary.leaf_of.items()}
    for table in (table for table in tables if table.metric.name.startswith(name)):
        for own in (subject, *(worsened_nodes(table, leaf_of) if subject == FABRIC else ())):
            values = values_over_runs(table, own, leaf_of)
            if not np.isnan(values).all():
                levels = (
                    BaselineLevel(name=label, value=_level(earlier, table, values, own, leaf_of))
                    for label, of_baseline in kept
                    for earlier in of_baseline
                    if earlier.metric == table.metric
                )
                beside = tuple(level for level in levels if np.isfinite(level.value))
                yield replace(_history(runs, table, own, values), baselines=beside)


def _prominence(history: History) -> tuple[int, int]:
    """Sort key: of curves the bandwidth that most runs have, at the largest message, comes first."""
    size = history.metric.plateau_bytes
    return -len(history.runs) if size else 0, -size


def _nothing(
    archive: Path, name: str, subject: Subject, tables: Sequence[MetricTable], newest: StoredRun
) -> UsageError:
    """What the runs lack: any values, the metric, or the subject; and what they have."""
    if not tables:
        like = f"{newest.summary.run} ({newest.summary.kind})"
        return UsageError(
            f"The runs of {archive} that are like the newest, {like}, have no values of pairs.",
            "Name other runs with --runs; seatrial runs list shows all.",
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


def _alike(run: StoredRun, newest: StoredRun) -> bool:
    return all(each.condition in PERMITTED for each in unlike_runs([run.summary], [newest.summary]))


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
