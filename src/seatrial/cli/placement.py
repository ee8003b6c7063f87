"""seatrial placement: where the ranks of a launch line really run, and where they should."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.options import (
    Archive,
    AsJson,
    Mpicc,
    Probe,
    ProbeDir,
    RoundTimeout,
    RunName,
    Seed,
    Wait,
    archive_folder,
    run_name,
    seconds,
)

if TYPE_CHECKING:
    from seatrial.diagnosis.placement.judge import Placement
    from seatrial.model.run import RunInfo


def placement(
    line: Annotated[
        list[str], typer.Argument(help="A launch line, after --: srun -n 4 ./app.", metavar="-- LAUNCH LINE...")
    ],
    program: Annotated[
        str, typer.Option(help="The word of the line that is the program, where options hide it.", metavar="WORD")
    ] = "",
    starts: Annotated[
        int, typer.Option(help="Launches of each placement; 0: look only.", min=0, max=100, metavar="N")
    ] = 6,
    budget: Annotated[str, typer.Option(help="Time to measure in: 90s, 10m, 1h.", metavar="TIME")] = "5m",
    archive: Archive = None,
    as_json: AsJson = False,
    mpicc: Mpicc = "",
    probe: Probe = None,
    probe_dir: ProbeDir = None,
    round_timeout: RoundTimeout = "20s",
    wait: Wait = "10m",
    run: RunName = "",
    seed: Seed = 1,
) -> int:
    """Start a launch line with the probe in place of its program: where its ranks are, and what would be better."""
    from seatrial.cli.progress import progress_on
    from seatrial.experiment.placement import PlacementSettings, run_placement
    from seatrial.experiment.settings import CheckSettings

    site = CheckSettings(
        archive=archive_folder(archive),
        budget_s=seconds(budget, "--budget"),
        wait_s=seconds(wait, "--wait"),
        round_timeout_s=seconds(round_timeout, "--round-timeout"),
        mpicc=mpicc,
        probe=probe,
        probe_dir=probe_dir,
        run=run_name(run),
        seed=seed,
    )
    settings = PlacementSettings(site=site, words=tuple(line), program=program, starts=starts)
    with progress_on(sys.stderr) as progress:
        found = run_placement(settings, progress)
    return show_placement(found.folder, found.recorded.info, found.placement, as_json=as_json)


def show_placement(folder: Path, info: "RunInfo", found: "Placement", *, as_json: bool) -> int:
    """Print, and return the exit code."""
    from seatrial.cli.outcome import tell
    from seatrial.report.placement_json import placement_as_json
    from seatrial.report.placement_text import placement_as_text

    return tell(
        folder,
        found.exit_code,
        json=partial(placement_as_json, info, found),
        text=partial(placement_as_text, found),
        as_json=as_json,
    )
