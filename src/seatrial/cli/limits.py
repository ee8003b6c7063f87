"""seatrial limits: what physics permits inside nodes and between them."""

from pathlib import Path

import click

from seatrial.cli.node_sources import from_option, nodes_argument, read_facts, say_silent
from seatrial.cli.options import CHANGE, NODE
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import option
from seatrial.cli.site import HOSTS, QUEUE, SiteCommand, site_options
from seatrial.commands.limits import answer, changed_limits, paths
from seatrial.commands.limits import view as limits_view
from seatrial.limits.what_if import HardwareChange, changed_nodes
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.limit import AnyLimit
from seatrial.model.node_list import parse_nodes
from seatrial.model.settings import SiteSettings


@click.command(cls=SiteCommand)
@nodes_argument
@option("--pair A B", nargs=2, type=NODE, help="Only the two directions between these nodes.")
@option(
    "--what-if CHANGE",
    multiple=True,
    type=CHANGE,
    help="Limits with this change, beside those of now: port=FDR, hca+1, pcie=3.0x16, memory=2400, mtu=9000; may be "
    "repeated.",
)
@from_option
@output_options("html", "plot")
@option("--sources", is_flag=True, help="Also show the formula, the inputs and their sources.")
@site_options(only=(*HOSTS, *QUEUE))
def limits(
    site: SiteSettings,
    nodes: tuple[str, ...],
    pair: tuple[str, str] | None,
    what_if: tuple[HardwareChange, ...],
    source: Path | None,
    sources: bool,
    output: OutputForms,
) -> int:
    """Print the limit of every path inside the nodes and between them, and which term binds."""
    read = read_facts(_with_pair(nodes, pair, recorded=source is not None), source, site)
    say_silent(read.silent)
    for node in pair or ():
        if node not in read.facts and node not in read.silent:
            raise UsageError(f"--pair: there is no node {node!r}.", f"Name one of {', '.join(sorted(read.facts)[:5])}.")
    between: list[AnyLimit] = []
    facts = changed_nodes(read.facts, what_if) if what_if else read.facts
    found = paths.limits_inside(facts)
    if pair and all(node in facts for node in pair):
        between = paths.limits_of_pair(facts, *pair)
        found += between
    elif not pair:
        found += paths.limits_between(facts)
    exit_code = ExitCode.INCOMPLETE if read.silent or paths.nothing_known(found) else ExitCode.PASS
    first = answer.answer_of_pair(*between) if between else answer.answer_of(facts, found)
    words = tuple(map(str, what_if))
    changed = changed_limits.changed_limits(read.facts, facts, pair) if what_if else []
    if what_if:
        first = changed_limits.answer_of_change(words, changed)
    report = limits_view.limits_report(
        found, answer=first, sources=sources, exit_code=exit_code, what_if=words, changed=changed
    )
    return output.show(report)


def _with_pair(nodes: tuple[str, ...], pair: tuple[str, str] | None, *, recorded: bool) -> tuple[str, ...]:
    """The nodes to read: those named, or else the pair; of a recording the whole."""
    if pair and len(set(pair)) < 2:
        raise UsageError(f"--pair {pair[0]} {pair[1]} names one node.", "A path between nodes needs two.")
    return parse_nodes(",".join(pair), "--pair") if pair and not nodes and not recorded else nodes
