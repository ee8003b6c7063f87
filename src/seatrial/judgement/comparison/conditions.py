"""Whether runs were measured under conditions that permit a comparison."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from seatrial.judgement.comparison.records import Unlike
from seatrial.model.imported import Sense
from seatrial.model.run_values import MetricTable, RunSummary
from seatrial.model.units import size
from seatrial.model.words import natural_sorted, some

CROWDED = 2.0
"""Numbers of pairs at once that differ by this factor or more are another load on the fabric."""
COMMAND = "command"
OF_RUNS: dict[str, Callable[[RunSummary], str]] = {
    COMMAND: lambda run: run.kind,
    "benchmark": lambda run: run.benchmark,
    "cluster": lambda run: run.cluster,
    "launcher": lambda run: run.launcher,
    "mpi-library": lambda run: run.mpi_library,
    "mpi": lambda run: run.mpi,
    "start": lambda run: run.started_by,
    "mpirun-options": lambda run: " ".join(run.mpirun_options),
    "environment": lambda run: run.environment,
    "wrap": lambda run: run.wrap,
    "ranks-per-node": lambda run: "" if run.ranks_per_node is None else f"{run.ranks_per_node:g}",
}
"""Conditions by the word that `--across` takes. An empty value is one that the run does not record."""
OPTIONAL = ("cluster", "mpi-library", "ranks-per-node")
"""Conditions that are not compared if a run does not record them."""
MESSAGES, METRICS, NODES, PAIRS_AT_ONCE, VERIFICATION = "messages", "metrics", "nodes", "pairs-at-once", "verification"
CONDITIONS = (*OF_RUNS, PAIRS_AT_ONCE, VERIFICATION)
"""What `--across` can permit. Without common messages, metrics or nodes there is nothing to compare."""


def unlike_runs(first: Sequence[RunSummary], second: Sequence[RunSummary]) -> tuple[Unlike, ...]:
    """Conditions of whole runs that differ between the sets, or within one."""
    unlike = []
    for condition, value_of in OF_RUNS.items():
        absent = {""} if condition in OPTIONAL else set()
        values = [sorted({value_of(run) for run in runs} - absent) for runs in (first, second)]
        mixed = len(values[0]) > 1 and condition != COMMAND  # of several commands, each is compared with its own
        if values[0] and values[1] and (values[0] != values[1] or mixed):
            unlike.append(Unlike(condition=condition, first=_text(values[0]), second=_text(values[1])))
    return tuple(unlike)


def _text(values: Sequence[str]) -> str:
    return " and ".join(value or "none" for value in values)


def unlike_tables(tables: Sequence[MetricTable], first: int) -> tuple[Unlike, ...]:
    """Conditions of the measurements that differ; the first `first` rows of each table are the first set.

    Only metrics that both sets have are compared.
    """
    shared = [table for table in tables if _measured(table, 0, first) and _measured(table, first, len(table.values))]
    if not shared:
        return (_nothing_shared(tables, first),) if tables else ()
    has = [~np.isnan(table.values) for table in shared]
    common = any((of[:first].any(axis=0) & of[first:].any(axis=0)).any() for of in has)
    if not common and not any(_nodes([table], 0, first) & _nodes([table], first, None) for table in shared):
        nodes = [some(natural_sorted(_nodes(shared, *ends))) for ends in ((0, first), (first, None))]
        return (Unlike(condition=NODES, first=nodes[0], second=nodes[1]),)
    unlike = {}
    for table in shared:
        most = [float(np.nanmax(part)) for part in (table.pairs_at_once[:first], table.pairs_at_once[first:])]
        if max(most) >= CROWDED * min(most):
            unlike[PAIRS_AT_ONCE] = Unlike(condition=PAIRS_AT_ONCE, first=f"{most[0]:g}", second=f"{most[1]:g}")
        levels = [{str(level) for level in part if level} for part in (table.compared[:first], table.compared[first:])]
        if levels[0] != levels[1]:
            texts = [_text(sorted(level)) for level in levels]
            unlike[VERIFICATION] = Unlike(condition=VERIFICATION, first=texts[0], second=texts[1])
    return tuple(unlike.values())


def _measured(table: MetricTable, begin: int, end: int) -> bool:
    return any(level is not None for level in table.compared[begin:end])


def _nodes(tables: Iterable[MetricTable], begin: int, end: int | None) -> set[str]:
    nodes = set()
    for table in tables:
        has = np.any(~np.isnan(table.values[begin:end]), axis=0)
        nodes |= {node for place in np.flatnonzero(has) for node in table.pairs[place]}
    return nodes


def _nothing_shared(tables: Sequence[MetricTable], first: int) -> Unlike:
    texts = []
    for begin, end in ((0, first), (first, None)):
        names = {
            f"{table.metric.name}{' (lower is better)' if table.metric.kernel is Sense.LOWER else ''}"
            if table.metric.of_nodes
            else f"{table.metric.kernel.value} of {table.metric.window_messages} x {size(table.metric.message_bytes)}"
            for table in tables
            if any(level is not None for level in table.compared[begin:end])
        }
        texts.append(some(natural_sorted(names)) or "nothing")
    condition = METRICS if any(table.metric.of_nodes for table in tables) else MESSAGES
    return Unlike(condition=condition, first=texts[0], second=texts[1])
