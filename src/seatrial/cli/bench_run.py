"""seatrial bench run: a benchmark, its output judged and kept."""

from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import FOLDER, NAMED_VALUE, NODES, baseline_option, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, known_baseline, site_options
from seatrial.commands.run import dry_run as run_dry_run
from seatrial.commands.run import view as run_view
from seatrial.driver.benchmark import definition
from seatrial.driver.benchmark import run as benchmark_run
from seatrial.model.run import RunKind
from seatrial.model.settings import RUN_BUDGET_S, RunSettings, SiteSettings
from seatrial.model.words import shell_words

parameter_option = option(
    "--set NAME=VALUE",
    "parameter",
    type=NAMED_VALUE,
    multiple=True,
    help="A parameter; `bench show` lists them. May be repeated.",
)
program_option = option("--program FILE", help="The benchmark's program.  [default: the first on PATH]")
case_option = option("--case DIR", type=FOLDER, help="Folder with the input of the benchmark; it is copied.")
scratch_option = option(
    "--scratch DIR", type=FOLDER, help="Where it runs; all nodes must see it.  [default: in the archive]"
)
prepare_option = option(
    "--prepare COMMAND",
    type=Text(shell_words),
    default="",
    help="Run this command on each node before the programs of each run; no shell sees it.",
)


@click.command(cls=SiteCommand)
@argument("benchmark", help="The name of a benchmark, or the TOML file of your own.", metavar="BENCHMARK")
@option("--nodes NODES", "-w", type=NODES, help="On these nodes: n[1-4] or n1,n3.")
@option(
    "--node-count N",
    "-N",
    type=click.IntRange(min=0),
    default=0,
    help="On this many of them.  [default: all named ones, else as the benchmark declares]",
)
@option(
    "--ranks N",
    "-n",
    type=click.IntRange(min=0),
    default=0,
    help="Ranks on all nodes together.  [default: as the benchmark declares, else one for each core]",
)
@parameter_option
@program_option
@case_option
@scratch_option
@prepare_option
@baseline_option()
@option("--keep", is_flag=True, help="Leave the scratch folder as it is at the end.")
@option("--limit METRIC=VALUE", type=NAMED_VALUE, multiple=True, help="Most (of times: least) that a metric can be.")
@option("--dry-run", is_flag=True, help="Print nodes, programs and inputs; start nothing.")
@output_options("html", "markdown", "junit", "plot")
@site_options(without=("replay", "round_timeout", "seed", "verify"), budget=time_text(RUN_BUDGET_S))
def run(
    site: SiteSettings,
    benchmark: str,
    nodes: tuple[str, ...],
    parameter: tuple[tuple[str, str], ...],
    limit: tuple[tuple[str, str], ...],
    baseline: str,
    dry_run: bool,
    output: OutputForms,
    **given: Any,
) -> int:
    """Run a benchmark on the nodes, judge its output by evidence of work and gates, and keep it."""
    declared, text = definition.benchmark_and_text(benchmark)
    settings = RunSettings(
        site=replace(site, nodes=nodes),
        benchmark=benchmark,
        definition=text,
        parameters=dict(parameter),
        baseline=known_baseline(site, baseline, RunKind.RUN),
        limits=definition.limits_of(declared, limit),
        **given,
    )
    with progress_on() as progress:
        if dry_run:
            shown = run_dry_run.preview(settings, declared, progress)
            return output.show(run_dry_run.preview_report(shown))
        outcome = benchmark_run.run_benchmark(settings, declared, progress)
    report = run_view.run_report(outcome.recorded.info, outcome.result)
    return output.show(report, outcome.folder)
