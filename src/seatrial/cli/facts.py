"""seatrial facts: what nodes are, and which facts differ."""

from pathlib import Path

import click

from seatrial.cli.facts_detached import leave_to_the_queue
from seatrial.cli.node_sources import from_option, nodes_argument, read_facts, say_silent
from seatrial.cli.options import RUN
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import option
from seatrial.cli.site import HOSTS, QUEUE, SiteCommand, site_options
from seatrial.commands.facts import drift as facts_drift
from seatrial.commands.facts import drift_view
from seatrial.commands.facts import view as facts_view
from seatrial.driver import facts_reading
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.settings import SiteSettings


@click.command(cls=SiteCommand)
@nodes_argument
@from_option
@option("--drift", is_flag=True, help="Show what differs between nodes that should be alike, and known problems.")
@option(
    "--since", type=RUN, default="", help="Also show what changed since a run or another recording.", metavar="RUN|PATH"
)
@option("--with-login", is_flag=True, help="Also show how this machine differs from the nodes.")
@option("--detach", is_flag=True, help="Submit a Slurm job for each node; collect with `runs collect`.")
@option("--full", is_flag=True, help="Print everything that was read, not only a summary.")
@output_options("html", "junit", "nagios")
@site_options(only=("archive", "run", *HOSTS, *QUEUE))
def facts(
    site: SiteSettings,
    nodes: tuple[str, ...],
    source: Path | None,
    drift: bool,
    since: str,
    with_login: bool,
    detach: bool,
    full: bool,
    output: OutputForms,
) -> int:
    """Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are findings."""
    drift = drift or output.nagios or output.files.junit is not None
    if detach:
        at_once = drift or bool(since) or with_login or output.files.html is not None
        return leave_to_the_queue(nodes, site, at_once=at_once, source=source, as_json=output.as_json)
    if site.run:
        raise UsageError("--run is only valid with --detach.", "Leave it out.")
    if with_login and not (nodes or site.hosts) and source is None:
        raise UsageError("--with-login compares this machine with nodes.", "Name NODES, or a recording with --from.")
    earlier = facts_reading.read_earlier(since, site.archive) if since else None
    read = read_facts(nodes, source, site)
    say_silent(read.silent)
    if not (drift or since or with_login):
        exit_code = ExitCode.INCOMPLETE if facts_drift.incomplete(read) else ExitCode.PASS
        return output.show(facts_view.facts_report(read.facts, full=full, exit_code=exit_code))
    login = facts_reading.read_here() if with_login else None
    recordings = source is not None and not nodes and facts_reading.is_recording(since, site.archive)
    whole = recordings and earlier is not None and min(len(read.facts), len(earlier.facts)) > 1
    found = facts_drift.look_for_drift(read, earlier, login, whole=whole)
    return output.show(drift_view.drift_report(read.facts, found))
