"""seatrial facts: what nodes are, and which facts differ."""

from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.nodes import From, Nodes, read_facts, say_silent
from seatrial.cli.options import AsJson, width_and_colour
from seatrial.cli.site_options import QUEUE, with_site_options
from seatrial.model.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from seatrial.driver.settings import CheckSettings


@with_site_options(only=("archive", "run", *QUEUE))
def facts(
    nodes: Nodes = "",
    source: From = None,
    drift: Annotated[
        bool, typer.Option("--drift", help="What differs between nodes that should be alike, and what is known bad.")
    ] = False,
    since: Annotated[
        str, typer.Option(help="And what changed since a run or another recording.", metavar="RUN|PATH")
    ] = "",
    with_login: Annotated[
        bool, typer.Option("--with-login", help="And what this machine has otherwise than the nodes.")
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave it to the queue, a job for each node; collect by `runs collect`.")
    ] = False,
    as_json: AsJson = False,
    *,
    site: "CheckSettings",
) -> int:
    """Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are findings."""
    from seatrial.commands.facts.drift import incomplete, look_for_drift
    from seatrial.driver.facts_reading import read_earlier, read_here

    if detach:
        from seatrial.cli.facts_detached import leave_to_the_queue

        return leave_to_the_queue(
            nodes, site, at_once=drift or bool(since) or with_login, source=source, as_json=as_json
        )
    if site.run:
        raise UsageError("--run names what --detach leaves to the queue.", "Leave it out.")
    if with_login and not nodes and source is None:
        raise UsageError("--with-login holds this machine against others.", "Name NODES, or a recording with --from.")
    earlier = read_earlier(since, site.archive) if since else None
    read = read_facts(nodes, source, site)
    say_silent(read.silent)
    width, colour = width_and_colour()
    if not (drift or since or with_login):
        from seatrial.commands.facts.json import nodes_as_json
        from seatrial.commands.facts.text import nodes_as_text

        print(nodes_as_json(read.facts) if as_json else nodes_as_text(read.facts, width=width, colour=colour), end="")
        return ExitCode.INCOMPLETE if incomplete(read) else ExitCode.PASS
    from seatrial.commands.facts.drift_json import drift_as_json
    from seatrial.commands.facts.drift_text import drift_as_text
    from seatrial.drift.peer_groups import groups

    found = look_for_drift(read, earlier, read_here() if with_login else None)
    told = (found.differences, found.changes, found.against, found.findings)
    if as_json:
        print(drift_as_json(*told, found.exit_code, groups=groups(read.facts)), end="")
    else:
        print(drift_as_text(read.facts, *told, width=width, colour=colour), end="")
    return found.exit_code
