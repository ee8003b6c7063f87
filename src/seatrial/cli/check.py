"""seatrial check: the main job."""

import sys
from typing import Annotated

import typer

from seatrial.cli.options import (
    Archive,
    AsJson,
    EnvironmentSpec,
    FabricDevice,
    FabricFile,
    Html,
    LauncherName,
    Mpicc,
    MpiType,
    Partition,
    Probe,
    ProbeDir,
    Replay,
    RoundTimeout,
    RoutesFile,
    RunName,
    Seed,
    Wait,
    Wrap,
    archive_folder,
    file_or_live,
    run_name,
    seconds,
)
from seatrial.model.errors import UsageError


def check(
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    partition: Partition = "",
    budget: Annotated[str, typer.Option(help="Time to measure in: 90s, 10m, 1h.", metavar="TIME")] = "10m",
    design: Annotated[str, typer.Option(help="Which pairs: auto, complete, sparse or leaf.", metavar="NAME")] = "auto",
    archive: Archive = None,
    as_json: AsJson = False,
    html: Html = None,
    launcher: LauncherName = "auto",
    ranks: Annotated[int, typer.Option(help="Ranks where there is no Slurm.", min=2, max=512)] = 2,
    mpi: MpiType = "",
    mpicc: Mpicc = "",
    probe: Probe = None,
    probe_dir: ProbeDir = None,
    fabric: FabricFile = "",
    routes: RoutesFile = "",
    device: FabricDevice = "",
    environment: EnvironmentSpec = "",
    wrap: Wrap = "auto",
    pairs_at_once: Annotated[
        int, typer.Option(help="Pairs measured at once.  [default: half the nodes, one on a shared kernel]", min=0)
    ] = 0,
    round_timeout: RoundTimeout = "20s",
    wait: Wait = "10m",
    idle_only: Annotated[
        bool, typer.Option("--idle-only", help="Only nodes that are free now; never stand in the queue.")
    ] = False,
    node_hours: Annotated[
        float,
        typer.Option(help="Cost at most so many: fewer nodes or less time.  [default: no limit]", min=0, metavar="N"),
    ] = 0.0,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it to the queue; collect by `runs collect`.")] = False,
    replay: Replay = "",
    run: RunName = "",
    seed: Seed = 1,
) -> int:
    """Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault."""
    from seatrial.archive.reader import find_run
    from seatrial.cli.outcome import show
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.check import run_check
    from seatrial.experiment.detached import submit_check
    from seatrial.experiment.settings import CheckSettings

    folder = archive_folder(archive)
    name = run_name(run)
    settings = CheckSettings(
        archive=folder,
        launcher=launcher,
        nodes=parse_nodes(nodes),
        partition=partition,
        budget_s=seconds(budget, "--budget"),
        design=design,
        wait_s=seconds(wait, "--wait"),
        idle_only=idle_only,
        node_hours=node_hours,
        round_timeout_s=seconds(round_timeout, "--round-timeout"),
        pairs_at_once=pairs_at_once,
        ranks=ranks,
        mpi=mpi,
        mpicc=mpicc,
        probe=probe,
        probe_dir=probe_dir,
        fabric=file_or_live(fabric),
        routes=file_or_live(routes),
        device=device,
        environment=environment,
        wrap=wrap,
        replay=find_run(folder, replay) if replay else None,
        run=name,
        seed=seed,
        command=tuple(sys.argv[1:]),
    )
    if detach:
        if idle_only:
            raise UsageError("--idle-only does not stand in the queue, and --detach does.", "Give one of both.")
        submitted = submit_check(settings)
        if submitted.cut:
            print(submitted.cut)
        print(f"Job {submitted.job} will measure; `seatrial runs collect {submitted.run}` says how it went.")
        return 0
    with progress_on(sys.stderr) as progress:
        outcome = run_check(settings, progress)
    return show(outcome.folder, outcome.recorded, outcome.judgement, as_json=as_json, html=html)


def parse_nodes(text: str, what: str = "--nodes") -> tuple[str, ...]:
    """n[1-3],n7 -> its nodes. `what`: the option that gave them. Raises UsageError that shows the text."""
    if not text:
        return ()
    from seatrial.launch.slurm_argv import expand

    try:
        nodes = expand(text)
    except ValueError as error:
        raise UsageError(f"{what} {text!r} is no list of nodes: {error}.", "Write n[1-4] or n1,n3.") from error
    if not nodes:
        raise UsageError(f"{what} {text!r} names no node.", "Write n[1-4] or n1,n3.")
    return nodes
