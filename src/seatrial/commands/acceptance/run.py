"""Carries out the benchmarks of an acceptance, one after the other; what the archive has is not repeated."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.archive import reader
from seatrial.archive.run_values import judged_benchmark
from seatrial.commands.acceptance import judge as acceptance_judge
from seatrial.driver.benchmark import definition
from seatrial.driver.benchmark import run as benchmark_run
from seatrial.driver.benchmark import series as benchmark_series
from seatrial.model.errors import NoRun, SeatrialError, UsageError
from seatrial.model.node_list import parse_nodes
from seatrial.model.settings import RunSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.commands.acceptance.judge import Acceptance, Attempt, Item, ItemResult, Spec
    from seatrial.driver.progress import Progress
    from seatrial.judgement.benchmark_result import RunResult
    from seatrial.model.benchmark import Output
    from seatrial.model.run import RecordedRun


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
            kept = benchmark_series.kept_run(site.archive, name, settings, benchmark)
            if kept is None:
                nodes = (
                    settings.node_count
                    or len(settings.site.nodes)
                    or benchmark_run.launch_of(benchmark, settings).nodes
                )
                left = benchmark_series.beyond(spec.node_hours, used, settings, nodes)
                if left:
                    break
                progress.stage(f"{item.name}, run {number} of {item.repetitions}")
                try:
                    attempt = attempt_of(*benchmark_series.new_run(name, settings, benchmark, progress))
                except SeatrialError as error:
                    left = str(error)
                    break
            else:
                attempt = attempt_of(*kept, earlier=True)
            attempts.append(attempt)
            used += attempt.node_hours
        baselines = baselines_of(item, site.archive)
        results.append(acceptance_judge.judge_item(item, benchmark, attempts, baselines, left))
    return acceptance_judge.judge_acceptance(spec, results)


def settings_for(item: "Item", folder: Path, site: SiteSettings) -> "tuple[RunSettings, Benchmark]":
    """How `seatrial bench run` would carry it out. Raises UsageError."""
    name = str(folder / item.benchmark) if item.benchmark.endswith(".toml") else item.benchmark
    benchmark, text = definition.benchmark_and_text(name)
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
    benchmark_run.launch_of(benchmark, settings)
    metrics = {metric.name for metric in benchmark.metrics}
    for threshold in item.threshold:
        if threshold.metric not in metrics:
            raise UsageError(
                f"{item.name}: {benchmark.name} has no metric {threshold.metric!r}.",
                f"It has {', '.join(sorted(metrics))}.",
            )
    return settings, benchmark


def attempt_of(recorded: "RecordedRun", result: "RunResult", *, earlier: bool = False) -> "Attempt":
    """A run as the acceptance sees it."""
    info = recorded.info
    return acceptance_judge.Attempt(
        run=info.run,
        output=result.output,
        limits=result.limits,
        failure=result.failure,
        node_hours=benchmark_series.node_hours_of(recorded),
        earlier=earlier,
    )


def baselines_of(item: "Item", archive: Path) -> "dict[str, Output]":
    """The outputs of the runs that thresholds name; those that are missing are left out."""
    outputs = {}
    for name in {threshold.baseline for threshold in item.threshold if threshold.baseline}:
        try:
            folder = reader.find_run(archive, name)
        except NoRun:
            continue
        outputs[name] = judged_benchmark(folder).output
    return outputs
