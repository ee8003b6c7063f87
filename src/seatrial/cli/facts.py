"""seatrial facts: what nodes are, and which facts differ."""

from typing import Annotated

import typer

from seatrial.cli.facts_detached import leave_to_the_queue
from seatrial.cli.node_sources import From, Nodes, read_facts, say_silent
from seatrial.cli.options import AsJson, Html, Junit, Nagios
from seatrial.cli.outcome import Files, show
from seatrial.cli.site_options import HOSTS, QUEUE, Shared, settings_of
from seatrial.commands.facts import drift as facts_drift
from seatrial.commands.facts import drift_view
from seatrial.commands.facts import view as facts_view
from seatrial.driver import facts_reading
from seatrial.model.errors import ExitCode, UsageError

SHARED = Shared(only=("archive", "run", *HOSTS, *QUEUE))


def facts(
    context: typer.Context,
    nodes: Nodes = "",
    source: From = None,
    drift: Annotated[
        bool, typer.Option("--drift", help="Show what differs between nodes that should be alike, and known problems.")
    ] = False,
    since: Annotated[
        str, typer.Option(help="Also show what changed since a run or another recording.", metavar="RUN|PATH")
    ] = "",
    with_login: Annotated[
        bool, typer.Option("--with-login", help="Also show how this machine differs from the nodes.")
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Submit a Slurm job for each node; collect with `runs collect`.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print everything that was read, not only a summary.")] = False,
    as_json: AsJson = False,
    html: Html = None,
    junit: Junit = None,
    nagios: Nagios = False,
) -> int:
    """Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are findings."""
    site = settings_of(context)
    drift = drift or nagios or junit is not None
    if detach:
        at_once = drift or bool(since) or with_login or html is not None
        return leave_to_the_queue(nodes, site, at_once=at_once, source=source, as_json=as_json)
    if site.run:
        raise UsageError("--run is only valid with --detach.", "Leave it out.")
    if with_login and not (nodes or site.hosts) and source is None:
        raise UsageError("--with-login compares this machine with nodes.", "Name NODES, or a recording with --from.")
    earlier = facts_reading.read_earlier(since, site.archive) if since else None
    read = read_facts(nodes, source, site)
    say_silent(read.silent)
    if not (drift or since or with_login):
        exit_code = ExitCode.INCOMPLETE if facts_drift.incomplete(read) else ExitCode.PASS
        report = facts_view.facts_report(read.facts, full=full, exit_code=exit_code)
        return show(report, as_json=as_json, files=Files(html=html))

    login = facts_reading.read_here() if with_login else None
    recordings = source is not None and not nodes and facts_reading.is_recording(since, site.archive)
    whole = recordings and earlier is not None and min(len(read.facts), len(earlier.facts)) > 1
    found = facts_drift.look_for_drift(read, earlier, login, whole=whole)
    report = drift_view.drift_report(read.facts, found)
    return show(report, as_json=as_json, nagios=nagios, files=Files(html=html, junit=junit))
