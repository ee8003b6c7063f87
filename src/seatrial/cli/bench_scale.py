"""seatrial bench scale: scaling curves, from runs that are made for them or from what was measured before."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from seatrial.benchmarks.declaration import AUTO
from seatrial.cli.bench_run import case_option, parameter_option, program_option, scratch_option
from seatrial.cli.options import NODES, PATH, part_of, say_waiting, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.scale import comparison as scale_comparison
from seatrial.commands.scale import files as scale_files
from seatrial.commands.scale import judge as scale_judge
from seatrial.commands.scale import measured as scale_measured
from seatrial.commands.scale import points as scale_points
from seatrial.commands.scale import run as scale_run
from seatrial.commands.scale import series as scale_series
from seatrial.commands.scale import series_view
from seatrial.commands.scale import view as scale_view
from seatrial.driver.benchmark import definition
from seatrial.model.errors import UsageError
from seatrial.model.settings import MOST_REPETITIONS, RUN_BUDGET_S, RunSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark


def sizes_of(text: str, what: str) -> tuple[int, ...]:
    """`1,2,4` as numbers of nodes or ranks. Raises UsageError."""
    return scale_series.sizes(text, what)


SIZES = Text(sizes_of)


@click.command(cls=SiteCommand)
@argument(
    "words", nargs=-1, help="A benchmark to be run, or its TOML file; with --from more files.", metavar="[WORD]..."
)
@option(
    "--from",
    "source",
    type=PATH,
    multiple=True,
    help="Outputs of one benchmark, one for each run; or tables in CSV.",
    metavar="FILE...",
)
@option(
    "--node-count",
    "-N",
    "node_counts",
    type=SIZES,
    default="",
    help="Run it on this many nodes: 1,2,4.",
    metavar="LIST",
)
@option(
    "--cores",
    type=SIZES,
    default="",
    help="Run it with this many ranks, on one node or on --spread: 1,2,4.",
    metavar="LIST",
)
@option(
    "--spread",
    type=click.IntRange(min=1),
    default=1,
    help="Divide the ranks of --cores among up to this many nodes.",
    metavar="N",
)
@option(
    "--ranks-per-node",
    type=click.IntRange(min=0),
    default=0,
    help="Ranks of each node with --node-count.  [default: as the benchmark declares, else one for each core]",
    metavar="N",
)
@option("--nodes", "-w", type=NODES, default="", help="Take these nodes: n[1-4].", metavar="NODES")
@option(
    "--repeat",
    type=click.IntRange(min=1, max=MOST_REPETITIONS),
    default=1,
    help="How often each size is run.",
    metavar="N",
)
@option("--own", is_flag=True, help="Also run it on each node alone, for the sum of the nodes' own rates.")
@parameter_option
@program_option
@case_option
@scratch_option
@option(
    "--benchmark", default=AUTO, help="Which benchmark the outputs are of: a name, or your TOML file.", metavar="NAME"
)
@option("--metric", help="Which number makes the curve.  [default: the benchmark's main one]", metavar="NAME")
@option("--over", help="What the curve runs over: nodes, ranks, a column.  [default: the first known]", metavar="NAME")
@option(
    "--sizes", help="Nodes or ranks of the outputs in their order, if they do not show them: 1,2,4.", metavar="LIST"
)
@option("--by", help="Columns that divide a table into curves: env,env_type.", metavar="COLUMNS")
@option(
    "--beside",
    help="Compare two curves: of files with these words in their paths, or of tables with these names.",
    metavar="A,B",
)
@option("--weak", is_flag=True, help="Weak scaling: the work grows with the size.")
@option(
    "--own-rates",
    type=PATH,
    help="CSV of node,value: what each node delivers alone, in the metric of the curve.",
    metavar="FILE",
)
@option("--dry-run", is_flag=True, help="Print the runs in their order; start nothing.")
@output_options("html", "markdown")
@site_options(without=("replay", "round_timeout", "verify"), budget=time_text(RUN_BUDGET_S))
def scale(
    site: SiteSettings,
    words: tuple[str, ...],
    source: tuple[Path, ...],
    nodes: tuple[str, ...],
    parameter: tuple[tuple[str, str], ...],
    beside: str,
    dry_run: bool,
    output: OutputForms,
    **given: Any,
) -> int:
    """Judge scaling of a benchmark, by runs or by outputs: speed-up, efficiency, and whether all did the same work."""
    if source:
        sources = scale_files.Sources(
            paths=(*source, *map(Path, words)), waiting=say_waiting, **part_of(given, scale_files.Sources)
        )
        return _show_files(sources, beside, output)
    if beside:
        raise UsageError(f"--beside {beside}: it compares files.", "Give them with --from.")
    if len(words) != 1:
        raise UsageError(
            "seatrial bench scale needs one benchmark, or --from.",
            "seatrial bench scale hpl --weak -N 1,2,4 measures, seatrial bench scale --from run-*.out reads outputs.",
        )
    wanted = scale_series.Wanted(seed=site.seed, **part_of(given, scale_series.Wanted))
    declared, text = definition.benchmark_and_text(words[0])
    settings = RunSettings(
        site=replace(site, nodes=nodes),
        definition=text,
        parameters=dict(parameter),
        **{**part_of(given, RunSettings), "benchmark": words[0]},
    )
    return _measure(settings, declared, wanted, given["metric"], output, dry_run=dry_run)


def _show_files(sources: "scale_files.Sources", beside: str, output: OutputForms) -> int:
    """The curves of files, and two of them side by side."""
    if not beside:
        return output.show(scale_view.scale_report(scale_files.judged_curves(sources)))
    first, second = scale_files.two_curves(sources, beside)
    both = scale_comparison.beside(first, second)
    return output.show(scale_view.scale_report((first, second), both=both))


def _measure(
    settings: RunSettings,
    benchmark: "Benchmark",
    wanted: "scale_series.Wanted",
    metric: str,
    output: OutputForms,
    *,
    dry_run: bool,
) -> int:
    """Run all points and judge their curves. Raises SeatrialError with the first reason where no point was run."""
    scale_points.metric_of(benchmark, metric)
    with progress_on(sys.stderr) as progress:
        preview = scale_run.prepared(settings, benchmark, wanted, progress)
        if dry_run:
            report = series_view.preview_report(preview.name, preview.planned, preview.node_hours)
            return output.show(report)
        series = scale_run.carried_out(preview, settings, benchmark, progress)
    curves = scale_measured.curves_of(benchmark, metric, series, weak=wanted.weak)
    judged = [scale_judge.judge_curve(curve, weak=wanted.weak) for curve in curves]
    judged = [item for item in judged if item.points]
    return output.show(scale_view.scale_report(judged, series))
