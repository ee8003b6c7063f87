"""seatrial benchmarks: which benchmarks are known, and what each declares."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.archive.inputs import SCENARIO_BYTES
from seatrial.benchmarks import catalogue, generic
from seatrial.cli.groups import Group
from seatrial.cli.options import read_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument
from seatrial.commands.benchmarks import view as benchmarks_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import RunSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.model.run import RunInfo


@click.group(cls=Group)
def benchmarks() -> None:
    """Known benchmarks: metrics, evidence of work, gates."""


SUFFIX = ".toml"


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

    return output.show(benchmarks_view.benchmark_report(benchmark_of(name)))


def benchmark_of(name: str) -> "Benchmark":
    """A benchmark by its name, or by the TOML file that declares it. Raises UsageError."""
    return benchmark_and_text(name)[0]


def benchmark_and_text(name: str) -> "tuple[Benchmark, str]":
    """The same with the text of the file, empty for a known benchmark. Raises UsageError."""
    if not name.endswith(SUFFIX):
        return catalogue.benchmark_named(name), ""
    text = read_text(Path(name), SCENARIO_BYTES)
    return generic.generic_benchmark(text, name), text


def declared_in(info: "RunInfo") -> "Benchmark":
    """The benchmark of a recorded run, whose own file may be gone. Raises UsageError for one that is not known."""
    settings = info.settings
    if not isinstance(settings, RunSettings):
        raise UsageError(f"The run {info.run} does not say of which benchmark it is.", "Another version wrote it.")
    if settings.definition:
        return generic.generic_benchmark(settings.definition, settings.benchmark)
    return catalogue.benchmark_named(settings.benchmark)
