"""seatrial doctor: what blocks a launch."""

from pathlib import Path

import click
from msgspec.structs import replace

from seatrial.cli.options import PATH, nodes_option, read_text, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.doctor import run as doctor_run
from seatrial.commands.doctor import view as doctor_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import CHECK_BUDGET_S, DOCTOR_WAIT_S, SiteSettings


@click.command(cls=SiteCommand)
@option(
    "--from FILE",
    "outputs",
    type=PATH,
    multiple=True,
    help="Start nothing; explain why a job failed, from its output: slurm-4711.out. May be repeated.",
)
@nodes_option
@output_options("html")
@site_options(
    without=("budget", "archive", "round_timeout", "replay", "run", "seed", "verify"), wait=time_text(DOCTOR_WAIT_S)
)
def doctor(site: SiteSettings, outputs: tuple[Path, ...], nodes: tuple[str, ...], output: OutputForms) -> int:
    """Try a launch step by step, cheapest first, and name what blocks it and what to do about it."""
    if outputs and nodes:
        raise UsageError("--from reads what a job printed, and --nodes tries nodes.", "Leave one of the two out.")
    if outputs:
        explained = doctor_run.examine_outputs({str(path): read_text(path) for path in outputs})
        return output.show(doctor_view.doctor_report(explained))
    site = replace(site, nodes=nodes, budget_s=CHECK_BUDGET_S)
    with progress_on() as progress:
        result = doctor_run.examine(site, progress)
    return output.show(doctor_view.doctor_report(result))
