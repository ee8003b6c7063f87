"""The nodes that facts and limits are about, and where their facts come from."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.cli.options import NODES, PATH
from seatrial.cli.outcome import say
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.driver import facts_reading
from seatrial.model.errors import UsageError
from seatrial.model.words import natural_sorted

if TYPE_CHECKING:
    from seatrial.model.settings import SiteSettings

nodes_argument = argument(
    "nodes",
    type=NODES,
    default="",
    help="n[1-4] or n1,n3, through Slurm or over ssh.  [default: all --hosts, or this machine]",
    metavar="[NODES]",
)
from_option = option(
    "--from PATH", "source", type=PATH, help="A recorded machine or cluster instead: see docs/recordings.md."
)


def read_facts(nodes: tuple[str, ...], source: Path | None, site: "SiteSettings") -> "facts_reading.FactsRead":
    """The facts that the options ask for; of a recording, those of the nodes that are named.

    Raises UsageError for options that do not fit together and nodes that a recording does not have.
    """
    if source is not None:
        refuse_hosts(site, "--from reads a recording, not hosts over ssh.")
        with progress_on() as progress:
            read = facts_reading.read_recording(source, progress)
        return facts_reading.only(read, nodes, source) if nodes else read
    if not nodes and not site.hosts:
        refuse_for_this_machine(site)
        return facts_reading.read_here()
    with progress_on() as progress:
        return facts_reading.read_cluster(replace(site, nodes=nodes), progress)


def refuse_for_this_machine(site: "SiteSettings") -> None:
    """Raises UsageError for an option that means nothing where this machine is read."""
    if option := site.for_slurm:
        raise UsageError(f"{option} needs nodes from Slurm.", "Name NODES, or leave it out.")


def refuse_hosts(site: "SiteSettings", why: str) -> None:
    """Raises UsageError where --hosts or --hostfile is given. `why`: the sentence about it."""
    if site.hosts:
        raise UsageError(why, "Leave out --hosts and --hostfile.")


def say_silent(silent: Mapping[str, str]) -> None:
    """Say on standard error which nodes gave no facts, and why."""
    for node in natural_sorted(silent):
        say(f"{node} gave no facts: {silent[node]}")
