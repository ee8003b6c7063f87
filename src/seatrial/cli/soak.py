"""seatrial soak: what fails or becomes slower only under load."""

import os
import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.nodes import trials_of
from seatrial.cli.options import AsJson, Html, Junit, Markdown, parse_nodes
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.soak import run as soak_run
from seatrial.commands.soak import view as soak_view
from seatrial.model.settings import SOAK_MINUTES, SOAK_TRIALS, SoakSettings

SHARED = Shared(without=("seed", "budget", "replay"))
MOST_MINUTES = 7 * 24 * 60
LEAST_MINUTES = 0.1


def soak(
    context: typer.Context,
    names: Annotated[
        str, typer.Argument(help="n[1-4] or n1,n3.  [default: all idle nodes, or this machine]", metavar="[NODES]")
    ] = "",
    minutes: Annotated[
        float, typer.Option(help="How long to repeat the cycle.", min=LEAST_MINUTES, max=MOST_MINUTES, metavar="M")
    ] = SOAK_MINUTES,
    trials: Annotated[str, typer.Option(help="What to try, separated by commas.", metavar="LIST")] = ",".join(
        SOAK_TRIALS
    ),
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
) -> int:
    """Keep all nodes busy for some minutes, and name what fails or becomes slower under load."""
    processors = max(len(os.sched_getaffinity(0)), 1)
    site = replace(settings_of(context), nodes=parse_nodes(names, "NODES"), ranks=processors, budget_s=60.0 * minutes)
    settings = SoakSettings(site=site, trials=trials_of(trials, SOAK_TRIALS))
    with progress_on(sys.stderr) as progress:
        outcome = soak_run.run_soak(settings, progress)
    report = soak_view.soak_report(outcome.recorded.info, outcome.result)
    return show(report, outcome.folder, as_json=as_json, files=Files(html=html, markdown=markdown, junit=junit))
