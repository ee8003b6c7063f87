"""Values of one metric by node over runs, as `seatrial judge --runs` judges them."""

import math
from collections.abc import Mapping, Sequence

from seatrial.importers.series import ValueSeries
from seatrial.judgement.comparison.history import values_over_runs
from seatrial.model.errors import UsageError
from seatrial.model.run_values import MetricTable, RunSummary
from seatrial.model.subject import FABRIC, node
from seatrial.model.words import natural_sorted


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
    """One series for each metric: all nodes or pairs together, a value a run, with the time of the run."""
    times = tuple(run.started for run in runs)
    return tuple(
        ValueSeries(
            name=table.metric.name,
            values=tuple(float(value) for value in values_over_runs(table, FABRIC, leaf_of)),
            times=times,
        )
        for table in tables
    )
