"""seatrial plan: how many runs a claim needs.

Nothing is measured: the answer comes from how much the runs of the archive vary. Exit code 2 means that there are too
few of them.
"""

from pathlib import Path

import click

from seatrial.cli.options import SHARE, archive_option
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import argument, option
from seatrial.commands.plan import run as plan_run
from seatrial.commands.plan import view as plan_view
from seatrial.model.settings import PRACTICAL


@click.command()
@argument(
    "wanted",
    help="A command that measures (check, curve, ...), or a metric: bandwidth, 'latency 8 B'.",
    metavar="BENCHMARK",
)
@option(
    "--detect",
    type=SHARE,
    default=f"{PRACTICAL:.0%}",
    help="The change that is to be shown.",
    metavar="SHARE",
)
@option(
    "--runs",
    help="Runs to learn from, as compare takes them.  [default: all that were measured like the newest]",
    metavar="RUNS",
)
@archive_option
@output_options()
def plan(wanted: str, detect: float, runs: str, archive: Path, output: OutputForms) -> int:
    """Say how many runs, nodes and node-hours it takes to show a change, from the variance of the runs there are."""
    found_plan = plan_run.plan(archive, wanted, detect, say, runs)
    return output.show(plan_view.plan_report(found_plan))
