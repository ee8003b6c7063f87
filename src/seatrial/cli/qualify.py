"""seatrial qualify: one slice of idle time, and what all slices say together. Exit code 1: a node is bad."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import click
from msgspec.structs import asdict, replace

from seatrial.archive import reader
from seatrial.archive.gate import ask_gate, leave_verdicts
from seatrial.cli.operation import judged_runs
from seatrial.cli.options import PATH, read_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.cli.site_file import GATE_EXAMPLE, site_gate
from seatrial.commands.check import run as check_run
from seatrial.commands.qualify import run as qualify_run
from seatrial.commands.qualify import view as qualify_view
from seatrial.driver import clock
from seatrial.files.inputs import SCENARIO_BYTES
from seatrial.judgement.qualification import confirmed, coverage, scores_after, threshold
from seatrial.judgement.standings import Judged, standings_after
from seatrial.model.errors import NoRun, UsageError
from seatrial.model.gate import Step
from seatrial.model.qualification import QualifyPolicy, QualifySlice, parse_policy
from seatrial.model.settings import CheckSettings, SiteSettings
from seatrial.model.words import natural_key, natural_sorted

WEEK = timedelta(days=7)
NOT_OFFERED = (
    "budget", "constraint", "gres", "hostfile", "hosts", "idle_only", "launcher", "node_hours", "replay", "reservation",
    "run", "seed", "verify", "wait",
)  # fmt: skip
"""Options of a check that choose nodes in another way or wait for them, or give it another time."""


@click.command(cls=SiteCommand)
@argument("policy_file", type=PATH, metavar="POLICY.toml", help="How much idle time is used, see docs/qualify.md.")
@option("--report-only", is_flag=True, help="Measure nothing: say what slices found so far.")
@output_options("plot", "nagios")
@site_options(without=NOT_OFFERED)
def qualify(site: SiteSettings, policy_file: Path, report_only: bool, output: OutputForms) -> int:
    """Measure a few idle nodes for a minute, those of which least is known, and say which nodes are bad."""
    policy = parse_policy(read_text(policy_file, SCENARIO_BYTES), str(policy_file))
    gate = site_gate() if policy.drain else None
    if policy.drain and gate is None:
        raise UsageError(f"{policy_file}: drain = true, and no file of the site has a table [gate].", GATE_EXAMPLE)
    state = qualify_run.ask_slurm(site.partition, site.slurm.exclude)
    runs, unread = judged_runs(site.archive)
    why = "--report-only" if report_only else _too_soon(runs, policy)
    taken = QualifySlice(why=why) if why else qualify_run.next_slice(state, scores_after(runs), policy)
    if taken.nodes:
        taken = _measure(site, replace(taken, run=clock.new_run_name("qualify")), threshold(policy))
        runs, unread = judged_runs(site.archive)
    scores = scores_after(runs)
    standing = standings_after(confirmed(runs)).values()
    drains = {}
    if gate is not None and not report_only:
        leave_verdicts(gate, standing)
        concerned = {node for node, score in scores.items() if score.bad} | state.drained
        drains = {node: ask_gate(gate, node, Step.DRAIN).text for node in natural_sorted(concerned)}
    week = (datetime.now(UTC) - WEEK).isoformat()
    fields = qualify_view.QualifyFields(
        slice=taken,
        coverage=coverage(runs, state.mine, state.leaf_of, week),
        nodes=tuple(sorted(scores.values(), key=lambda node: (-node.score, natural_key(node.node)))),
        threshold=threshold(policy),
        drains=drains,
        out_of_service=state.out_of_service,
        unread=unread,
    )
    return output.show(qualify_view.qualify_report(fields, standing))


def _too_soon(runs: Sequence[Judged], policy: QualifyPolicy) -> str:
    """Why it is too early for another slice; nothing if it is not."""
    ended = max((run.ended for run in runs if run.threshold), default="")
    if not ended:
        return ""
    minutes = (datetime.now(UTC) - datetime.fromisoformat(ended)).total_seconds() / 60
    soon = 0 <= minutes < policy.minutes
    return f"the last slice ended {int(minutes)} of {policy.minutes:g} minutes ago" if soon else ""


def _measure(site: SiteSettings, taken: QualifySlice, limit: float) -> QualifySlice:
    """Carry out the slice; what became of it."""
    settings = CheckSettings(
        **{
            **asdict(site),
            "nodes": taken.nodes,
            "run": taken.run,
            "idle_only": True,
            "budget_s": qualify_run.BUDGET_S,
            "slurm": qualify_run.request_of(site.slurm),
            "launcher": "slurm",
        },
        loaded=False,
        node_trials=True,
        threshold=limit,
    )
    with progress_on() as progress:
        return qualify_run.measure_guarded(
            lambda: check_run.run_check(settings, progress).recorded.info.ending,
            taken,
            partial(_granted, site.archive, taken.run),
        )


def _granted(archive: Path, run: str) -> bool:
    """Whether a slice got its nodes; where there were none at all any more, it has no run."""
    with suppress(NoRun):
        return reader.read_info(reader.find_run(archive, run)).had_nodes
    return False
