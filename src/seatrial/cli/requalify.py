"""seatrial requalify: check nodes that were restarted, repaired or switched to another mode, and act on the answer."""

from functools import partial
from typing import Any

import click
from msgspec.structs import asdict

from seatrial.archive import gate
from seatrial.cli.operation import cluster, leave_verdicts, read_runs
from seatrial.cli.options import NODES, ask_for_paths, nodes_option, path_option, storage_option
from seatrial.cli.outcome import OutputForms, keep_report, output_options, say
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.cli.site_file import site_gate
from seatrial.commands.check import requalified
from seatrial.commands.check import run as check_run
from seatrial.driver import returning as returning_nodes
from seatrial.model.settings import CheckSettings, SiteSettings


@click.command(cls=SiteCommand)
@argument(
    "returning",
    type=NODES,
    default="",
    metavar="[NODES]",
    help="n3 or n[3-4].  [default: nodes that wait for it, and those that started since they were judged]",
)
@nodes_option
@path_option(help="A path that each node must reach in time. May be repeated.")
@option("--no-nodes", is_flag=True, help="Leave out memory, arithmetic, noise and storage of each node.")
@storage_option()
@option("--history", is_flag=True, help="Measure nothing: print how often nodes failed so far, by node and mode.")
@output_options()
@site_options(budget="60s", without=("replay", "node_hours", "seed", "verify"))
def requalify(
    site: SiteSettings,
    returning: tuple[str, ...],
    path: tuple[str, ...],
    no_nodes: bool,
    history: bool,
    output: OutputForms,
    **given: Any,
) -> int:
    """Check nodes after a restart, a repair or a switch of mode, and resume them, keep them out, or leave them."""
    if history:
        runs = [run for run in read_runs(site.archive) if run is not None]
        return output.show(requalified.history_report(runs, returning))
    ask_for_paths(path)
    if not returning:
        judged = {name: node.judged for name, node in cluster(site.archive).nodes.items()}
        returning = returning_nodes.waiting_nodes(judged)
    over_ssh = bool(site.hosts) or site.launcher == "ssh"
    before = {} if site.hosts or not returning else returning_nodes.node_states(returning)
    kept = {} if over_ssh else returning_nodes.administrators(before)
    measured = tuple(name for name in returning if name not in kept)
    if not measured:
        return output.show(requalified.requalified_report(None, {}, {}, kept))
    settings = CheckSettings(**{**asdict(site), **given}, returning=measured, loaded=False, node_trials=not no_nodes)
    with progress_on() as progress:
        outcome = check_run.run_check(settings, progress)
    for sentence in outcome.unrestored:
        say(sentence)
    policy = site_gate() if before else None
    if policy and gate.is_of_another(policy.folder):
        say(f"{policy.folder} belongs to another user, so that no node is resumed or drained.")
        policy = None
    answers: dict[str, str] = {}
    if policy:
        report = requalified.requalified_report(outcome, {}, {}, {})
        keep_report(outcome.folder, report)
        leave = partial(leave_verdicts, [outcome.folder])
        answers = returning_nodes.ask(policy, requalified.decided(outcome), leave)
    changed = returning_nodes.acts(before, returning_nodes.node_states(measured)) if policy else {}
    return output.show(requalified.requalified_report(outcome, changed, answers, kept), outcome.folder)
