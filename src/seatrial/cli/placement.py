"""seatrial placement: where the ranks of a launch line really run, and where they should."""

import sys
from typing import Annotated

import typer

from seatrial.cli.options import AsJson, Html
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import JOB, Shared, settings_of
from seatrial.commands.placement import run as placement_run
from seatrial.commands.placement import view as placement_view
from seatrial.model.settings import PLACEMENT_STARTS, PlacementSettings

SHARED = Shared(without=("launcher", "partition", *JOB, "mpi", "start", "replay", "mpirun_options"))


def placement(
    context: typer.Context,
    line: Annotated[
        list[str], typer.Argument(help="A launch line, after --: srun -n 4 ./app.", metavar="-- LAUNCH LINE...")
    ],
    program: Annotated[
        str, typer.Option(help="The word of the line that is the program, where options hide it.", metavar="WORD")
    ] = "",
    cores: Annotated[
        int | None,
        typer.Option(help="Cores for each rank.  [default: as the line or OMP_NUM_THREADS says]", min=1, metavar="N"),
    ] = None,
    starts: Annotated[
        int, typer.Option(help="Launches of each placement; 0: look only.", min=0, max=100, metavar="N")
    ] = PLACEMENT_STARTS,
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Start a launch line with the probe in place of its program: where its ranks are, and what would be better."""

    site = settings_of(context)
    settings = PlacementSettings(site=site, words=tuple(line), program=program, cores=cores, starts=starts)
    with progress_on(sys.stderr) as progress:
        result = placement_run.run_placement(settings, progress)
    report = placement_view.placement_report(result.recorded.info, result.placement)
    return show(report, result.folder, as_json=as_json, files=Files(html=html))
