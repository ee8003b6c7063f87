"""seatrial nodes: what each node can do by itself, or with --for what fails or becomes slower only under load."""

import enum
import os
from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import baseline_option, seconds, storage_option, tried_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, option, refuse_options_of_other_modes
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, known_baseline, site_options
from seatrial.commands.nodes import program_run, program_view
from seatrial.commands.nodes import run as nodes_run
from seatrial.commands.nodes import view as nodes_view
from seatrial.commands.soak import run as soak_run
from seatrial.commands.soak import view as soak_view
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import NODES_REPETITIONS, SOAK_TRIALS, NodesSettings, SiteSettings, SoakSettings, Trial

MOST_SOAK_S = 7 * 86400.0
LEAST_SOAK_S = 6.0


class NodesMode(enum.StrEnum):
    """How nodes are tried; the value is how messages name it."""

    ONCE = "single trials"
    SOAK = "--for"
    PROGRAM = "--program"
    PROGRAM_FOR_LONG = "--program and --for"


def trials_of(text: str, what: str) -> tuple[Trial, ...]:
    """`memory,noise` -> these trials, in their usual order; none for an empty text. Raises UsageError."""
    words = {word.strip() for word in text.split(",")} if text else set()
    unknown = sorted(words - set(Trial))
    if unknown:
        raise UsageError(f"{what} {text!r}: {unknown[0]!r} is not a valid trial.", f"Choose from {','.join(Trial)}.")
    return tuple(trial for trial in Trial if trial in words)


def soak_time(text: str, what: str) -> float:
    """`60m` in seconds; 0 for an empty text. Raises UsageError."""
    length_s = seconds(text, what) if text else 0.0
    if text and not LEAST_SOAK_S <= length_s <= MOST_SOAK_S:
        raise UsageError(f"{what} {text!r} is not a time from 6 seconds to 7 days.", "Write 60m or 12h.")
    return length_s


@click.command(cls=SiteCommand)
@tried_argument
@option(
    "--for TIME",
    "soak_s",
    type=Text(soak_time),
    default="",
    help="Repeat the trials and measure the links for this long, and name what fails or becomes slower: 60m.",
    modes=(NodesMode.SOAK, NodesMode.PROGRAM_FOR_LONG),
)
@option(
    "--program PROGRAM",
    default=None,
    help="Start this program on each node in place of the trials: 'nvbandwidth -t 0', or a FILE.toml.",
    modes=(NodesMode.PROGRAM, NodesMode.PROGRAM_FOR_LONG),
)
@option(
    "--trials LIST",
    type=Text(trials_of),
    default="",
    help=f"What to try, separated by commas: {','.join(Trial)}.  [default: all; with --for all but storage]",
    modes=(NodesMode.ONCE, NodesMode.SOAK),
)
@storage_option(modes=(NodesMode.ONCE,))
@option(
    "--repetitions N",
    type=click.IntRange(min=1),
    default=NODES_REPETITIONS,
    help="How often each trial is carried out, or the program is started.",
    modes=(NodesMode.ONCE, NodesMode.PROGRAM),
)
@baseline_option(modes=(NodesMode.ONCE,))
@output_options("html", "markdown", "junit", "plot")
@site_options(without=("seed",), modes={"budget": (NodesMode.ONCE, NodesMode.PROGRAM), "replay": (NodesMode.ONCE,)})
def nodes(
    site: SiteSettings,
    names: tuple[str, ...],
    soak_s: float,
    program: str | None,
    trials: tuple[Trial, ...],
    baseline: str,
    output: OutputForms,
    **given: Any,
) -> int:
    """Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes; or --for some time."""
    refuse_options_of_other_modes(_mode(program, soak_s))
    processors = max(len(os.sched_getaffinity(0)), 1)
    site = replace(site, nodes=() if site.replay else names, ranks=processors)
    if program is not None:
        site = replace(site, budget_s=soak_s or site.budget_s)
        return _by_program(
            NodesSettings(site=site, program=program_run.node_program(program), length_s=soak_s, **given), output
        )
    if soak_s:
        return _soaked(replace(site, budget_s=soak_s), trials or SOAK_TRIALS, output)
    known = known_baseline(site, baseline, RunKind.NODES)
    settings = NodesSettings(site=site, baseline=known, trials=trials or tuple(Trial), **given)
    with progress_on() as progress:
        outcome = nodes_run.run_nodes(settings, progress)
    report = nodes_view.nodes_report(outcome.recorded.info, outcome.result, outcome.recorded.facts)
    return output.show(report, outcome.folder)


def _mode(program: str | None, soak_s: float) -> NodesMode:
    if program is not None:
        return NodesMode.PROGRAM_FOR_LONG if soak_s else NodesMode.PROGRAM
    return NodesMode.SOAK if soak_s else NodesMode.ONCE


def _by_program(settings: NodesSettings, output: OutputForms) -> int:
    with progress_on() as progress:
        outcome = program_run.run_program(settings, progress)
    report = program_view.program_report(outcome.recorded.info, outcome.result, outcome.recorded.facts)
    return output.show(report, outcome.folder)


def _soaked(site: SiteSettings, trials: tuple[Trial, ...], output: OutputForms) -> int:
    """Raises UsageError for a trial that is not repeated."""
    if left := set(trials) - set(SOAK_TRIALS):
        raise UsageError(f"--trials {min(left)} does not go with --for.", f"Choose from {','.join(SOAK_TRIALS)}.")
    with progress_on() as progress:
        outcome = soak_run.run_soak(SoakSettings(site=site, trials=trials), progress)
    report = soak_view.soak_report(outcome.recorded.info, outcome.result, outcome.recorded.facts)
    return output.show(report, outcome.folder)
