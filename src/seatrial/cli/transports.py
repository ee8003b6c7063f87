"""seatrial transports: which transport carries the messages, proved by taking it away."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.options import (
    Archive,
    AsJson,
    EnvironmentSpec,
    LauncherName,
    Mpicc,
    MpiType,
    Partition,
    Probe,
    ProbeDir,
    Replay,
    RoundTimeout,
    RunName,
    Seed,
    Wait,
    Wrap,
    archive_folder,
    run_name,
    seconds,
)

if TYPE_CHECKING:
    from seatrial.diagnosis.transports.judged import Transports


def transports(
    nodes: Annotated[str, typer.Option(help="Between which two: A,B.  [default: the only two]", metavar="A,B")] = "",
    within: Annotated[str, typer.Option(help="Between two ranks of this node instead.", metavar="NODE")] = "",
    starts: Annotated[int, typer.Option(help="Starts of the probe under each variant.", min=3, max=100)] = 4,
    budget: Annotated[str, typer.Option(help="Time to measure in: 90s, 10m, 1h.", metavar="TIME")] = "5m",
    archive: Archive = None,
    as_json: AsJson = False,
    launcher: LauncherName = "auto",
    partition: Partition = "",
    mpi: MpiType = "",
    mpicc: Mpicc = "",
    probe: Probe = None,
    probe_dir: ProbeDir = None,
    environment: EnvironmentSpec = "",
    wrap: Wrap = "auto",
    round_timeout: RoundTimeout = "20s",
    wait: Wait = "10m",
    replay: Replay = "",
    run: RunName = "",
    seed: Seed = 1,
) -> int:
    """Find out which transport carries the data: take each away, slow it, force it, and see what changes."""
    from seatrial.archive.reader import find_run
    from seatrial.cli.check import parse_nodes
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.settings import CheckSettings
    from seatrial.experiment.transports import TransportsSettings, run_transports

    folder = archive_folder(archive)
    ends = parse_nodes(nodes)
    site = CheckSettings(
        archive=folder,
        launcher=launcher,
        nodes=ends or ((within,) if within else ()),
        partition=partition,
        budget_s=seconds(budget, "--budget"),
        wait_s=seconds(wait, "--wait"),
        round_timeout_s=seconds(round_timeout, "--round-timeout"),
        mpi=mpi,
        mpicc=mpicc,
        probe=probe,
        probe_dir=probe_dir,
        environment=environment,
        wrap=wrap,
        replay=find_run(folder, replay) if replay else None,
        run=run_name(run),
        seed=seed,
        command=tuple(sys.argv[1:]),
    )
    settings = TransportsSettings(site=site, ends=ends, within=within, starts=starts)
    with progress_on(sys.stderr) as progress:
        outcome = run_transports(settings, progress)
    return show_transports(outcome.folder, outcome.run, outcome.found, as_json=as_json)


def show_transports(folder: Path, run: str, found: "Transports", *, as_json: bool) -> int:
    """Print, and return the exit code."""
    from seatrial.cli.outcome import tell
    from seatrial.report.transports_json import transports_as_json
    from seatrial.report.transports_text import transports_as_text

    return tell(
        folder,
        found.exit_code,
        json=partial(transports_as_json, run, found),
        text=partial(transports_as_text, found),
        as_json=as_json,
    )
