"""Carries out the runs of a scaling curve, one after the other, each in the archive by itself."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from seatrial.benchmarks.declaration import Benchmark
from seatrial.commands.scale import series as scale_series
from seatrial.commands.scale.measured import MeasuredPoint, ScaleSeries
from seatrial.commands.scale.series import CurvePlace, Planned, ScaleOptions
from seatrial.driver import clock, node_selection, site
from seatrial.driver.benchmark import nodes as benchmark_nodes
from seatrial.driver.benchmark import run as benchmark_run
from seatrial.driver.benchmark import series as benchmark_series
from seatrial.driver.progress import Progress
from seatrial.judgement.benchmark_result import RunResult
from seatrial.launch.contract import Hosts
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.run import RecordedRun
from seatrial.model.settings import RunSettings
from seatrial.model.words import count, verb

INTERRUPTED = "interrupted"
MOST_FAILURES = 2
"""Different points that fail before any succeeds: then all would."""


class ScalePreview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be run, in order."""

    name: str
    planned: tuple[Planned, ...]
    node_hours: float
    """Node-hours at most."""


def prepared(settings: RunSettings, benchmark: Benchmark, wanted: ScaleOptions, progress: Progress) -> ScalePreview:
    """Nodes and order of all runs. Raises UsageError for what the benchmark cannot do, SeatrialError for nodes."""
    benchmark_run.launch_of(benchmark, settings)
    scale_series.check(benchmark, wanted, settings.parameters)
    progress.stage("Looking for nodes")
    launcher = site.choose_launcher(replace(settings.site, ranks=max(1, *wanted.cores, wanted.ranks_per_node)))
    chosen = _nodes(launcher.hosts(), wanted)
    planned = scale_series.in_order(scale_series.places_of(wanted, chosen), wanted)
    for item in planned:
        scale_series.grown_parameters(benchmark, settings.parameters, item.grown)
    free = launcher.job or not chosen or launcher.name == "ssh"
    hours = sum(
        node_selection.node_hours_of(len(item.place.nodes), settings.site.budget_s / 2) for item in planned if not free
    )
    name = settings.site.run or clock.new_run_name(f"scale-{benchmark.name}")
    return ScalePreview(name=name, planned=planned, node_hours=hours)


def _nodes(hosts: Hosts, wanted: ScaleOptions) -> tuple[str, ...]:
    """The nodes of the largest point; nothing where all ranks are on this machine. Raises where there are too few."""
    if benchmark_nodes.by_places(hosts.nodes):
        if wanted.node_counts or wanted.spread > 1:
            raise UsageError("There are no nodes here, only this machine.", "Give --cores 1,2,4.")
        return ()
    if len(hosts.nodes) < wanted.most_nodes:
        why = node_selection.grouped(hosts.left_out)
        raise SeatrialError(
            f"{count(wanted.most_nodes, 'node')} {verb(wanted.most_nodes)} needed, and {len(hosts.nodes)} can be used"
            f"{f' ({why})' if why else ''}.",
            "Give a smaller --node-count, or name others with --nodes.",
        )
    return hosts.nodes[: wanted.most_nodes]


def carried_out(preview: ScalePreview, settings: RunSettings, benchmark: Benchmark, progress: Progress) -> ScaleSeries:
    """All runs that are not in the archive yet. What cannot be run, and Ctrl-C, leave a series with what was measured.

    Raises UsageError where a run of that name was made with other settings.
    """
    runs: list[MeasuredPoint] = []
    left: dict[str, str] = {}
    used = 0.0
    for number, item in enumerate(preview.planned, 1):
        name = item.name(preview.name)
        own = settings_of(settings, benchmark, item, preview.planned)
        kept = benchmark_series.kept_run(settings.site.archive, name, own, benchmark)
        if kept is None:
            if item.place.label in left or (not runs and len(left) >= MOST_FAILURES):
                continue
            nodes = len(item.place.nodes) or 1
            if why := benchmark_series.beyond(settings.site.node_hours, used, own, nodes):
                left[item.place.label] = f"{name}: {why}"
                continue
            progress.stage(f"{name}, run {number} of {len(preview.planned)}")
            try:
                made = benchmark_series.new_run(name, own, benchmark, progress)
            except SeatrialError as error:
                left[item.place.label] = f"{name}: {error}"
                continue
            except KeyboardInterrupt:
                left[INTERRUPTED] = f"{name} was interrupted. {continuation(preview)}"
                break
        run = measured(own, benchmark, item.place, *(kept or made), earlier=kept is not None)
        used += run.node_hours
        result = (kept or made)[1]
        if result.failure or not result.output.complete:
            left[item.place.label] = f"{run.run}: {result.failure or result.output.missing[0]}"
        else:
            runs.append(run)
    reasons = tuple(left.values())
    if reasons and INTERRUPTED not in left:
        reasons = (*reasons, continuation(preview))
    return ScaleSeries(name=preview.name, runs=tuple(runs), left=reasons, planned=len(preview.planned), node_hours=used)


def continuation(preview: ScalePreview) -> str:
    """How the rest is measured later, on the same nodes."""
    largest = max((item.place.nodes for item in preview.planned), key=len)
    where = f" --nodes {node_list(largest)}" if largest else ""
    return f"The same command with --run {preview.name}{where} measures what is missing."


def settings_of(settings: RunSettings, benchmark: Benchmark, item: Planned, planned: Sequence[Planned]) -> RunSettings:
    """How `seatrial bench run` carries out this point. The node-hours of the series are not those of a run."""
    return replace(
        settings,
        site=replace(settings.site, nodes=item.place.nodes, node_hours=0.0, run=""),
        node_count=len(item.place.nodes),
        ranks=item.place.ranks,
        largest_nodes=max(len(other.place.nodes) for other in planned),
        parameters=scale_series.grown_parameters(benchmark, settings.parameters, item.grown),
    )


def measured(
    settings: RunSettings,
    benchmark: Benchmark,
    place: CurvePlace,
    recorded: RecordedRun,
    result: RunResult,
    *,
    earlier: bool,
) -> MeasuredPoint:
    """A run as its curve sees it."""
    launch = benchmark_run.launch_of(benchmark, settings)
    per_node = benchmark_nodes.ranks_per_node(settings, launch, recorded.info.nodes, recorded.facts)
    on_machine = benchmark_nodes.by_places(recorded.info.nodes)
    return MeasuredPoint(
        run=recorded.info.run,
        place=place,
        ranks=per_node if on_machine else per_node * len(recorded.info.nodes),
        output=result.output,
        inputs=recorded.plan.inputs if recorded.plan else "",
        node_hours=benchmark_series.node_hours_of(recorded),
        earlier=earlier,
    )
