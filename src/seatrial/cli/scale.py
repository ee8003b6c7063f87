"""seatrial scale: scaling curves, from runs that are made for them or from what was measured before."""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import catalogue
from seatrial.cli import parse, scale_run
from seatrial.cli.benchmarks import benchmark_and_text
from seatrial.cli.options import AsJson, Html, Markdown, parse_nodes, read_text, time_text
from seatrial.cli.outcome import Files, show
from seatrial.cli.parse import named_values
from seatrial.cli.progress import progress_on
from seatrial.cli.run import Case, Program, Scratch, SetParameter
from seatrial.cli.site_options import Shared, settings_of
from seatrial.cli.time_limit import PARSE_S, limited
from seatrial.commands.scale import judge as scale_judge
from seatrial.commands.scale import measured as scale_measured
from seatrial.commands.scale import points as scale_points
from seatrial.commands.scale import series as scale_series
from seatrial.commands.scale import series_view
from seatrial.commands.scale import view as scale_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import RUN_BUDGET_S, RunSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.commands.scale.judge import Judged
    from seatrial.commands.scale.points import Curve
    from seatrial.model.benchmark import Output

SHARED = Shared(without=("replay", "round_timeout", "verify"), defaults={"budget": time_text(RUN_BUDGET_S)})
TABLE = ".csv"
MOST_FILES = 1000


def scale(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="A benchmark to be run, or its TOML file; with --from more files.", metavar="[WORD]..."),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Outputs of one benchmark, one for each run; or tables in CSV.", metavar="FILE..."),
    ] = None,
    nodes: Annotated[str, typer.Option(help="Run it on this many nodes: 1,2,4.", metavar="LIST")] = "",
    cores: Annotated[
        str, typer.Option(help="Run it with this many ranks, on one node or on --spread: 1,2,4.", metavar="LIST")
    ] = "",
    spread: Annotated[
        int, typer.Option(help="Divide the ranks of --cores among up to this many nodes.", min=1, metavar="N")
    ] = 1,
    ranks_per_node: Annotated[
        int,
        typer.Option(
            help="Ranks of each node with --nodes.  [default: as the benchmark declares, else one for each core]",
            min=0,
            metavar="N",
            show_default=False,
        ),
    ] = 0,
    nodelist: Annotated[str, typer.Option(help="Take these nodes: n[1-4].", metavar="NODES")] = "",
    repeat: Annotated[
        int, typer.Option(help="How often each size is run.", min=1, max=scale_series.MOST_REPETITIONS, metavar="N")
    ] = 1,
    own: Annotated[
        bool, typer.Option("--own", help="Also run it on each node alone, for the sum of the nodes' own rates.")
    ] = False,
    parameter: SetParameter = None,
    program: Program = "",
    case: Case = None,
    scratch: Scratch = None,
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs in their order; start nothing.")] = False,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
) -> int:
    """Judge scaling of a benchmark, by runs or by outputs: speed-up, efficiency, and whether all did the same work."""
    files = Files(html=html, markdown=markdown)
    named = list(words or ())
    if source:
        paths = [*source, *map(Path, named)]
        judged = _read(paths, benchmark, metric, over, sizes, by, own_rates, weak=weak)
        return show(scale_view.scale_report(judged), as_json=as_json, files=files)
    if len(named) != 1:
        raise UsageError(
            "seatrial scale needs one benchmark, or --from.",
            "seatrial scale hpl --weak --nodes 1,2,4 measures, seatrial scale --from run-*.out reads outputs.",
        )
    wanted = scale_series.Wanted(
        cores=scale_series.sizes(cores, "--cores"),
        nodes=scale_series.sizes(nodes, "--nodes"),
        ranks_per_node=ranks_per_node,
        spread=spread,
        own=own,
        weak=weak,
        repeat=repeat,
        seed=settings_of(context).seed,
    )
    declared, text = benchmark_and_text(named[0])
    settings = RunSettings(
        site=replace(settings_of(context), nodes=parse_nodes(nodelist, "--nodelist")),
        benchmark=named[0],
        definition=text,
        program=program,
        parameters=named_values(parameter or (), "--set"),
        case=case.absolute() if case else None,
        scratch=scratch.absolute() if scratch else None,
    )
    return _measure(settings, declared, wanted, metric, files, dry_run=dry_run, as_json=as_json)


def _measure(
    settings: RunSettings,
    benchmark: "Benchmark",
    wanted: scale_series.Wanted,
    metric: str,
    files: Files,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run all points and judge their curves. Raises SeatrialError with the first reason where no point was run."""
    scale_points.metric_of(benchmark, metric)
    with progress_on(sys.stderr) as progress:
        preview = scale_run.prepared(settings, benchmark, wanted, progress)
        if dry_run:
            report = series_view.preview_report(preview.name, preview.planned, preview.node_hours)
            return show(report, as_json=as_json, files=files)
        series = scale_run.carried_out(preview, settings, benchmark, progress)
    curves = scale_measured.curves_of(benchmark, metric, series, weak=wanted.weak)
    judged = [scale_judge.judge_curve(curve, weak=wanted.weak) for curve in curves]
    judged = [item for item in judged if item.points]
    return show(scale_view.scale_report(judged, series), as_json=as_json, files=files)


def _read(
    paths: Sequence[Path],
    benchmark: str,
    metric: str,
    over: str,
    sizes: str,
    by: str,
    own_rates: Path | None,
    *,
    weak: bool,
) -> "list[Judged]":
    """The curves of files. Raises UsageError."""
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
            shown = [float(size) for size in scale_series.sizes(sizes, "--sizes")]
            curves.append(_curve(benchmark, outputs, over, shown, metric))
    judged = [scale_judge.judge_curve(curve, weak=weak, own_rates=own) for curve in curves]
    if not any(item.points for item in judged):
        raise UsageError("No run has a positive number.", "Choose another --metric.")
    return [item for item in judged if item.points]


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
