"""seatrial scale: scaling curves from what was measured before."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import catalogue
from seatrial.cli import parse
from seatrial.cli.options import AsJson, read_text
from seatrial.cli.outcome import show
from seatrial.cli.time_limit import PARSE_S, limited
from seatrial.commands.scale import judge as scale_judge
from seatrial.commands.scale import points as scale_points
from seatrial.commands.scale import view as scale_view
from seatrial.model.errors import UsageError

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.commands.scale.points import Curve
    from seatrial.model.benchmark import Output

TABLE = ".csv"
MOST_FILES = 1000


def scale(
    files: Annotated[list[Path] | None, typer.Argument(help="More files for --from.", metavar="[FILE]...")] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Outputs of one benchmark, one for each run; or tables in CSV.", metavar="FILE..."),
    ] = None,
    benchmark: Annotated[
        str, typer.Option(help="Which benchmark the outputs are of: a name, or your TOML file.", metavar="NAME")
    ] = catalogue.AUTO,
    metric: Annotated[
        str, typer.Option(help="Which number makes the curve.  [default: the benchmark's main one]", metavar="NAME")
    ] = "",
    over: Annotated[
        str,
        typer.Option(
            help="What the curve runs over: nodes, ranks, a column.  [default: the first known]", metavar="NAME"
        ),
    ] = "",
    sizes: Annotated[
        str,
        typer.Option(
            help="Nodes or ranks of the outputs in their order, if they do not show them: 1,2,4.", metavar="LIST"
        ),
    ] = "",
    by: Annotated[
        str, typer.Option(help="Columns that divide a table into curves: env,env_type.", metavar="COLUMNS")
    ] = "",
    weak: Annotated[bool, typer.Option("--weak", help="Weak scaling: the work grows with the size.")] = False,
    own_rates: Annotated[
        Path | None,
        typer.Option(
            help="CSV of node,value: what each node delivers alone, in the metric of the curve.", metavar="FILE"
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Judge scaling: speed-up, efficiency, and whether all points did the same work."""

    paths = [*(source or ()), *(files or ())]
    if not source:
        raise UsageError("seatrial scale needs --from.", "Give outputs or a table: seatrial scale --from run-*.out.")
    if len(paths) > MOST_FILES:
        raise UsageError(f"{len(paths)} files are too many.", f"Give at most {MOST_FILES}.")
    tables = [path for path in paths if path.suffix.lower() == TABLE]
    outputs = [path for path in paths if path not in tables]
    own = _own_rates(own_rates)
    curves: list[Curve] = []
    with limited(PARSE_S, "Reading the files"):
        for path in tables:
            names = [name for name in by.split(",") if name]
            curves += scale_points.curves_of_table(read_text(path, TABLES_BYTES), path.name, over, names, metric)
        if outputs:
            curves.append(_curve(benchmark, outputs, over, _sizes(sizes), metric))
    judged = [scale_judge.judge_curve(curve, weak=weak, own_rates=own) for curve in curves]
    if not any(item.points for item in judged):
        raise UsageError("No run has a positive number.", "Choose another --metric.")
    return show(scale_view.scale_report([item for item in judged if item.points]), as_json=as_json)


def _curve(name: str, paths: Sequence[Path], over: str, sizes: Sequence[float], metric: str) -> "Curve":
    """The curve of outputs. Raises UsageError where they are of several benchmarks."""
    outputs: dict[str, Output] = {}
    declared: Benchmark | None = None
    for path in paths:
        benchmark, output = parse.parsed(name, read_text(path, TABLES_BYTES))
        if benchmark is None:
            raise UsageError(f"{path} ends before it shows which benchmark it is of.", "Leave it out.")
        if declared is not None and declared.name != benchmark.name:
            raise UsageError(f"{path} is of {benchmark.name}, the first file of {declared.name}.", "Give one of them.")
        declared = benchmark
        label = path.name if path.name not in outputs else str(path)
        outputs[label] = output
    assert declared is not None  # noqa: S101 - there is at least one path
    return scale_points.curve_of_outputs(declared, outputs, over, sizes, metric)


def _sizes(text: str) -> list[float]:
    """`1,2,4` as numbers. Raises UsageError."""
    sizes = []
    for word in filter(None, text.split(",")):
        if not (word.isascii() and word.isdecimal() and int(word[:10]) > 0 and len(word) < 10):
            raise UsageError(f"--sizes {text!r}: {word!r} is not a number of nodes.", "Write 1,2,4,8.")
        sizes.append(float(word))
    return sizes


def _own_rates(path: Path | None) -> dict[str, float]:
    """Lines node,value. Raises UsageError for anything else."""
    if path is None:
        return {}
    remedy = "Write lines of node,value."
    rates = {}
    try:
        rows = list(csv.reader(io.StringIO(read_text(path, TABLES_BYTES))))
    except csv.Error as error:
        raise UsageError(f"{path} is not CSV: {error}.", remedy) from error
    for row in rows:
        if len(row) < 2 or row[0] == "node":
            continue
        rate = scale_points.number(row[1])
        if rate is None:
            raise UsageError(f"{path}: {row[1][:40]!r} is not a number.", remedy)
        if not scale_judge.LEAST < rate < scale_judge.MOST:
            raise UsageError(f"{path}: {row[1][:40]!r} is not a positive rate.", remedy)
        rates[row[0].strip()] = rate
    if not rates:
        raise UsageError(f"{path} has no rates of nodes.", remedy)
    return rates
