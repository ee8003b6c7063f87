"""Reads the runs of a benchmark from the archive and plans how many more a claim needs."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.run_sets import StoredRun, StoredSet, find_runs, load_tables
from seatrial.judgement.comparison.conditions import unlike_runs
from seatrial.judgement.comparison.planning import ComparisonPlan, plan_runs
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.run_values import MetricTable

ALL_RUNS = ".."
"""Every closed run of the archive."""


def plan(archive: Path, wanted: str, effect: float, note: Callable[[str], None], runs: str = "") -> ComparisonPlan:
    """`wanted`: a kind of run, or the beginning of a metric's name. `runs`: which; empty: all in the archive
    that were measured like the newest. `note`: as `load_tables` takes it.

    Raises UsageError where nothing fits, DamagedRun.
    """
    chosen = find_runs(archive, runs or ALL_RUNS)
    is_kind = wanted in tuple(RunKind)
    if is_kind:
        chosen = _of_kind(chosen, wanted)
    tables = [] if not chosen.runs else list(load_tables([chosen], note=note))
    if not is_kind:
        tables = [table for table in tables if table.metric.name.startswith(wanted)]
    chosen, tables = _that_measured(chosen, tables)
    if not tables:
        raise UsageError(
            f"No run of {archive} measured {wanted!r}.",
            f"Name a kind of run ({', '.join(RunKind)}), or a metric as reports name it: bandwidth, latency 8 B.",
        )
    alike = _like_the_newest(chosen)
    rows = [place for place, run in enumerate(chosen.runs) if run in alike]
    leaf_of = {node: leaf for run in alike for node, leaf in run.summary.leaf_of.items()}
    return plan_runs([run.summary for run in alike], [table.rows(rows) for table in tables], effect, leaf_of)


def _of_kind(chosen: StoredSet, kind: str) -> StoredSet:
    return msgspec.structs.replace(chosen, runs=tuple(run for run in chosen.runs if run.summary.kind == kind))


def _that_measured(chosen: StoredSet, tables: Sequence[MetricTable]) -> tuple[StoredSet, list[MetricTable]]:
    """Only the runs that have any of these metrics."""
    rows = [place for place in range(len(chosen.runs)) if any(table.compared[place] is not None for table in tables)]
    runs = tuple(chosen.runs[place] for place in rows)
    return msgspec.structs.replace(chosen, runs=runs), [table.rows(rows) for table in tables]


def _like_the_newest(chosen: StoredSet) -> list[StoredRun]:
    """The runs that were measured under the same conditions as the newest."""
    newest = chosen.runs[-1]
    return [run for run in chosen.runs if not unlike_runs([run.summary], [newest.summary])]
