"""seatrial check: the main command."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from msgspec.structs import asdict, replace

from seatrial.cli.options import (
    FILE,
    FILE_OR_LIVE,
    FOLDER,
    NODES,
    RANK_COUNTS,
    SHARE,
    baseline_option,
    nodes_option,
    routes_option,
    storage_option,
    time_text,
)
from seatrial.cli.outcome import Files, OutputForms, output_options, say
from seatrial.cli.parameters import argument, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, known_baseline, refuse_idle_only, site_options
from seatrial.commands.check import dry_run as check_dry_run
from seatrial.commands.check import run as check_run
from seatrial.commands.check import view as check_view
from seatrial.driver import detached as driver_detached
from seatrial.driver import pair_program as driver_pair_program
from seatrial.driver import submitted as driver_submitted
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import DEFAULTS, OWN_JOB_ANSWER_S, CheckSettings, SiteSettings


@click.command(cls=SiteCommand)
@argument(
    "returning",
    type=NODES,
    default="",
    metavar="[NODES]",
    help="Nodes of which to say whether they may return to service: n3.",
)
@nodes_option
@option(
    "--pair-program PROGRAM",
    default=None,
    help="Start this program on pairs in place of the probe: 'osu_bw -m 4194304:4194304', or a FILE.toml.",
)
@option("--design NAME", default=DEFAULTS.design, help="Which pairs: auto, complete, sparse or leaf.")
@output_options("html", "markdown", "junit", "plot", "nagios")
@option("--detach", is_flag=True, help="Submit it as a Slurm job; collect with `runs collect`.")
@option("--dry-run", is_flag=True, help="Print nodes, time and node-hours; ask for nothing.")
@option(
    "--sample N",
    type=click.IntRange(min=0),
    default=DEFAULTS.sample,
    help="Measure only N nodes, spread over the leaf switches.  [default: all]",
)
@option("--one-per-leaf", is_flag=True, default=DEFAULTS.one_per_leaf, help="Measure one node of each leaf switch.")
@option(
    "--ranks N",
    "-n",
    type=click.IntRange(min=2, max=512),
    default=DEFAULTS.ranks,
    help="Number of ranks without Slurm.",
)
@option(
    "--pairs-at-once N",
    type=click.IntRange(min=0),
    default=DEFAULTS.pairs_at_once,
    help="Pairs measured at once.  [default: half the nodes, one on a shared kernel]",
)
@option(
    "--ranks-per-node LIST",
    type=RANK_COUNTS,
    default="",
    help="Measure the pairs at several ranks per node as well: 1,2,4,8, or auto: 1, 2, 4, ... all cores.",
)
@option("--no-loaded", is_flag=True, help="Leave out the rounds that load the uplinks.")
@option("--no-nodes", is_flag=True, help="Leave out memory, arithmetic, noise and storage of each node.")
@storage_option()
@option("--fabric FILE", type=FILE_OR_LIVE, help="The fabric's cables: output of ibnetdiscover, or live.")
@routes_option
@option("--device NAME", help="Adapter to use on each node: mlx5_1.  [default: the first]")
@option("--leaves FILE", type=FILE, help="Leaf switch of each node: a file with lines like `n[1-4] leaf1`.")
@option("--effect SHARE", type=SHARE, help="Smallest bandwidth loss that counts as a fault.  [default: 3 %]")
@option(
    "--latency-effect SHARE",
    type=SHARE,
    help="Smallest latency excess that counts as a fault.  [default: 10 % and 0.3 µs]",
)
@baseline_option()
@option(
    "--settings FILE",
    "settings_file",
    type=FOLDER,
    hidden=True,
    help="Take all settings from a file that --detach wrote.",
)
@site_options(budget=time_text(DEFAULTS.budget_s))
def check(
    site: SiteSettings,
    detach: bool,
    dry_run: bool,
    no_loaded: bool,
    no_nodes: bool,
    pair_program: str | None,
    baseline: str,
    settings_file: Path | None,
    output: OutputForms,
    **given: Any,
) -> int:
    """Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault."""
    if settings_file is not None:
        settings = driver_submitted.read_settings(settings_file)
        files = Files(**{form: getattr(settings, form) for form in Files.__struct_fields__})
        return measure(settings, replace(output, files=files))
    if given["returning"] and (detach or given["sample"] or given["one_per_leaf"]):
        raise UsageError(
            "check NODES chooses their partners and answers at once; --detach, --sample and --one-per-leaf do not.",
            "Leave them out.",
        )
    if pair_program is not None and given["returning"]:
        raise UsageError("check NODES compares nodes by the probe alone.", "Leave out --pair-program.")
    if given["ranks_per_node"] is not None and (pair_program is not None or given["returning"]):
        raise UsageError("--ranks-per-node is about all pairs, measured by the probe.", "Leave it or the other out.")
    settings = CheckSettings(
        **{**asdict(site), **given},
        answer_s=None if detach or given["returning"] else answer_time(program=pair_program is not None),
        pair_program=driver_pair_program.pair_program(pair_program) if pair_program is not None else None,
        loaded=not no_loaded,
        node_trials=not no_nodes,
        baseline=known_baseline(site, baseline, RunKind.CHECK),
    )
    if output.nagios and (dry_run or detach):
        raise UsageError("--nagios reports a check, and --dry-run and --detach have none.", "Leave one of them out.")
    if dry_run:
        with progress_on() as progress:
            request = check_dry_run.plan_request(settings, progress)
        return output.show(check_dry_run.request_report(request))
    if detach:
        refuse_idle_only(site)
        later = {form: path and path.absolute() for form, path in asdict(output.files).items()}
        submitted = driver_detached.submit_check(replace(settings, **later))
        how = f"Submitted job {submitted.job}; `seatrial runs collect {submitted.run}` shows its state and result."
        return output.tell(check_dry_run.submitted_report(submitted), filter(None, (submitted.cut, how)))
    return measure(settings, output)


def answer_time(*, program: bool) -> float:
    """The time until the answer of a check in one's own job; 0 where the budget decides, since it is given or since
    starts of a program take longer.
    """
    source = click.get_current_context().get_parameter_source("budget")
    return 0.0 if program or source is ParameterSource.COMMANDLINE else OWN_JOB_ANSWER_S


def measure(settings: CheckSettings, output: OutputForms) -> int:
    """Carry out the check here, print it, write the files, and return the exit code."""
    with progress_on() as progress:
        outcome = check_run.run_check(settings, progress)
    for sentence in outcome.unrestored:
        say(sentence)
    recorded = outcome.recorded
    report = check_view.check_report(recorded.info, outcome.judgement, recorded.facts)
    return output.show(report, outcome.folder)
