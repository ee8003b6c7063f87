"""The points of scaling curves, from outputs of benchmarks or from a table."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.importers.column_roles import refuse_same_names, role_beside
from seatrial.importers.columns import TableColumn, read_columns
from seatrial.importers.labelled_columns import ANONYMOUS
from seatrial.importers.wide_columns import melted
from seatrial.model.benchmark import Better, Label, Metric, Output
from seatrial.model.column_words import RUN_WORDS, SIZES_OF_RUNS, size_of_run
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, sense_of
from seatrial.model.words import count, some

WORK = re.compile(
    r"(?i)^(?:number_of_|num_|n_)?(?:unknowns|cells|elements|particles|atoms|iterations)$|^problem.?size$|^order$"
)
"""Columns that say how much work was done."""
SPEED = re.compile(r"(?i)throughput|rate|fom|figure.?of.?merit|per_s\b|/s\b|flops|bandwidth|speed")
TIME = re.compile(r"(?i)time|seconds|elapsed|duration|_s$|wall")
OWN = "own_rate_sum"
ONE_OF = {
    "nodes": ("node", "host"), "ranks": ("rank",), "cores": ("core",), "processes": ("process",),
    "procs": ("proc", "process"),
}  # fmt: skip
"""One of a column of sizes."""
EACH = re.compile(
    r"(?i)(?:(?<![a-z])(?:per|each|a)[\W_]{1,4}+|/[\W_]{0,4}+)(?P<one>node|host|rank|core|process|proc)(?![a-z])"
)
"""What a rate is of that is divided by the size, as in gflops_per_node."""
DIVIDING = ("conditions", "parts")
"""Roles of columns of numbers of which each cell is a curve of its own."""
SIZE = "size"
"""The column of sizes of a table that does not say what they count."""
FEWEST_SIZES = 3
"""Columns that begin with numbers, which rise: of fewer, they may be anything."""
MOST_ROWS = 200_000
LONGEST_CELL = 20
"""Characters of a cell that a message shows."""


class ScaleRun(msgspec.Struct, frozen=True, kw_only=True):
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
    missing: str = ""
    """Why there is no value, where a table does not have it."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A row or a file that is not part of its curve, and why."""

    source: str
    reason: str


class ScaleCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Runs over sizes of the same thing."""

    name: str
    over: str
    metric: str
    better: Better
    runs: tuple[ScaleRun, ...]
    of_problem: bool = False
    """Whether the metric is a rate of steps of the whole problem, which falls where the problem grows."""
    repeated: int = 0
    """Rows that repeat another row in every number, and are counted once."""
    left_out: tuple[LeftOut, ...] = ()
    """Rows without a size."""
    others: tuple[str, ...] = ()
    """Parts of the same table that have no number of the metric at all."""


def curve_of_outputs(
    benchmark: Benchmark, outputs: Mapping[str, Output], over: str, sizes: Sequence[float], metric: str
) -> ScaleCurve:
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


def run_of_output(benchmark: Benchmark, metric: Metric, source: str, output: Output, size: float) -> ScaleRun:
    """One run. `output`: with the breaches of its gates. The value is the last one, of what the benchmark declares."""
    wanted = benchmark.main_labels if metric.name == benchmark.main_metric else {}
    values = [
        item.value
        for item in output.results
        if item.metric == metric.name and all(item.labels.get(name) == value for name, value in wanted.items())
    ]
    work = {item.name: item.value for item in output.evidence}
    return ScaleRun(size=size, value=values[-1] if values else math.nan, source=source, work=work, output=output)


def curve_of_runs(
    benchmark: Benchmark, metric: Metric, over: str, runs: Sequence[ScaleRun], name: str = ""
) -> ScaleCurve:
    """The curve of these runs."""
    return ScaleCurve(
        name=name or benchmark.name,
        over=over,
        metric=metric.name,
        better=metric.better,
        of_problem=metric.of_problem,
        runs=tuple(runs),
    )


def _shown_sizes(outputs: Mapping[str, Output], over: str) -> tuple[str, list[float]]:
    """The first kind of size that all outputs show."""
    for name in (over,) if over else SIZES_OF_RUNS:
        sizes = [output.work(name) for output in outputs.values()]
        if all(isinstance(size, int | float) for size in sizes) and len(set(sizes)) > 1:
            return name, [float(size) for size in sizes if isinstance(size, int | float)]
    raise UsageError(
        f"The outputs do not all show {over or 'on how many nodes or ranks they ran'}.", "Add --sizes 1,2,4,8."
    )


def curves_of_table(text: str, source: str, over: str, by: Sequence[str], metric: str) -> list[ScaleCurve]:
    """Curves of a table with a column of sizes, and columns of numbers or the two columns `metric` and `value`."""
    columns = read_columns(text)
    if len(columns[0].cells) > MOST_ROWS:
        raise UsageError(f"{source} has more than {MOST_ROWS} rows.", "Give a part of it.")
    refuse_same_names(columns)
    if size := size_column(columns, over):
        columns = _by_runs(columns, size)
        size = size_column(columns, over)
    elif apart := _by_sizes(columns, over):
        columns, size = apart, apart[0]
    if size is None:
        wanted = over or f"one of {', '.join(SIZES_OF_RUNS)}"
        raise UsageError(f"{source} has no column of sizes ({wanted}).", "Name it with --over.")
    names = [column.name for column in columns]
    missing = [name for name in by if name not in names]
    if missing:
        raise UsageError(f"--by {missing[0]}: {source} has no such column.", f"It has {', '.join(names)}.")
    long = {"metric", "value"} <= set(names)
    taken = {size.name, *(("metric", "value") if long else ()), metric}
    dividing = list(by) or _groups([column for column in columns if column.name not in taken], size)
    for column in (one for one in columns if one.name in dividing):
        if blank := next((row for row, cell in enumerate(column.cells, 2) if not cell), 0):
            raise UsageError(f"{source}: row {blank} has no {column.name!r}.", "Write it in each row.")
    cells = zip(*(column.cells for column in columns), strict=True)
    rows = [(line, dict(zip(names, row, strict=True))) for line, row in enumerate(cells, 2)]
    measured = _long(rows, dividing, size.name) if long else _wide(rows, dividing, size.name)
    if not any(row.values for row in measured):
        raise UsageError(f"{source} has no numbers beside its sizes.", "Name the column of the sizes with --over.")
    chosen = metric or _metric({name for row in measured for name in row.values})
    if not any(chosen in row.values for row in measured):
        raise UsageError(f"{source} has no numbers of {chosen!r}.", "Name a metric with --metric.")
    return list(_curves(measured, size_of_run(size.name) or size.name, chosen, long=long))


def _by_sizes(columns: tuple[TableColumn, ...], over: str) -> tuple[TableColumn, ...]:
    """A row for each size of a table with a column for each, and a curve in each row: `code;64;128;256`.

    The numbers are called `rate` or `time` if the words of all curves say so, else `value`. Nothing of other tables.
    """
    sized = [one for one in columns if one.numeric and one.cells[0].isdecimal() and one.name.startswith(ANONYMOUS)]
    words = [one for one in columns if not one.numeric]
    sizes = [int(one.cells[0]) for one in sized]
    rising = all(before < after for before, after in pairwise(sizes))
    if len(sized) < FEWEST_SIZES or len(words) != 1 or len(sized) + 1 != len(columns) or not rising:
        return ()
    curves = words[0].cells[1:]
    better = {_better(cell) for cell in curves}
    name = {Better.MORE: "rate", Better.LESS: "time", None: "value"}[better.pop()] if len(better) == 1 else "value"
    return (
        TableColumn(name=over or SIZE, cells=tuple(str(size) for size in sizes for _ in curves)),
        TableColumn(name=words[0].cells[0], cells=curves * len(sized)),
        TableColumn(name=name, cells=tuple(cell for one in sized for cell in one.cells[1:])),
    )


def _by_runs(columns: tuple[TableColumn, ...], size: TableColumn) -> tuple[TableColumn, ...]:
    """A row for each run of a table with a column for each run: `nodes,run1,run2`; other tables as they are."""
    try:
        long, _ = melted(columns, size) or (columns, size)
    except UsageError:  # other numbers beside the runs
        return columns
    added = {one.name for one in long} - {one.name for one in columns}
    return tuple(one for one in long if one.name not in RUN_WORDS) if added & RUN_WORDS else columns


def size_column(columns: Sequence[TableColumn], over: str = "") -> TableColumn | None:
    """The column of sizes that a table has: that of this name, else the first kind of size."""
    return next(
        (one for kind in ((over,) if over else SIZES_OF_RUNS) for one in columns
         if kind in (one.name, size_of_run(one.name))), None,
    )  # fmt: skip


def _groups(columns: Sequence[TableColumn], size: TableColumn) -> list[str]:
    """Columns that divide the rows: of words, and of conditions that return at other sizes, as that of a problem does.

    A column that divides no further is left out.
    """
    chosen: list[TableColumn] = []
    parts = 1
    for column in columns:
        words = not any(number(cell) is not None for cell in column.cells)
        divided = len({*zip(*(one.cells for one in (*chosen, column)), strict=True)})
        if divided > parts and (words or role_beside(column, size) in DIVIDING):
            chosen, parts = [*chosen, column], divided
    return [column.name for column in chosen]


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """What one run has in a table: in one row, or in a row for each metric."""

    group: str
    size: float | None
    size_text: str
    values: dict[str, float]
    texts: Mapping[str, str | None]
    """The cells of all metrics."""
    source: str


Rows = Sequence[tuple[int, Mapping[str, str]]]
"""Number of the line, and its cells."""


def _long(rows: Rows, names: Sequence[str], size: str) -> list[_Row]:
    """Rows of one number; a new run begins where a metric comes again."""
    measured: list[_Row] = []
    for line, row in rows:
        value, name, text = number(row["value"]), row["metric"] or "", row[size] or ""
        group = "/".join(row[each] or "" for each in names)
        last = measured[-1] if measured else None
        if last is None or (last.group, last.size_text) != (group, text) or name in last.values:
            last = _Row(group=group, size=_size(text), size_text=text, values={}, texts={}, source=f"row {line}")
            measured.append(last)
        last.values[name] = math.nan if value is None else value
    return measured


def _wide(rows: Rows, names: Sequence[str], size: str) -> list[_Row]:
    measured = []
    for line, row in rows:
        texts = {name: text for name, text in row.items() if name and name != size and name not in names}
        values = {name: value for name, text in texts.items() if (value := number(text)) is not None}
        group, text = "/".join(row[name] or "" for name in names), row[size] or ""
        measured.append(
            _Row(group=group, size=_size(text), size_text=text, values=values, texts=texts, source=f"row {line}")
        )
    return measured


def _size(text: str) -> float | None:
    at = number(text)
    return at if at is not None and at > 0 else None


def _unlike(name: str, text: str | None) -> str:
    """Why a cell has no number for a curve."""
    return f"{name} is {text[:LONGEST_CELL]!r}" if text and text.strip() else f"{name} is empty"


def _better(name: str) -> Better | None:
    """Which values of a metric are good, by its name; None for a name that says nothing."""
    sense = Sense.HIGHER if SPEED.search(name) else Sense.LOWER if TIME.search(name) else sense_of(name)
    return {Sense.HIGHER: Better.MORE, Sense.LOWER: Better.LESS}[sense] if sense else None


def _metric(names: set[str]) -> str:
    """A rate, else a time. Raises UsageError where neither can be recognised."""
    for better in (Better.MORE, Better.LESS):
        fitting = sorted(name for name in names if _better(name) is better and name != OWN)
        if fitting:
            return min(fitting, key=lambda name: ("wrapper" in name, name))
    raise UsageError(
        "The table has no column that is known to be a rate or a time.", f"Use --metric: {some(sorted(names), 8)}."
    )


def _curves(measured: Sequence[_Row], over: str, metric: str, *, long: bool) -> Iterator[ScaleCurve]:
    """One for each group. `long`: groups may have metrics of their own; those without this one are only named."""
    having = {row.group for row in measured if metric in row.values}
    others = tuple(dict.fromkeys(row.group for row in measured if long and row.group not in having))
    groups: dict[str, list[ScaleRun]] = {}
    left_out: dict[str, list[LeftOut]] = {}
    repeated: dict[str, int] = {}
    seen: set[tuple[object, ...]] = set()
    for row in measured:
        if row.group in others:
            continue
        runs = groups.setdefault(row.group, [])
        if row.size is None:
            reason = _unlike(over, row.size_text)
            left_out.setdefault(row.group, []).append(LeftOut(source=row.source, reason=reason))
            continue
        identity = (row.group, row.size, *sorted(row.values.items()))
        if metric in row.values and len(row.values) > 1 and identity in seen:
            repeated[row.group] = repeated.get(row.group, 0) + 1
            continue
        seen.add(identity)
        runs.append(_run(row, row.size, metric))
    divided = of_each(metric, over)
    whole = f"{metric} times {over}" if divided else metric
    for group, measured_runs in groups.items():
        runs = measured_runs
        if divided:
            runs = [msgspec.structs.replace(run, value=run.value * run.size) for run in runs]
        better = _better(metric) or Better.MORE
        yield ScaleCurve(
            name=group or metric, over=over, metric=whole, better=better, runs=tuple(runs), others=others,
            repeated=repeated.get(group, 0), left_out=tuple(left_out.get(group, ())),
        )  # fmt: skip


def of_each(metric: str, over: str) -> bool:
    """Whether a rate is that of one node (rank, core) of the size, so that the whole has as many times as much."""
    divided = any(match["one"].lower() in ONE_OF.get(over, ()) for match in EACH.finditer(metric))
    return divided and (SPEED.search(metric) is not None or not TIME.search(metric))


def _run(row: _Row, size: float, metric: str) -> ScaleRun:
    work: dict[str, Label] = {name: value for name, value in row.values.items() if WORK.search(name) and name != metric}
    value = row.values.get(metric, math.nan)
    missing = "" if metric in row.values else _unlike(metric, row.texts.get(metric))
    return ScaleRun(size=size, value=value, source=row.source, work=work, own_rate=row.values.get(OWN), missing=missing)


def number(text: str | None) -> float | None:
    """A number in a cell, in digits 0 to 9; None where there is none."""
    try:
        return float(text) if text and text.isascii() and "_" not in text else None
    except (ValueError, TypeError):
        return None
