"""The curves of runs that were made for them: over cores, over nodes, with the sum of the nodes' own rates."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.commands.scale.points import ScaleCurve, ScaleRun, curve_of_runs, metric_of, run_of_output
from seatrial.commands.scale.series import CORES, NODES, OWN, CurvePlace
from seatrial.model.benchmark import Better, Metric, Output
from seatrial.statistics.estimates import median


class MeasuredPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a point, complete."""

    run: str
    """The name of the run in the archive."""
    place: CurvePlace
    ranks: int
    """Ranks on all nodes together."""
    output: Output
    """The output, with the breaches of all gates."""
    inputs: str = ""
    """Hash of the user's case; empty: there is none."""
    node_hours: float = 0.0
    earlier: bool = False
    """Whether it was there already when this series began."""


class ScaleSeries(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a series, and why it is not complete."""

    name: str
    runs: tuple[MeasuredPoint, ...]
    left: tuple[str, ...] = ()
    planned: int = 0
    node_hours: float = 0.0
    """Node-hours that all runs took together, also those that failed."""


def curves_of(benchmark: Benchmark, metric: str, series: ScaleSeries, *, weak: bool) -> list[ScaleCurve]:
    """One curve over cores with all runs, where --cores was given, and one over nodes. Raises UsageError."""
    declared = metric_of(benchmark, metric)
    own = _own_rates(benchmark, declared, series.runs)
    measured = {over: [run for run in series.runs if run.place.over == over] for over in (CORES, NODES)}
    curves = []
    if measured[CORES]:
        # With weak scaling both curves enlarge the work from their own smallest size: they are not one curve.
        runs = [*measured[CORES], *(() if weak else measured[NODES])]
        points = [_run(benchmark, declared, run, run.ranks, {}) for run in runs]
        curves.append(curve_of_runs(benchmark, declared, CORES, points, f"{benchmark.name} over cores"))
    if measured[NODES]:
        points = [_run(benchmark, declared, run, run.place.size, own) for run in measured[NODES]]
        curves.append(curve_of_runs(benchmark, declared, NODES, points, f"{benchmark.name} over nodes"))
    return curves


def _run(
    benchmark: Benchmark, metric: Metric, measured: MeasuredPoint, size: float, own: Mapping[str, float]
) -> ScaleRun:
    run = run_of_output(benchmark, metric, measured.run, measured.output, size)
    rates = [own[node] for node in measured.place.nodes if node in own]
    complete = bool(rates) and len(rates) == len(measured.place.nodes)
    inputs = {"inputs": measured.inputs} if measured.inputs else {}
    return msgspec.structs.replace(
        run,
        work={**run.work, **inputs},
        own_rate=sum(rates) if complete else None,
        own_bound=len(rates) * min(rates) / sum(rates) if complete else None,
    )


def _own_rates(benchmark: Benchmark, metric: Metric, runs: Sequence[MeasuredPoint]) -> dict[str, float]:
    """Median rate of work of each node that was measured alone; empty where no node but the first was."""
    if not any(run.place.over == OWN for run in runs):
        return {}
    values: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        alone = run.place.over == OWN or (run.place.over == NODES and run.place.size == 1)
        value = run_of_output(benchmark, metric, run.run, run.output, 1).value
        if alone and value > 0 and run.place.nodes:
            values[run.place.nodes[0]].append(value if metric.better is Better.MORE else 1 / value)
    return {node: median(rates) for node, rates in values.items()}
