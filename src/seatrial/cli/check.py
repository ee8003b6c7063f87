"""seatrial check: the main command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict, replace

from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import (
    AsJson,
    Baseline,
    FabricDevice,
    FabricFile,
    Html,
    Junit,
    Markdown,
    Nagios,
    RoutesFile,
    Storage,
    file_or_live,
    parse_nodes,
    share_of,
    time_text,
)
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, known_baseline, refuse_idle_only, settings_of
from seatrial.commands.check import dry_run as check_dry_run
from seatrial.commands.check import run as check_run
from seatrial.commands.check import view as check_view
from seatrial.driver import detached as driver_detached
from seatrial.driver import submitted as driver_submitted
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import DEFAULTS, OWN_JOB_ANSWER_S, CheckSettings

SHARED = Shared(defaults={"budget": time_text(DEFAULTS.budget_s)})


def check(
    context: typer.Context,
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    design: Annotated[
        str, typer.Option(help="Which pairs: auto, complete, sparse or leaf.", metavar="NAME")
    ] = DEFAULTS.design,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    nagios: Nagios = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Submit it as a Slurm job; collect with `runs collect`.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print nodes, time and node-hours; ask for nothing.")
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            help="Measure only N nodes, spread over the leaf switches.  [default: all]",
            min=0,
            metavar="N",
            show_default=False,
        ),
    ] = DEFAULTS.sample,
    one_per_leaf: Annotated[
        bool, typer.Option("--one-per-leaf", help="Measure one node of each leaf switch.")
    ] = DEFAULTS.one_per_leaf,
    ranks: Annotated[
        int, typer.Option(help="Number of ranks without Slurm.", min=2, max=512, metavar="N")
    ] = DEFAULTS.ranks,
    pairs_at_once: Annotated[
        int,
        typer.Option(
            help="Pairs measured at once.  [default: half the nodes, one on a shared kernel]",
            min=0,
            metavar="N",
            show_default=False,
        ),
    ] = DEFAULTS.pairs_at_once,
    no_loaded: Annotated[bool, typer.Option("--no-loaded", help="Leave out the rounds that load the uplinks.")] = False,
    no_nodes: Annotated[
        bool,
        typer.Option("--no-nodes", help="Leave out memory, arithmetic, noise and storage of each node."),
    ] = False,
    storage: Storage = None,
    fabric: FabricFile = "",
    routes: RoutesFile = "",
    device: FabricDevice = "",
    leaves: Annotated[
        str, typer.Option(help="Leaf switch of each node: a file with lines like `n[1-4] leaf1`.", metavar="FILE")
    ] = DEFAULTS.leaves,
    effect: Annotated[
        str, typer.Option(help="Smallest bandwidth loss that counts as a fault.  [default: 3 %]", metavar="SHARE")
    ] = "",
    latency_effect: Annotated[
        str,
        typer.Option(
            help="Smallest latency excess that counts as a fault.  [default: 10 % and 0.3 µs]", metavar="SHARE"
        ),
    ] = "",
    baseline: Baseline = "",
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings", help="Take all settings from a file that --detach wrote.", metavar="FILE", hidden=True
        ),
    ] = None,
) -> int:
    """Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault."""

    site = settings_of(context)
    files = Files(html=html, markdown=markdown, junit=junit)
    if settings_file is not None:
        settings = driver_submitted.read_settings(settings_file.absolute())
        files = Files(html=settings.html, markdown=settings.markdown, junit=settings.junit)
        return measure(settings, as_json=as_json, nagios=nagios, files=files)
    settings = CheckSettings(
        **{**asdict(site), "nodes": parse_nodes(nodes), "ranks": ranks},
        design=design,
        answer_s=None if detach else answer_time(context),
        sample=sample,
        one_per_leaf=one_per_leaf,
        pairs_at_once=pairs_at_once,
        loaded=not no_loaded,
        node_trials=not no_nodes,
        storage=storage and storage.absolute(),
        fabric=file_or_live(fabric),
        routes=file_or_live(routes),
        device=device,
        baseline=known_baseline(context, site.archive, baseline, RunKind.CHECK),
        leaves=str(Path(leaves).absolute()) if leaves else "",
        effect=share_of(effect, "--effect") if effect else None,
        latency_effect=share_of(latency_effect, "--latency-effect") if latency_effect else None,
    )
    if nagios and (dry_run or detach):
        raise UsageError("--nagios reports a check, and --dry-run and --detach have none.", "Leave one of them out.")
    if dry_run:
        with progress_on(sys.stderr) as progress:
            request = check_dry_run.plan_request(settings, progress)
        return show(check_dry_run.request_report(request), as_json=as_json, files=files)
    if detach:
        refuse_idle_only(site)
        later = {form: path and path.absolute() for form, path in asdict(files).items()}
        submitted = driver_detached.submit_check(replace(settings, **later))
        if as_json:
            JSON_OUTPUT.print_report(check_dry_run.submitted_report(submitted))
            return 0
        if submitted.cut:
            print(submitted.cut)
        print(f"Submitted job {submitted.job}; `seatrial runs collect {submitted.run}` shows its state and result.")
        return 0
    return measure(settings, as_json=as_json, nagios=nagios, files=files)


def answer_time(context: typer.Context) -> float:
    """The time until the answer of a check in one's own job; 0 where a budget is given, which then decides."""
    source = context.get_parameter_source("budget")
    given = source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")
    return 0.0 if given else OWN_JOB_ANSWER_S


def measure(settings: CheckSettings, *, as_json: bool, nagios: bool, files: Files) -> int:
    """Carry out the check here, print it, write the files, and return the exit code."""

    with progress_on(sys.stderr) as progress:
        outcome = check_run.run_check(settings, progress)
    recorded = outcome.recorded
    report = check_view.check_report(recorded.info, outcome.judgement, recorded.facts)
    return show(report, outcome.folder, as_json=as_json, nagios=nagios, files=files)
