"""seatrial facts NODES --detach: a job for each node, and its progress."""

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.node_sources import refuse_hosts
from seatrial.cli.progress import progress_on
from seatrial.cli.site import refuse_idle_only
from seatrial.commands.facts import detached as facts_detached
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.words import by_text, count
from seatrial.render.escape import clean

if TYPE_CHECKING:
    from seatrial.commands.facts.detached import FactsCollected
    from seatrial.model.settings import SiteSettings


def leave_to_the_queue(nodes: tuple[str, ...], site: "SiteSettings", *, as_json: bool) -> int:
    """Submit the jobs and print how to collect them. Raises UsageError for options that do not fit together."""
    refuse_idle_only(site)
    refuse_hosts(site, "--detach submits Slurm jobs, and --hosts are read over ssh.")
    if not nodes:
        raise UsageError("--detach submits a Slurm job for each node.", "Name NODES: n[1-4] or n1,n3.")
    with progress_on(sys.stderr) as progress:
        submitted = facts_detached.submit_facts(replace(site, nodes=nodes), progress)
    if as_json:
        JSON_OUTPUT.print_report(facts_detached.submitted_report(submitted))
        return ExitCode.PASS
    jobs = count(len(submitted.nodes), "job")
    print(f"{jobs} called {submitted.name}; each reads one node, as soon as the node has a free core.")
    _lines("left out", submitted.left_out)
    print(f"`seatrial runs collect {submitted.run}` shows the progress.")
    return ExitCode.PASS


def tell_facts(found: "FactsCollected", *, as_json: bool) -> int:
    """Print the progress; 0 once every node is read."""
    report = facts_detached.collected_report(found)
    if as_json:
        JSON_OUTPUT.print_report(report)
        return report.exit_code
    asked = len(found.read) + len(found.waiting) + len(found.failed) + len(found.left_out)
    print(clean(f"{found.run}: {len(found.read)} of {asked} nodes read."))
    _lines("waits", found.waiting)
    _lines("failed", found.failed)
    _lines("left out", found.left_out)
    if found.waiting and found.cancel:
        print(clean(f"To cancel the remaining jobs: {found.cancel}"))
    if found.read:
        print(clean(f"To show the facts read so far: seatrial facts --from {shlex.quote(str(found.folder))} --drift"))
    return report.exit_code


def _lines(what: str, why: Mapping[str, str]) -> None:
    """`waits     n[3-5]: PENDING (Resources)`: each reason once, with the nodes that have it."""
    for reason, nodes in by_text(why.items()).items():
        print(clean(f"  {what:9} {node_list(nodes)}: {reason}"))
