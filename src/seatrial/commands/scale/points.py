"""The points of scaling curves, from outputs of benchmarks or from a table in CSV."""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.model.benchmark import Better, Label, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.words import count, some

SIZES = ("nodes", "ranks", "cores", "processes", "procs", "tasks", "threads")
"""Columns, or evidence, that a curve can run over; the first that is there."""
WORK = re.compile(
    r"(?i)^(?:number_of_|num_|n_)?(?:unknowns|cells|elements|particles|atoms|iterations)$|^problem.?size$|^order$"
)
"""Columns that say how much work was done."""
SPEED = re.compile(r"(?i)throughput|rate|fom|figure.?of.?merit|per_s\b|/s\b|flops|bandwidth|speed")
TIME = re.compile(r"(?i)time|seconds|elapsed|duration|_s$|wall")
OWN = "own_rate_sum"
MOST_ROWS = 200_000


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement. `value`: of the metric of its curve. `output`: what a benchmark printed, where there is one."""

    size: float
    value: float
    source: str
    """The name of the file, or the row of the table."""
    work: dict[str, Label]
    own_rate: float | None = None
    """Sum of the rates that its nodes have alone."""
    own_bound: float | None = None
    """The most of that sum that equal shares of the work permit: all wait for the slowest node."""
    output: Output | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Runs over sizes of the same thing."""

    name: str
    over: str
    metric: str
    better: Better
    runs: tuple[Run, ...]
    of_problem: bool = False
    """Whether the metric is a rate of steps of the whole problem, which falls where the problem grows."""
    repeated: int = 0
    """Rows that repeat another row in every number, and are counted once."""


def curve_of_outputs(
    benchmark: Benchmark, outputs: Mapping[str, Output], over: str, sizes: Sequence[float], metric: str
) -> Curve:
    """One curve of files. `sizes`: of the files in their order, where their outputs do not show them."""
    declared = metric_of(benchmark, metric)
    if sizes and len(sizes) != len(outputs):
        raise UsageError(
            f"--sizes has {count(len(sizes), 'number')} for {count(len(outputs), 'file')}.", "Give one for each file."
        )
    if not sizes:
        over, sizes = _shown_sizes(outputs, over)
    runs = [
        run_of_output(benchmark, declared, name, judge(benchmark, output), size)
        for size, (name, output) in zip(sizes, outputs.items(), strict=True)
    ]
    return curve_of_runs(benchmark, declared, over or "size", runs)


def metric_of(benchmark: Benchmark, name: str) -> Metric:
    """The metric of that name, else the main one. Raises UsageError."""
    declared = next((item for item in benchmark.metrics if item.name == (name or benchmark.main_metric)), None)
    if declared is None:
        names = ", ".join(item.name for item in benchmark.metrics)
        raise UsageError(f"--metric {name!r}: {benchmark.name} has no such metric.", f"It has {names}.")
    return declared


def run_of_output(benchmark: Benchmark, metric: Metric, source: str, output: Output, size: float) -> Run:
    """One run. `output`: with the breaches of its gates. The value is the last one, of what the benchmark declares."""
    wanted = benchmark.main_labels if metric.name == benchmark.main_metric else {}
    values = [
        item.value
        for item in output.results
        if item.metric == metric.name and all(item.labels.get(name) == value for name, value in wanted.items())
    ]
    work = {item.name: item.value for item in output.evidence}
    return Run(size=size, value=values[-1] if values else math.nan, source=source, work=work, output=output)


def curve_of_runs(benchmark: Benchmark, metric: Metric, over: str, runs: Sequence[Run], name: str = "") -> Curve:
    """The curve of these runs."""
    return Curve(
        name=name or benchmark.name,
        over=over,
        metric=metric.name,
        better=metric.better,
        of_problem=metric.of_problem,
        runs=tuple(runs),
    )


def _shown_sizes(outputs: Mapping[str, Output], over: str) -> tuple[str, list[float]]:
    """The first kind of size that all outputs show."""
    for name in (over,) if over else SIZES:
        sizes = [output.work(name) for output in outputs.values()]
        if all(isinstance(size, int | float) for size in sizes) and len(set(sizes)) > 1:
            return name, [float(size) for size in sizes if isinstance(size, int | float)]
    raise UsageError(
        f"The outputs do not all show {over or 'on how many nodes or ranks they ran'}.", "Add --sizes 1,2,4,8."
    )


