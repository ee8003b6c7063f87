"""seatrial acceptance: a site's list of benchmarks, run and compared with thresholds."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from seatrial.archive import reader
from seatrial.archive.inputs import SCENARIO_BYTES
from seatrial.cli import benchmark_runs
from seatrial.cli.benchmarks import benchmark_and_text, declared_in
from seatrial.cli.groups import Group
from seatrial.cli.options import PATH, parse_nodes, read_text, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.acceptance import judge as acceptance_judge
from seatrial.commands.acceptance import spec as acceptance_spec
from seatrial.commands.acceptance import view as acceptance_view
from seatrial.commands.run import judge as run_judge
from seatrial.commands.run import run as run_run
from seatrial.model.errors import NoRun, SeatrialError, UsageError
from seatrial.model.settings import RUN_BUDGET_S, RunSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.commands.acceptance.judge import Acceptance, Attempt, ItemResult
    from seatrial.commands.acceptance.spec import Item, Spec
    from seatrial.commands.run.judge import RunResult
    from seatrial.driver.progress import Progress
    from seatrial.model.benchmark import Output
    from seatrial.model.run import RecordedRun


@click.group(cls=Group)
def acceptance() -> None:
    """Run a site's list of benchmarks and compare them with thresholds."""


@acceptance.command("run", cls=SiteCommand)
@argument("file", type=PATH, help="The list of benchmarks in TOML.", metavar="SPEC")
@output_options("html", "markdown", "junit")
@site_options(without=("replay", "round_timeout", "seed", "verify"), budget=time_text(RUN_BUDGET_S))
def run(site: SiteSettings, file: Path, output: OutputForms) -> int:
    """Run all benchmarks of a file that have no complete run yet, and judge all by gates and thresholds."""
    spec = acceptance_spec.parse_spec(read_text(file, SCENARIO_BYTES), str(file))
    with progress_on(sys.stderr) as progress:
        result = carried_out(spec, file.absolute().parent, site, progress)
    return output.show(acceptance_view.acceptance_report(result))


def carried_out(spec: "Spec", folder: Path, site: SiteSettings, progress: "Progress") -> "Acceptance":
    """All benchmarks in their order. Paths in the file are relative to `folder`. Raises UsageError.

    A benchmark that cannot be run becomes part of the result; Ctrl-C ends all, and what was run stays in the archive.
    """
    prepared = [(item, *settings_for(item, folder, site)) for item in spec.benchmark]
    results: list[ItemResult] = []
    used = 0.0
    for item, settings, benchmark in prepared:
        attempts: list[Attempt] = []
        left = ""
        for number in range(1, item.repetitions + 1):
            name = f"{site.run or spec.name}-{item.name}-{number}"
            kept = benchmark_runs.kept_run(site.archive, name, settings, benchmark)
            if kept is None:
                nodes = settings.node_count or len(settings.site.nodes) or run_run.launch_of(benchmark, settings).nodes
                left = benchmark_runs.beyond(spec.node_hours, used, settings, nodes)
                if left:
                    break
                progress.stage(f"{item.name}, run {number} of {item.repetitions}")
                try:
                    attempt = judged(*benchmark_runs.new_run(name, settings, benchmark, progress))
                except SeatrialError as error:
                    left = str(error)
                    break
            else:
                attempt = judged(*kept, earlier=True)
            attempts.append(attempt)
            used += attempt.node_hours
        baselines = baselines_of(item, site.archive)
        results.append(acceptance_judge.judge_item(item, benchmark, attempts, baselines, left))
    return acceptance_judge.Acceptance(spec=spec, items=tuple(results))


def settings_for(item: "Item", folder: Path, site: SiteSettings) -> "tuple[RunSettings, Benchmark]":
    """How `seatrial run` would carry it out. Raises UsageError."""
    name = str(folder / item.benchmark) if item.benchmark.endswith(".toml") else item.benchmark
    benchmark, text = benchmark_and_text(name)
    settings = RunSettings(
        site=replace(site, nodes=parse_nodes(item.nodes, f"{item.name}: nodes")),
        benchmark=name,
        definition=text,
        program=item.program,
        node_count=item.node_count,
        ranks=item.ranks,
        parameters=item.set,
        case=folder / item.case if item.case else None,
    )
    run_run.launch_of(benchmark, settings)
    metrics = {metric.name for metric in benchmark.metrics}
    for threshold in item.threshold:
        if threshold.metric not in metrics:
            raise UsageError(
                f"{item.name}: {benchmark.name} has no metric {threshold.metric!r}.",
                f"It has {', '.join(sorted(metrics))}.",
            )
    return settings, benchmark


def judged(recorded: "RecordedRun", result: "RunResult", *, earlier: bool = False) -> "Attempt":
    """A run as the acceptance sees it."""
    info = recorded.info
    return acceptance_judge.Attempt(
        run=info.run,
        output=result.output,
        limits=result.limits,
        failure=result.failure,
        node_hours=benchmark_runs.node_hours_of(recorded),
        earlier=earlier,
    )


def baselines_of(item: "Item", archive: Path) -> "dict[str, Output]":
    """The outputs of the runs that thresholds name; those that are missing are left out."""
    outputs = {}
    for name in {threshold.baseline for threshold in item.threshold if threshold.baseline}:
        try:
            recorded = reader.read_run(reader.find_run(archive, name))
        except NoRun:
            continue
        outputs[name] = run_judge.judge_run(recorded, declared_in(recorded.info)).output
    return outputs
