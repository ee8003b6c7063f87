"""seatrial acceptance: a site's list of benchmarks, run and compared with thresholds."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.archive import reader
from seatrial.archive.inputs import SCENARIO_BYTES
from seatrial.cli.benchmarks import benchmark_and_text, declared_in
from seatrial.cli.options import AsJson, Html, Junit, Markdown, parse_nodes, read_text, time_text
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.acceptance import judge as acceptance_judge
from seatrial.commands.acceptance import spec as acceptance_spec
from seatrial.commands.acceptance import view as acceptance_view
from seatrial.commands.run import judge as run_judge
from seatrial.commands.run import run as run_run
from seatrial.driver import node_selection
from seatrial.model.errors import NoRun, SeatrialError, UsageError
from seatrial.model.run import Ending
from seatrial.model.settings import RUN_BUDGET_S, RunSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.commands.acceptance.judge import Acceptance, Attempt, ItemResult
    from seatrial.commands.acceptance.spec import Item, Spec
    from seatrial.driver.progress import Progress
    from seatrial.model.benchmark import Output
    from seatrial.model.run import RecordedRun

SHARED = Shared(without=("replay", "round_timeout", "seed", "verify"), defaults={"budget": time_text(RUN_BUDGET_S)})
app = typer.Typer(help="Run a site's list of benchmarks and compare them with thresholds.", no_args_is_help=True)
SECONDS = 3600.0


@app.command("run", cls=SHARED.command_class())
def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The list of benchmarks in TOML.", metavar="SPEC")],
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
) -> int:
    """Run all benchmarks of a file that have no complete run yet, and judge all by gates and thresholds."""
    site = settings_of(context)
    spec = acceptance_spec.parse_spec(read_text(file, SCENARIO_BYTES), str(file))
    with progress_on(sys.stderr) as progress:
        result = carried_out(spec, file.absolute().parent, site, progress)
    files = Files(html=html, markdown=markdown, junit=junit)
    return show(acceptance_view.acceptance_report(result), as_json=as_json, files=files)


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
            attempt = recorded_attempt(site.archive, name, settings)
            if attempt is None:
                left = beyond(spec, used, settings)
                if left:
                    break
                progress.stage(f"{item.name}, run {number} of {item.repetitions}")
                try:
                    attempt = new_attempt(name, settings, benchmark, progress)
                except SeatrialError as error:
                    left = str(error)
                    break
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
            raise UsageError(f"{item.name}: {benchmark.name} has no metric {threshold.metric!r}.", "Correct the file.")
    return settings, benchmark


def beyond(spec: "Spec", used: float, settings: RunSettings) -> str:
    """Why the next run would not stay within the node-hours; empty: it would."""
    nodes = settings.node_count or len(settings.site.nodes) or 1
    most = node_selection.node_hours_of(nodes, settings.site.budget_s / 2)
    if not spec.node_hours or used + most <= spec.node_hours:
        return ""
    return (
        f"{used:.3g} of {spec.node_hours:g} node-hours are used, and the next run may take {most:.3g}: "
        "give a shorter --budget, or more node_hours"
    )


def recorded_attempt(archive: Path, name: str, settings: RunSettings) -> "Attempt | None":
    """The run of that name if it came to its end; None: it has to be run.

    Raises UsageError where it was made with other settings.
    """
    for folder in attempts_of(archive, name):
        recorded = reader.read_run(folder)
        made = recorded.info.settings
        if recorded.info.ending is not Ending.COMPLETE or recorded.damage or not isinstance(made, RunSettings):
            continue
        same = (made.definition, made.parameters, made.ranks, made.node_count, made.case) == (
            settings.definition, settings.parameters, settings.ranks, settings.node_count, settings.case
        )  # fmt: skip
        if not same:
            raise UsageError(
                f"The run {folder.name} was made with other settings than the file has now.",
                "Give the acceptance another name, with --run.",
            )
        return replace(judged(recorded, declared_in(recorded.info)), earlier=True)
    return None


def attempts_of(archive: Path, name: str) -> "Sequence[Path]":
    """Closed runs of that name: an interrupted one is followed by NAME.2, NAME.3."""
    if not archive.is_dir():
        return ()
    own = [path for path in archive.iterdir() if path.name == name or path.name.startswith(f"{name}.")]
    return sorted(path for path in own if reader.has_run_file(path) and not path.name.endswith(".partial"))


def new_attempt(name: str, settings: RunSettings, benchmark: "Benchmark", progress: "Progress") -> "Attempt":
    """Run it now, under the first name that is free. Raises SeatrialError; KeyboardInterrupt after it was closed."""
    archive = settings.site.archive
    taken = {path.name.removesuffix(".partial") for path in archive.iterdir()} if archive.is_dir() else set()
    names = [name, *(f"{name}.{number}" for number in range(2, 1000))]
    free = next(word for word in names if word not in taken)
    outcome = run_run.run_benchmark(replace(settings, site=replace(settings.site, run=free)), benchmark, progress)
    if outcome.recorded.info.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    return judged(outcome.recorded, benchmark)


def judged(recorded: "RecordedRun", benchmark: "Benchmark") -> "Attempt":
    """A run as the acceptance sees it."""
    result = run_judge.judge_run(recorded, benchmark)
    info = recorded.info
    try:
        took_s = (datetime.fromisoformat(info.ended) - datetime.fromisoformat(info.started)).total_seconds()
    except ValueError:
        took_s = sum(step.seconds for step in recorded.steps)
    return acceptance_judge.Attempt(
        run=info.run,
        output=result.output,
        limits=result.limits,
        failure=result.failure,
        node_hours=len(info.nodes) * took_s / SECONDS,
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