def curves_of_table(text: str, source: str, over: str, by: Sequence[str], metric: str) -> list[Curve]:
    """Curves of a CSV with a column of sizes, and columns of numbers or the two columns `metric` and `value`."""
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = [row for row, _ in zip(reader, range(MOST_ROWS), strict=False)]
    except csv.Error as error:
        raise UsageError(f"{source} is not CSV: {error}.", "Give a table with a line of names.") from error
    columns = [name for name in (reader.fieldnames or []) if name]
    size = next((name for name in ((over,) if over else SIZES) if name in columns), None)
    if not rows or size is None:
        wanted = over or f"one of {', '.join(SIZES)}"
        raise UsageError(f"{source} has no column of sizes ({wanted}).", "Name it with --over.")
    missing = [name for name in by if name not in columns]
    if missing:
        raise UsageError(f"--by {missing[0]}: {source} has no such column.", f"It has {', '.join(columns)}.")
    long = {"metric", "value"} <= set(columns)
    taken = {size, *(("metric", "value") if long else ())}
    names = list(by) or _groups(rows, [name for name in columns if name not in taken])
    measured = _long(rows, names, size) if long else _wide(rows, names, size)
    chosen = metric or _metric({name for _, _, values, _ in measured for name in values})
    curves = list(_curves(measured, size, chosen))
    if not curves:
        raise UsageError(f"{source} has no numbers of {chosen!r}.", "Name a metric with --metric.")
    return curves


def _groups(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> list[str]:
    """Columns of words that divide the rows; those that divide no further are left out."""
    chosen: list[str] = []
    parts = 1
    for name in columns:
        if any(number(row[name]) is not None for row in rows):
            continue
        divided = len({tuple(row[column] for column in (*chosen, name)) for row in rows})
        if divided > parts:
            chosen, parts = [*chosen, name], divided
    return chosen


Measured = list[tuple[str, float, dict[str, float], str]]
"""Group, size, numbers by name, source."""


def _long(rows: Sequence[Mapping[str, str]], names: Sequence[str], size: str) -> Measured:
    """Rows of one number; a new run begins where a metric comes again."""
    measured: Measured = []
    for place, row in enumerate(rows, 2):
        at, value = number(row[size]), number(row["value"])
        if at is None or at <= 0:
            continue
        group = "/".join(row[name] or "" for name in names)
        last = measured[-1] if measured else None
        if last is None or last[0] != group or last[1] != at or row["metric"] in last[2]:
            measured.append((group, at, {}, f"row {place}"))
        measured[-1][2][row["metric"] or ""] = math.nan if value is None else value
    return measured


def _wide(rows: Sequence[Mapping[str, str]], names: Sequence[str], size: str) -> Measured:
    measured: Measured = []
    for place, row in enumerate(rows, 2):
        at = number(row[size])
        if at is None or at <= 0:
            continue
        values = {
            name: value
            for name, text in row.items()
            if name and name != size and name not in names and (value := number(text)) is not None
        }
        measured.append(("/".join(row[name] or "" for name in names), at, values, f"row {place}"))
    return measured


def _metric(names: set[str]) -> str:
    """A rate, else a time. Raises UsageError where neither can be recognised."""
    for pattern in (SPEED, TIME):
        fitting = sorted(name for name in names if pattern.search(name) and name != OWN)
        if fitting:
            return min(fitting, key=lambda name: ("wrapper" in name, name))
    raise UsageError(
        "The table has no column that is known to be a rate or a time.", f"Use --metric: {some(sorted(names), 8)}."
    )


def _curves(measured: Measured, over: str, metric: str) -> Iterator[Curve]:
    groups: dict[str, list[Run]] = {}
    repeated: dict[str, int] = {}
    seen: set[tuple[object, ...]] = set()
    for group, size, values, source in measured:
        if metric not in values:
            continue
        identity = (group, size, *sorted(values.items()))
        if len(values) > 1 and identity in seen:
            repeated[group] = repeated.get(group, 0) + 1
            continue
        seen.add(identity)
        work: dict[str, Label] = {name: value for name, value in values.items() if WORK.search(name) and name != metric}
        run = Run(size=size, value=values[metric], source=source, work=work, own_rate=values.get(OWN))
        groups.setdefault(group, []).append(run)
    for group, runs in groups.items():
        better = Better.MORE if SPEED.search(metric) or not TIME.search(metric) else Better.LESS
        yield Curve(
            name=group or metric, over=over, metric=metric, better=better, runs=tuple(runs),
            repeated=repeated.get(group, 0),
        )  # fmt: skip


def number(text: str | None) -> float | None:
    """A number in a cell, in digits 0 to 9; None where there is none."""
    try:
        return float(text) if text and text.isascii() and "_" not in text else None
    except (ValueError, TypeError):
        return None
