"""seatrial transports: which transport carries the messages, proved by taking it away."""

import sys
from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import NODE, NODES, RAILS
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.transports import run as transports_run
from seatrial.commands.transports import view as transports_view
from seatrial.model.settings import TRANSPORTS_STARTS, SiteSettings, TransportsSettings


@click.command(cls=SiteCommand)
@option(
    "--nodes",
    "-w",
    type=NODES,
    default="",
    help="The two nodes to measure: A,B.  [default: the only two]",
    metavar="A,B",
)
@option("--within", type=NODE, default="", help="Between two ranks of this node instead.", metavar="NODE")
@option("--rails", type=RAILS, default="", help="Over each of these rails alone: eth0,eth1, or auto.", metavar="LIST")
@option(
    "--starts",
    type=click.IntRange(min=3, max=100),
    default=TRANSPORTS_STARTS,
    help="Starts of the probe under each variant.",
    metavar="N",
)
@output_options("html")
@site_options()
def transports(site: SiteSettings, nodes: tuple[str, ...], within: str, output: OutputForms, **given: Any) -> int:
    """Find out which transport carries the data: take each away, slow it, force it, and see what changes."""
    site = replace(site, nodes=nodes or ((within,) if within else ()))
    settings = TransportsSettings(site=site, ends=nodes, within=within, **given)
    with progress_on(sys.stderr) as progress:
        outcome = transports_run.run_transports(settings, progress)
    report = transports_view.transports_report(outcome.run, outcome.found)
    return output.show(report, outcome.folder)
