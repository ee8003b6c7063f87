"""seatrial check --dry-run: what a check would ask Slurm for."""

import shlex
from collections.abc import Sequence

import msgspec

from seatrial.commands.check.next_experiments import OF_STARTS
from seatrial.commands.check.survey_plan import SURVEY_SHARE, check_design, default_pairs_at_once
from seatrial.driver.facts_reading import cluster_launcher
from seatrial.driver.node_selection import (
    allocation_s,
    enough,
    grouped,
    node_hours_of,
    sampled,
    what_it_takes,
    within_node_hours,
)
from seatrial.driver.progress import Progress
from seatrial.driver.returning import with_candidates, with_partners
from seatrial.driver.site import with_leaf_file
from seatrial.driver.submitted import Submitted
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.model import units
from seatrial.model.fabric import Fabric
from seatrial.model.node_list import node_list
from seatrial.model.run import NodeState
from seatrial.model.settings import CheckSettings
from seatrial.pairs.survey import DesignChoice, plan_survey
from seatrial.render.report import Copy, Lines, Report
from seatrial.slurm import argv

RESUMES = (
    "Out of service ({}): resumed for the check inside a reservation of these nodes, and out of service again at its "
    "end; where Slurm does not permit that, reached over ssh."
)


START_S = 5.0
"""What a start is taken to last before one was seen: launchers take a second or two, libraries of GPUs a few more."""


class ProgramStarts(msgspec.Struct, frozen=True, kw_only=True):
    """How often a check starts a program, at most: half of it if one start measures both directions of its pair."""

    survey: int
    """The first start, and those of a survey that noise does not make repeat."""
    rounds: int
    """Starts one after the other among them, the others at the same time."""
    suspect: int
    """The usual number for each suspect that is measured again beside good pairs."""
    all_pairs: int
    """The number for all ordered pairs, each once."""
    survey_s: float
    """The time of the survey if a start takes `START_S`."""


def program_starts(settings: CheckSettings, nodes: Sequence[str], fabric: Fabric) -> ProgramStarts:
    """What a check of these nodes takes, planned as without a shared kernel."""
    plan = plan_survey(
        nodes,
        pairs_at_once=settings.pairs_at_once or default_pairs_at_once({}, nodes, program=True),
        window_s=START_S,
        budget_s=SURVEY_SHARE * settings.budget_s,
        seed=settings.seed,
        choice=DesignChoice(settings.design),
        leaf_of=fabric.leaf_of,
        program=True,
    )
    first = plan.passes[0]
    rounds = 1 + len(first)
    return ProgramStarts(
        survey=1 + sum(len(one.pairs) for one in first),
        rounds=rounds,
        suspect=RETEST_RUNS * (OF_STARTS.pairs + OF_STARTS.controls),
        all_pairs=len(nodes) * (len(nodes) - 1),
        survey_s=rounds * START_S,
    )


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a check would ask for, inside a job nothing; docs/commands.md describes each field."""

    nodes: tuple[str, ...]
    left_out: tuple[NodeState, ...]
    budget_s: float
    allocation_minutes: int
    node_hours: float
    """Node-hours at most."""
    notes: tuple[str, ...]
    """What --sample, --one-per-leaf and --node-hours left out, and which nodes are resumed."""
    command: tuple[str, ...]
    """Empty inside a job."""
    node_trials: bool = False
    """Whether each node is also tried by itself."""
    starts: ProgramStarts | None = None
    """The starts of --pair-program; None without it."""
    ranks_per_node: tuple[int, ...] = ()
    """Numbers of ranks per node at which the pairs are measured besides; empty without --ranks-per-node, and if it is
    auto."""


def plan_request(settings: CheckSettings, progress: Progress) -> CheckRequest:
    """Choose nodes and time as a check does, and ask for nothing. Errors as of `run_check`."""
    progress.stage("Looking for nodes")
    settings = with_candidates(settings)
    launcher = cluster_launcher(settings)
    hosts, resumes = with_leaf_file(settings, launcher.hosts()), ""
    if settings.returning:
        settings, out = with_partners(settings, launcher, hosts)
        resumes = RESUMES.format("; ".join(f"{node.node}: {node.reason}" for node in out)) if out else ""
        hosts = msgspec.structs.replace(hosts, nodes=settings.nodes, left_out=())
    nodes, sample = sampled(settings, hosts, enough(hosts, settings))
    settings, hosts, nodes, cut = within_node_hours(settings, hosts, nodes, job=launcher.job)
    if settings.pair_program is not None:
        check_design(settings, hosts.fabric, nodes)
    seconds = allocation_s(settings.budget_s)
    words = argv.salloc(
        nodes, seconds, settings.partition, "seatrial", at_once=settings.idle_only, request=settings.slurm
    )
    return CheckRequest(
        nodes=nodes,
        left_out=hosts.left_out,
        budget_s=settings.budget_s,
        allocation_minutes=argv.minutes(seconds),
        node_hours=0.0 if launcher.job else node_hours_of(len(nodes), settings.budget_s),
        notes=tuple(note for note in (sample, cut, resumes) if note),
        node_trials=settings.node_trials and settings.pair_program is None,
        starts=program_starts(settings, nodes, hosts.fabric) if settings.pair_program else None,
        ranks_per_node=settings.ranks_per_node or (),
        command=() if launcher.job else tuple(words[: -len(argv.HOLDER)]),
    )


def request_report(request: CheckRequest) -> Report:
    """Nodes, time and node-hours, and the command that would be run."""
    takes = what_it_takes(request.nodes, request.budget_s)
    trials = "memory, arithmetic, noise, scheduler and storage of each node (--no-nodes leaves them out)"
    rows = [
        ("nodes", node_list(request.nodes)),
        ("left out", grouped(request.left_out)),
        ("takes", takes if request.command else "nothing: the nodes of this job are used"),
        ("starts", _starts_text(request.starts) if request.starts else ""),
        ("also tries", trials if request.node_trials else ""),
        ("also measures", _spectra_text(request.ranks_per_node)),
        *(("note", note) for note in request.notes),
    ]
    lines = Lines(rows=tuple(rows))
    command = [Copy(title="Command", lines=(shlex.join(request.command),))] if request.command else []
    return Report(
        kind="dry-run",
        payload=lambda: request,
        terminal=lambda _: [lines, *command],
        page=lambda: [lines, *command],
    )


def _starts_text(starts: ProgramStarts) -> str:
    return (
        f"{starts.survey} of the program, {starts.rounds} one after the other ({units.duration(starts.survey_s)} if "
        f"each takes {units.duration(START_S)}), and about {starts.suspect} for each suspect; all ordered pairs would "
        f"take {starts.all_pairs}"
    )


def _spectra_text(counts: Sequence[int]) -> str:
    """The surveys with several ranks per node, which share the time of the survey; empty without them."""
    several = ", ".join(str(number) for number in counts if number > 1)
    share = units.share(SURVEY_SHARE / len({1, *counts}))
    return f"the pairs with {several} ranks per node at once; each survey may take {share} of the time" * bool(several)


class SubmittedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check that was handed to the queue; docs/commands.md describes each field."""

    job: str
    cut: str


def submitted_report(submitted: Submitted) -> Report:
    """The job of a detached check, for programs."""
    return Report(
        kind="submitted", run_name=submitted.run, payload=lambda: SubmittedCheck(job=submitted.job, cut=submitted.cut)
    )
