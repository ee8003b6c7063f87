"""seatrial nodes: what each node can do by itself."""

import os
import sys
from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import baseline_option, storage_option, tried_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, known_baseline, site_options
from seatrial.commands.nodes import run as nodes_run
from seatrial.commands.nodes import view as nodes_view
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import NODES_REPETITIONS, NodesSettings, SiteSettings, Trial

ALL = ",".join(Trial)


def trials_of(text: str, what: str, choices: tuple[Trial, ...] = tuple(Trial)) -> tuple[Trial, ...]:
    """`memory,noise` -> these trials, in their usual order. Raises UsageError that shows the value."""
    words = {word.strip() for word in text.split(",")}
    unknown = sorted(words - set(choices))
    if unknown:
        raise UsageError(f"{what} {text!r}: {unknown[0]!r} is not a valid trial.", f"Choose from {','.join(choices)}.")
    return tuple(trial for trial in Trial if trial in words)


@click.command(cls=SiteCommand)
@tried_argument
@option("--trials", type=Text(trials_of), default=ALL, help="What to try, separated by commas.", metavar="LIST")
@storage_option
@option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=NODES_REPETITIONS,
    help="How often each trial is carried out.",
    metavar="N",
)
@baseline_option
@output_options("html", "markdown", "junit")
@site_options(without=("seed",))
def nodes(site: SiteSettings, names: tuple[str, ...], baseline: str, output: OutputForms, **given: Any) -> int:
    """Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes."""
    processors = max(len(os.sched_getaffinity(0)), 1)
    site = replace(site, nodes=() if site.replay else names, ranks=processors)
    settings = NodesSettings(site=site, baseline=known_baseline(site, baseline, RunKind.NODES), **given)
    with progress_on(sys.stderr) as progress:
        outcome = nodes_run.run_nodes(settings, progress)
    report = nodes_view.nodes_report(outcome.recorded.info, outcome.result)
    return output.show(report, outcome.folder)
