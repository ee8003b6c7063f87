"""seatrial bench: which benchmarks are known, and how they are run: one, a scaling series, a site's list."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from seatrial.benchmarks import catalogue
from seatrial.cli.bench_run import case_option, parameter_option, prepare_option, program_option, run, scratch_option
from seatrial.cli.options import NODES, PATH, part_of, read_text, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, Text, argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.acceptance import judge as acceptance_judge
from seatrial.commands.acceptance import run as acceptance_run
from seatrial.commands.acceptance import view as acceptance_view
from seatrial.commands.benchmarks import view as benchmarks_view
from seatrial.commands.scale import comparison_view
from seatrial.commands.scale import judge as scale_judge
from seatrial.commands.scale import measured as scale_measured
from seatrial.commands.scale import points as scale_points
from seatrial.commands.scale import run as scale_run
from seatrial.commands.scale import series as scale_series
from seatrial.commands.scale import view as scale_view
from seatrial.driver.benchmark import definition
from seatrial.files.inputs import SCENARIO_BYTES
from seatrial.model.settings import MOST_REPETITIONS, RUN_BUDGET_S, RunSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark


def sizes_of(text: str, what: str) -> tuple[int, ...]:
    """`1,2,4` as numbers of nodes or ranks. Raises UsageError."""
    return scale_series.sizes(text, what)


SIZES = Text(sizes_of)


@click.command(cls=SiteCommand)
@argument("benchmark", help="The name of a benchmark, or the TOML file of your own.", metavar="BENCHMARK")
@option("--node-count LIST", "-N", "node_counts", type=SIZES, default="", help="Run it on this many nodes: 1,2,4.")
@option("--cores LIST", type=SIZES, default="", help="Run it with this many ranks, on one node or on --spread: 1,2,4.")
@option(
    "--spread N", type=click.IntRange(min=1), default=1, help="Divide the ranks of --cores among up to this many nodes."
)
@option(
    "--ranks-per-node N",
    type=click.IntRange(min=0),
    default=0,
    help="Ranks of each node with --node-count.  [default: as the benchmark declares, else one for each core]",
)
@option("--nodes NODES", "-w", type=NODES, help="Take these nodes: n[1-4].")
@option("--repeat N", type=click.IntRange(min=1, max=MOST_REPETITIONS), default=1, help="How often each size is run.")
@option("--own", is_flag=True, help="Also run it on each node alone, for the sum of the nodes' own rates.")
@parameter_option
@program_option
@case_option
@scratch_option
@prepare_option
@option("--metric NAME", help="Which number makes the curve.  [default: the benchmark's main one]")
@option("--weak", is_flag=True, help="Weak scaling: the work grows with the size.")
@option("--dry-run", is_flag=True, help="Print the runs in their order; start nothing.")
@output_options("html", "markdown", "plot")
@site_options(without=("replay", "round_timeout", "verify"), budget=time_text(RUN_BUDGET_S))
def scale(
    site: SiteSettings,
    benchmark: str,
    nodes: tuple[str, ...],
    parameter: tuple[tuple[str, str], ...],
    dry_run: bool,
    output: OutputForms,
    **given: Any,
) -> int:
    """Run a benchmark at several sizes and judge the curve: efficiency, and whether all did the same work."""
    wanted = scale_series.ScaleOptions(seed=site.seed, **part_of(given, scale_series.ScaleOptions))
    declared, text = definition.benchmark_and_text(benchmark)
    settings = RunSettings(
        site=replace(site, nodes=nodes),
        definition=text,
        parameters=dict(parameter),
        **{**part_of(given, RunSettings), "benchmark": benchmark},
    )
    return _measure(settings, declared, wanted, given["metric"], output, dry_run=dry_run)


def _measure(
    settings: RunSettings,
    benchmark: "Benchmark",
    wanted: "scale_series.ScaleOptions",
    metric: str,
    output: OutputForms,
    *,
    dry_run: bool,
) -> int:
    """Run all points and judge their curves. Raises SeatrialError with the first reason where no point was run."""
    scale_points.metric_of(benchmark, metric)
    with progress_on() as progress:
        preview = scale_run.prepared(settings, benchmark, wanted, progress)
        if dry_run:
            report = comparison_view.preview_report(preview.name, preview.planned, preview.node_hours)
            return output.show(report)
        series = scale_run.carried_out(preview, settings, benchmark, progress)
    curves = scale_measured.curves_of(benchmark, metric, series, weak=wanted.weak)
    judged = [scale_judge.judge_curve(curve, weak=wanted.weak) for curve in curves]
    judged = [item for item in judged if item.points]
    return output.show(scale_view.scale_report(judged, series))


@click.group(cls=CommandGroup)
def bench() -> None:
    """Run a benchmark, a scaling series or a site's list of benchmarks, and judge the outputs."""


@bench.command("list")
@output_options()
def list_benchmarks(output: OutputForms) -> int:
    """List the benchmarks whose outputs are read."""
    return output.show(benchmarks_view.list_report(catalogue.BENCHMARKS))


@bench.command("show")
@argument("name", help="A benchmark, or the TOML file of your own.", metavar="NAME")
@output_options()
def show(name: str, output: OutputForms) -> int:
    """Show what a benchmark declares: requirements, metrics, evidence of work, gates, and signs of completeness."""
    return output.show(benchmarks_view.benchmark_report(definition.benchmark_of(name)))


bench.add_command(run)
bench.add_command(scale)


@bench.command("accept", cls=SiteCommand)
@argument("file", type=PATH, help="The list of benchmarks in TOML.", metavar="SPEC")
@output_options("html", "markdown", "junit", "plot")
@site_options(without=("replay", "round_timeout", "seed", "verify"), budget=time_text(RUN_BUDGET_S))
def accept(site: SiteSettings, file: Path, output: OutputForms) -> int:
    """Run all benchmarks of a file that have no complete run yet, and judge all by gates and thresholds."""
    spec = acceptance_judge.parse_spec(read_text(file, SCENARIO_BYTES), str(file))
    with progress_on() as progress:
        result = acceptance_run.carried_out(spec, file.absolute().parent, site, progress)
    return output.show(acceptance_view.acceptance_report(result))
