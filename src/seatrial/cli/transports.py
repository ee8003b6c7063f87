"""seatrial transports: which transport carries the messages, proved by taking it away."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Html, parse_nodes, rail_names
from seatrial.cli.outcome import tell
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import with_site_options
from seatrial.commands.transports import html as transports_html
from seatrial.commands.transports import json as transports_json
from seatrial.commands.transports import run as transports_run
from seatrial.commands.transports import text as transports_text
from seatrial.model.settings import TRANSPORTS_STARTS, SiteSettings, TransportsSettings

if TYPE_CHECKING:
    from seatrial.commands.transports.judge import Transports, TransportsByRail
    from seatrial.model.run import RunInfo


@with_site_options()
def transports(
    nodes: Annotated[str, typer.Option(help="Between which two: A,B.  [default: the only two]", metavar="A,B")] = "",
    within: Annotated[str, typer.Option(help="Between two ranks of this node instead.", metavar="NODE")] = "",
    rails: Annotated[
        str, typer.Option(help="Over each of these rails alone: eth0,eth1, or auto.", metavar="LIST")
    ] = "",
    starts: Annotated[
        int, typer.Option(help="Starts of the probe under each variant.", min=3, max=100)
    ] = TRANSPORTS_STARTS,
    as_json: AsJson = False,
    html: Html = None,
    *,
    site: SiteSettings,
) -> int:
    """Find out which transport carries the data: take each away, slow it, force it, and see what changes."""

    ends = parse_nodes(nodes)
    site = replace(site, nodes=ends or ((within,) if within else ()))
    over = rail_names(rails) if rails else None
    settings = TransportsSettings(site=site, ends=ends, within=within, starts=starts, rails=over)
    with progress_on(sys.stderr) as progress:
        outcome = transports_run.run_transports(settings, progress)
    return show_transports(outcome.folder, outcome.run, outcome.found, as_json=as_json, html=html)


def show_transports(
    folder: Path, run: "RunInfo", found: "Transports | TransportsByRail", *, as_json: bool, html: Path | None
) -> int:
    """Print, write, and return the exit code."""

    return tell(
        folder,
        found.exit_code,
        json=partial(transports_json.transports_as_json, run, found),
        text=partial(transports_text.transports_as_text, found),
        as_json=as_json,
        page=partial(transports_html.transports_as_html, run, found),
        html=html,
    )
