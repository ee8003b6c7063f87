"""seatrial transports: which transport carries the messages, proved by taking it away."""

import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Html, parse_nodes, rail_names
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.transports import run as transports_run
from seatrial.commands.transports import view as transports_view
from seatrial.model.settings import TRANSPORTS_STARTS, TransportsSettings

SHARED = Shared()


def transports(
    context: typer.Context,
    nodes: Annotated[
        str, typer.Option(help="The two nodes to measure: A,B.  [default: the only two]", metavar="A,B")
    ] = "",
    within: Annotated[str, typer.Option(help="Between two ranks of this node instead.", metavar="NODE")] = "",
    rails: Annotated[
        str, typer.Option(help="Over each of these rails alone: eth0,eth1, or auto.", metavar="LIST")
    ] = "",
    starts: Annotated[
        int, typer.Option(help="Starts of the probe under each variant.", min=3, max=100, metavar="N")
    ] = TRANSPORTS_STARTS,
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Find out which transport carries the data: take each away, slow it, force it, and see what changes."""

    site = settings_of(context)
    ends = parse_nodes(nodes)
    site = replace(site, nodes=ends or ((within,) if within else ()))
    over = rail_names(rails) if rails else None
    settings = TransportsSettings(site=site, ends=ends, within=within, starts=starts, rails=over)
    with progress_on(sys.stderr) as progress:
        outcome = transports_run.run_transports(settings, progress)
    report = transports_view.transports_report(outcome.run, outcome.found)
    return show(report, outcome.folder, as_json=as_json, files=Files(html=html))
