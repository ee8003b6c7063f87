"""seatrial plan: how many runs a claim needs.

Nothing is measured: the answer comes from how much the runs of the archive vary. Exit code 2 means that there are too
few of them.
"""

from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, archive_folder, share_of
from seatrial.cli.outcome import say, show
from seatrial.commands.plan import run as plan_run
from seatrial.commands.plan import view as plan_view
from seatrial.model.settings import PRACTICAL


def plan(
    wanted: Annotated[
        str,
        typer.Argument(
            help="A command that measures (check, curve, ...), or a metric: bandwidth, 'latency 8 B'.",
            metavar="BENCHMARK",
        ),
    ],
    detect: Annotated[str, typer.Option(help="The change that is to be shown.", metavar="SHARE")] = f"{PRACTICAL:.0%}",
    runs: Annotated[
        str,
        typer.Option(
            help="Runs to learn from, as compare takes them.  [default: all that were measured like the newest]",
            metavar="RUNS",
        ),
    ] = "",
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Say how many runs, nodes and node-hours it takes to show a change, from the variance of the runs there are."""
    effect = share_of(detect, "--detect")
    found_plan = plan_run.plan(archive_folder(archive), wanted, effect, say, runs)
    return show(plan_view.plan_report(found_plan), as_json=as_json)
