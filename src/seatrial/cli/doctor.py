"""seatrial doctor: what blocks a launch."""

import sys

import click
from msgspec.structs import replace

from seatrial.cli.options import nodes_option, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.doctor import run as doctor_run
from seatrial.commands.doctor import view as doctor_view
from seatrial.model.settings import CHECK_BUDGET_S, DOCTOR_WAIT_S, SiteSettings


@click.command(cls=SiteCommand)
@nodes_option
@output_options("html")
@site_options(
    without=("budget", "archive", "round_timeout", "replay", "run", "seed", "verify"), wait=time_text(DOCTOR_WAIT_S)
)
def doctor(site: SiteSettings, nodes: tuple[str, ...], output: OutputForms) -> int:
    """Try a launch step by step, cheapest first, and name what blocks it and what to do about it."""
    site = replace(site, nodes=nodes, budget_s=CHECK_BUDGET_S)
    with progress_on(sys.stderr) as progress:
        result = doctor_run.examine(site, progress)
    return output.show(doctor_view.doctor_report(result))
