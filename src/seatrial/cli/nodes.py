"""seatrial nodes: what each node can do by itself."""

import os
import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Baseline, Html, Junit, Markdown, Storage, parse_nodes
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, known_baseline, settings_of
from seatrial.commands.nodes import run as nodes_run
from seatrial.commands.nodes import view as nodes_view
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import NODES_REPETITIONS, NodesSettings, Trial

ALL = ",".join(Trial)
SHARED = Shared(without=("seed",))


def nodes(
    context: typer.Context,
    names: Annotated[
        str, typer.Argument(help="n[1-4] or n1,n3.  [default: all idle nodes, or this machine]", metavar="[NODES]")
    ] = "",
    trials: Annotated[str, typer.Option(help="What to try, separated by commas.", metavar="LIST")] = ALL,
    storage: Storage = None,
    repetitions: Annotated[
        int, typer.Option(help="How often each trial is carried out.", min=1, metavar="N")
    ] = NODES_REPETITIONS,
    baseline: Baseline = "",
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
) -> int:
    """Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes."""
    site = settings_of(context)
    processors = max(len(os.sched_getaffinity(0)), 1)
    site = replace(site, nodes=() if site.replay else parse_nodes(names, "NODES"), ranks=processors)
    folder = storage and storage.absolute()
    settings = NodesSettings(
        site=site, trials=trials_of(trials), repetitions=repetitions, storage=folder,
        baseline=known_baseline(context, site.archive, baseline, RunKind.NODES),
    )  # fmt: skip
    with progress_on(sys.stderr) as progress:
        outcome = nodes_run.run_nodes(settings, progress)
    report = nodes_view.nodes_report(outcome.recorded.info, outcome.result)
    return show(report, outcome.folder, as_json=as_json, files=Files(html=html, markdown=markdown, junit=junit))


def trials_of(text: str, choices: tuple[Trial, ...] = tuple(Trial)) -> tuple[Trial, ...]:
    """`memory,noise` -> these trials, in their usual order. Raises UsageError that shows the value."""
    words = {word.strip() for word in text.split(",")}
    unknown = sorted(words - set(choices))
    if unknown:
        raise UsageError(
            f"--trials {text!r}: {unknown[0]!r} is not a valid trial.", f"Choose from {','.join(choices)}."
        )
    return tuple(trial for trial in Trial if trial in words)
