"""seatrial bench: which benchmarks are known, and how they are run: one, a scaling series, a site's list."""

from pathlib import Path

import click

from seatrial.benchmarks import catalogue
from seatrial.cli.bench_run import run
from seatrial.cli.bench_scale import scale
from seatrial.cli.options import PATH, read_text, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, argument
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.acceptance import run as acceptance_run
from seatrial.commands.acceptance import spec as acceptance_spec
from seatrial.commands.acceptance import view as acceptance_view
from seatrial.commands.benchmarks import view as benchmarks_view
from seatrial.driver.benchmark import definition
from seatrial.files.inputs import SCENARIO_BYTES
from seatrial.model.settings import RUN_BUDGET_S, SiteSettings


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
    spec = acceptance_spec.parse_spec(read_text(file, SCENARIO_BYTES), str(file))
    with progress_on() as progress:
        result = acceptance_run.carried_out(spec, file.absolute().parent, site, progress)
    return output.show(acceptance_view.acceptance_report(result))
