"""Runs of benchmarks that belong together, by their names in the archive: what is there is not repeated."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.archive import contents, reader
from seatrial.driver import node_selection
from seatrial.driver.benchmark import run as benchmark_run
from seatrial.model.errors import UsageError
from seatrial.model.run import Ending
from seatrial.model.settings import RunSettings

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.driver.progress import Progress
    from seatrial.judgement.benchmark_result import RunResult
    from seatrial.model.run import RecordedRun

SECONDS = 3600.0


def kept_run(
    archive: Path, name: str, settings: RunSettings, benchmark: "Benchmark"
) -> "tuple[RecordedRun, RunResult] | None":
    """The run of that name whose output is complete; None: it has to be made.

    Raises UsageError where it was made with other settings.
    """
    for folder in attempts_of(archive, name):
        recorded = reader.read_run(folder)
        made = recorded.info.settings
        if recorded.info.ending is not Ending.COMPLETE or recorded.damage or not isinstance(made, RunSettings):
            continue
        differing = _differing(made, settings)
        if differing:
            raise UsageError(
                f"The run {folder.name} was made with other settings than now: {differing}.",
                "Use another name for the whole, with --run.",
            )
        result = benchmark_run.judged(recorded, benchmark)
        if result.output.complete and not result.failure:
            return recorded, result
    return None


def _differing(made: RunSettings, wanted: RunSettings) -> str:
    """The first setting that differs, with both values; empty: all that count are the same."""
    pairs = {
        "benchmark": (made.benchmark if not made.definition else "", wanted.benchmark if not wanted.definition else ""),
        "definition": (made.definition, wanted.definition),
        "parameters": (made.parameters, wanted.parameters),
        "prepare": (made.prepare, wanted.prepare),
        "program": (made.program, wanted.program),
        "ranks": (made.ranks, wanted.ranks),
        "node_count": (made.node_count, wanted.node_count),
        "nodes": (made.site.nodes, wanted.site.nodes),
        "environment": (made.site.environment, wanted.site.environment),
        "case": (made.case, wanted.case),
    }
    for name, (before, after) in pairs.items():
        if before != after:
            return "the file of the benchmark" if name == "definition" else f"{name} was {before}, and is {after}"
    return ""


def attempts_of(archive: Path, name: str) -> Sequence[Path]:
    """Closed runs of that name that are this user's: an interrupted one is followed by NAME.2, NAME.3."""
    named = contents.closed_as(archive, name, r"(\.\d{1,9})?")
    return contents.own_among([folder for folder in named if reader.has_run_file(folder)])


def new_run(
    name: str, settings: RunSettings, benchmark: "Benchmark", progress: "Progress"
) -> "tuple[RecordedRun, RunResult]":
    """Make it now, under the first name that is free. Raises SeatrialError; KeyboardInterrupt after it was closed."""
    archive = settings.site.archive
    taken = {path.name.removesuffix(".partial") for path in archive.iterdir()} if archive.is_dir() else set()
    names = itertools.chain([name], (f"{name}.{number}" for number in itertools.count(2)))
    free = next(word for word in names if word not in taken)
    outcome = benchmark_run.run_benchmark(replace(settings, site=replace(settings.site, run=free)), benchmark, progress)
    if outcome.recorded.info.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome.recorded, outcome.result


def beyond(limit_node_hours: float, used: float, settings: RunSettings, nodes: int) -> str:
    """Why the next run would not stay within the node-hours; empty: it would, or there is no limit."""
    most = node_selection.node_hours_of(nodes, settings.site.budget_s / 2)
    if not limit_node_hours or used + most <= limit_node_hours:
        return ""
    return (
        f"{used:.3g} of {limit_node_hours:g} node-hours are used, and the next run may take {most:.3g}: "
        "give a shorter --budget, or more node-hours"
    )


def node_hours_of(recorded: "RecordedRun") -> float:
    """Node-hours of the run, at least those of its programs: the end is recorded in whole seconds, the start is not."""
    took_s = max(recorded.info.seconds or 0.0, sum(step.seconds for step in recorded.steps))
    return len(recorded.info.nodes) * took_s / SECONDS
