"""seatrial placement: where the ranks of a launch line really run, and where they should."""

from typing import Any

import click

from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import JOB, SiteCommand, site_options
from seatrial.commands.placement import run as placement_run
from seatrial.commands.placement import side_by_side as placement_side_by_side
from seatrial.commands.placement import view as placement_view
from seatrial.model.settings import PLACEMENT_STARTS, PlacementSettings, SiteSettings
from seatrial.model.words import shell_words


@click.command(cls=SiteCommand, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@argument(
    "line", nargs=-1, required=True, help="A launch line, after --: srun -n 4 ./app.", metavar="-- LAUNCH LINE..."
)
@option("--program WORD", help="The word of the line that is the program, where options hide it.")
@option(
    "--cores N", type=click.IntRange(min=1), help="Cores for each rank.  [default: as the line or OMP_NUM_THREADS says]"
)
@option(
    "--starts N",
    type=click.IntRange(min=0, max=100),
    default=PLACEMENT_STARTS,
    help="Launches of each placement; 0: look only.",
)
@option(
    "--versus LINE",
    multiple=True,
    help="Another launch line, quoted: are the ranks of both placed alike? May be repeated; nothing is measured.",
)
@output_options("html", "plot")
@site_options(without=("launcher", "partition", *JOB, "mpi", "start", "replay", "mpirun_options"))
def placement(
    site: SiteSettings, line: tuple[str, ...], versus: tuple[str, ...], output: OutputForms, **given: Any
) -> int:
    """Start a launch line with the probe in place of its program: where its ranks are, and what would be better."""
    if versus:
        lines = [line, *(shell_words(text, "--versus") for text in versus)]
        given["starts"] = 0
        looks = [PlacementSettings(site=site, words=words, **given) for words in lines]
        with progress_on() as progress:
            placed = [placement_run.run_placement(settings, progress).result for settings in looks]
        return output.show(placement_side_by_side.side_by_side_report(placement_side_by_side.side_by_side(placed)))
    settings = PlacementSettings(site=site, words=line, **given)
    with progress_on() as progress:
        measured = placement_run.run_placement(settings, progress)
    report = placement_view.placement_report(measured.recorded.info, measured.result)
    return output.show(report, measured.folder)
