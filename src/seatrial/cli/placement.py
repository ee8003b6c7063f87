"""seatrial placement: where the ranks of a launch line really run, and where they should."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.options import AsJson, Html
from seatrial.cli.outcome import tell
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import with_site_options
from seatrial.commands.placement import html as placement_html
from seatrial.commands.placement import json as placement_json
from seatrial.commands.placement import run as placement_run
from seatrial.commands.placement import text as placement_text
from seatrial.model.settings import PLACEMENT_STARTS, PlacementSettings, SiteSettings

if TYPE_CHECKING:
    from seatrial.commands.placement.judge import Placement
    from seatrial.model.run import RunInfo


@with_site_options("launcher", "partition", "mpi", "replay")
def placement(
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
    *,
    site: SiteSettings,
) -> int:
    """Start a launch line with the probe in place of its program: where its ranks are, and what would be better."""

    settings = PlacementSettings(site=site, words=tuple(line), program=program, cores=cores, starts=starts)
    with progress_on(sys.stderr) as progress:
        found = placement_run.run_placement(settings, progress)
    return show_placement(found.folder, found.recorded.info, found.placement, as_json=as_json, html=html)


def show_placement(folder: Path, info: "RunInfo", found: "Placement", *, as_json: bool, html: Path | None) -> int:
    """Print, write, and return the exit code."""

    return tell(
        folder,
        found.exit_code,
        json=partial(placement_json.placement_as_json, info, found),
        text=partial(placement_text.placement_as_text, found),
        as_json=as_json,
        page=partial(placement_html.placement_as_html, info, found),
        html=html,
    )
