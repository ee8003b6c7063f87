"""seatrial benchmarks: which benchmarks are known, and what each declares."""

import click

from seatrial.benchmarks import catalogue
from seatrial.cli.groups import Group
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument
from seatrial.commands.benchmarks import view as benchmarks_view
from seatrial.driver.benchmark import definition


@click.group(cls=Group)
def benchmarks() -> None:
    """Known benchmarks: metrics, evidence of work, gates."""


@benchmarks.command("list")
@output_options()
def list_benchmarks(output: OutputForms) -> int:
    """List the benchmarks whose outputs are read."""

    return output.show(benchmarks_view.list_report(catalogue.BENCHMARKS))


@benchmarks.command("show")
@argument("name", help="A benchmark, or the TOML file of your own.", metavar="NAME")
@output_options()
def show(name: str, output: OutputForms) -> int:
    """Show what a benchmark declares: requirements, metrics, evidence of work, gates, and signs of completeness."""

    return output.show(benchmarks_view.benchmark_report(definition.benchmark_of(name)))
