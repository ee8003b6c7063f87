"""seatrial limits: what physics permits inside nodes and between them."""

from typing import Annotated

import typer

from seatrial.cli.node_sources import From, Nodes, read_facts, say_silent
from seatrial.cli.options import AsJson, Html
from seatrial.cli.outcome import Files, show
from seatrial.cli.site_options import HOSTS, QUEUE, Shared, settings_of
from seatrial.commands.limits import answer, paths
from seatrial.commands.limits import view as limits_view
from seatrial.model.errors import ExitCode, UsageError

SHARED = Shared(only=(*HOSTS, *QUEUE))


def limits(
    context: typer.Context,
    nodes: Nodes = "",
    pair: Annotated[
        tuple[str, str] | None, typer.Option(help="Only the two directions between these nodes.", metavar="A B")
    ] = None,
    source: From = None,
    as_json: AsJson = False,
    html: Html = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Also show the formula, the inputs and their sources.")
    ] = False,
) -> int:
    """Print the limit of every path inside the nodes and between them, and which term binds."""

    site = settings_of(context)
    read = read_facts(_with_pair(nodes, pair, recorded=source is not None), source, site)
    say_silent(read.silent)
    for node in pair or ():
        if node not in read.facts and node not in read.silent:
            raise UsageError(f"--pair: there is no node {node!r}.", f"Name one of {', '.join(sorted(read.facts)[:5])}.")
    between: list[paths.AnyLimit] = []
    found = paths.limits_inside(read.facts)
    if pair and all(node in read.facts for node in pair):
        between = paths.limits_of_pair(read.facts, *pair)
        found += between
    elif not pair:
        found += paths.limits_between(read.facts)
    exit_code = ExitCode.INCOMPLETE if read.silent or paths.nothing_known(found) else ExitCode.PASS
    first = answer.answer_of_pair(*between) if between else answer.answer_of(read.facts, found)
    report = limits_view.limits_report(found, answer=first, sources=sources, exit_code=exit_code)
    return show(report, as_json=as_json, files=Files(html=html))


def _with_pair(nodes: str, pair: tuple[str, str] | None, *, recorded: bool) -> str:
    """The nodes to read: those named, or else the pair; of a recording the whole."""
    if pair and len(set(pair)) < 2:
        raise UsageError(f"--pair {pair[0]} {pair[1]} names one node.", "A path between nodes needs two.")
    return ",".join(pair) if pair and not nodes and not recorded else nodes
