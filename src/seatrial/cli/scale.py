"""seatrial scale: scaling curves, from runs that are made for them or from what was measured before."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.benchmarks.declaration import AUTO
from seatrial.cli import scale_files, scale_run
from seatrial.cli.benchmarks import benchmark_and_text
from seatrial.cli.options import AsJson, Html, Markdown, parse_nodes, time_text
from seatrial.cli.outcome import Files, show
from seatrial.cli.parse import named_values
from seatrial.cli.progress import progress_on
from seatrial.cli.run import Case, Program, Scratch, SetParameter
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.scale import comparison as scale_comparison
from seatrial.commands.scale import judge as scale_judge
from seatrial.commands.scale import measured as scale_measured
from seatrial.commands.scale import points as scale_points
from seatrial.commands.scale import series as scale_series
from seatrial.commands.scale import series_view
from seatrial.commands.scale import view as scale_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import MOST_REPETITIONS, RUN_BUDGET_S, RunSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark

SHARED = Shared(without=("replay", "round_timeout", "verify"), defaults={"budget": time_text(RUN_BUDGET_S)})


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
        int, typer.Option(help="How often each size is run.", min=1, max=MOST_REPETITIONS, metavar="N")
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
    ] = AUTO,
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
    beside: Annotated[
        str,
        typer.Option(
            help="Compare two curves: of files with these words in their paths, or of tables with these names.",
            metavar="A,B",
        ),
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
        sources = scale_files.Sources(
            paths=(*source, *map(Path, named)), benchmark=benchmark, metric=metric, over=over, sizes=sizes, by=by,
            own_rates=own_rates, weak=weak,
        )  # fmt: skip
        return _show_files(sources, beside, files, as_json=as_json)
    if beside:
        raise UsageError(f"--beside {beside}: it compares files.", "Give them with --from.")
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


def _show_files(sources: scale_files.Sources, beside: str, files: Files, *, as_json: bool) -> int:
    """The curves of files, and two of them side by side."""
    if not beside:
        return show(scale_view.scale_report(scale_files.judged_curves(sources)), as_json=as_json, files=files)
    first, second = scale_files.two_curves(sources, beside)
    both = scale_comparison.beside(first, second)
    return show(scale_view.scale_report((first, second), both=both), as_json=as_json, files=files)


def _measure(
    settings: RunSettings,
    benchmark: "Benchmark",
    wanted: "scale_series.Wanted",
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
