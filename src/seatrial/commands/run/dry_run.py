"""seatrial bench run --dry-run: nodes, time, programs and inputs, as far as known before an allocation."""

import shlex

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.driver.benchmark.nodes import by_places, chosen_nodes, request_of, site_of
from seatrial.driver.benchmark.run import launch_of, programs_of
from seatrial.driver.benchmark.scratch import free_bytes, read_case
from seatrial.driver.facts_reading import read_here
from seatrial.driver.node_selection import node_hours_of, within_node_hours
from seatrial.driver.progress import Progress
from seatrial.driver.site import choose_launcher
from seatrial.model.benchmark import BenchmarkPlan
from seatrial.model.node_list import node_list
from seatrial.model.settings import RunSettings
from seatrial.render.report import Block, Copy, Lines, Report

HERE = "Memory and cores are those of this machine: those of the nodes are read when they are allocated."


class BenchmarkPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a benchmark would do; docs/run.md describes each field."""

    nodes: tuple[str, ...]
    ranks: int
    node_hours: float
    """Node-hours at most; 0: nothing is asked for."""
    plan: BenchmarkPlan


def preview(settings: RunSettings, benchmark: Benchmark, progress: Progress) -> BenchmarkPreview:
    """Choose nodes and make the plan as a run does, and start nothing. Errors as of `run_benchmark`."""
    launch = launch_of(benchmark, settings)
    site = site_of(settings, launch)
    progress.stage("Looking for nodes")
    launcher = choose_launcher(site)
    hosts = launcher.hosts()
    nodes = chosen_nodes(settings, launch, hosts)
    site, _, nodes, _ = within_node_hours(site, hosts, nodes, job=launcher.job, fewest=len(nodes))
    facts = next(iter(read_here(quick=True).facts.values()))
    existing = next(path for path in (site.archive.absolute(), *site.archive.absolute().parents) if path.is_dir())
    request = request_of(
        settings,
        launch,
        nodes,
        {nodes[0]: facts},
        program=settings.program or programs_of(launch, settings)[0],
        free_bytes=free_bytes(existing if settings.scratch is None else settings.scratch),
        case=read_case(settings.case),
    )
    free = launcher.job or by_places(nodes) or launcher.name == "ssh"
    return BenchmarkPreview(
        nodes=nodes,
        ranks=request.ranks,
        node_hours=0.0 if free else node_hours_of(len(nodes), site.budget_s / 2),
        plan=launch.plan(request),
    )


def preview_report(shown: BenchmarkPreview) -> Report:
    """Nodes, ranks, node-hours, programs and input files."""
    takes = f"at most {shown.node_hours:.2f} node-hours" if shown.node_hours else "no allocation"
    rows = [
        ("nodes", node_list(shown.nodes)),
        ("ranks", str(shown.ranks)),
        ("takes", takes),
        *(("plan", note) for note in shown.plan.notes),
        ("note", HERE),
    ]
    blocks: list[Block] = [
        Lines(rows=tuple(rows)),
        Copy(title="Programs", lines=tuple(shlex.join(step.argv) for step in shown.plan.steps)),
        *(Copy(title=name, lines=tuple(text.splitlines())) for name, text in shown.plan.files.items()),
    ]
    return Report(kind="dry-run", payload=lambda: shown, terminal=lambda _: tuple(blocks), page=lambda: tuple(blocks))
