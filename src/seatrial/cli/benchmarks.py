"""seatrial benchmarks: which benchmarks are known, and what each declares."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.archive.inputs import SCENARIO_BYTES
from seatrial.benchmarks import catalogue, generic
from seatrial.cli.options import AsJson, read_text
from seatrial.cli.outcome import show as show_report
from seatrial.commands.benchmarks import view as benchmarks_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import RunSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.model.run import RunInfo

app = typer.Typer(
    help="Known benchmarks: metrics, evidence of work, gates.",
    no_args_is_help=True,
)
SUFFIX = ".toml"


@app.command("list")
def list_benchmarks(as_json: AsJson = False) -> int:
    """List the benchmarks whose outputs are read."""

    return show_report(benchmarks_view.list_report(catalogue.BENCHMARKS), as_json=as_json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A benchmark, or the TOML file of your own.", metavar="NAME")],
    as_json: AsJson = False,
) -> int:
    """Show what a benchmark declares: requirements, metrics, evidence of work, gates, and signs of completeness."""

    return show_report(benchmarks_view.benchmark_report(benchmark_of(name)), as_json=as_json)


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
