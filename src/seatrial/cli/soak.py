"""seatrial soak: what fails or becomes slower only under load."""

import os
import sys

import click
from msgspec.structs import replace

from seatrial.cli.nodes import trials_of
from seatrial.cli.options import tried_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.soak import run as soak_run
from seatrial.commands.soak import view as soak_view
from seatrial.model.settings import SOAK_MINUTES, SOAK_TRIALS, SiteSettings, SoakSettings, Trial

MOST_MINUTES = 7 * 24 * 60
LEAST_MINUTES = 0.1


@click.command(cls=SiteCommand)
@tried_argument
@option(
    "--minutes",
    type=click.FloatRange(min=LEAST_MINUTES, max=MOST_MINUTES),
    default=SOAK_MINUTES,
    help="How long to repeat the cycle.",
    metavar="M",
)
@option(
    "--trials",
    type=Text(lambda text, what: trials_of(text, what, SOAK_TRIALS)),
    default=",".join(SOAK_TRIALS),
    help="What to try, separated by commas.",
    metavar="LIST",
)
@output_options("html", "markdown", "junit")
@site_options(without=("seed", "budget", "replay"))
def soak(
    site: SiteSettings, names: tuple[str, ...], minutes: float, trials: tuple[Trial, ...], output: OutputForms
) -> int:
    """Keep all nodes busy for some minutes, and name what fails or becomes slower under load."""
    processors = max(len(os.sched_getaffinity(0)), 1)
    site = replace(site, nodes=names, ranks=processors, budget_s=60.0 * minutes)
    settings = SoakSettings(site=site, trials=trials)
    with progress_on(sys.stderr) as progress:
        outcome = soak_run.run_soak(settings, progress)
    report = soak_view.soak_report(outcome.recorded.info, outcome.result)
    return output.show(report, outcome.folder)
