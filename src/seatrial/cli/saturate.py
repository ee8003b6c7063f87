"""seatrial saturate: how many ranks of a node drive its port."""

import os
import sys

import click
from msgspec.structs import replace

from seatrial.cli.options import receiver_argument, sender_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.saturate import run as saturate_run
from seatrial.commands.saturate import view as saturate_view
from seatrial.launch.hosts.job_nodes import in_other_job
from seatrial.model.errors import UsageError
from seatrial.model.settings import SaturateSettings, SiteSettings

MOST_RANKS = 1024


def rank_counts(text: str, what: str) -> tuple[int, ...]:
    """`1,2,4` -> 1, 2, 4; empty: none. Raises UsageError that shows the value."""
    if not text:
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and 0 < int(word[:9]) <= MOST_RANKS for word in words):
        raise UsageError(f"{what} {text!r} is not a list of numbers from 1 to {MOST_RANKS}.", "Write 1,2,4.")
    return tuple(sorted({int(word) for word in words}))


@click.command(cls=SiteCommand)
@sender_argument
@receiver_argument
@option(
    "--ranks",
    type=Text(rank_counts),
    default="",
    help="Ranks of each node at once: 1,2,4.  [default: 1, 2, 4, ... its cores]",
    metavar="LIST",
)
@output_options("html")
@site_options(without=("launcher",))
def saturate(site: SiteSettings, source: str, target: str, ranks: tuple[int, ...], output: OutputForms) -> int:
    """Let 1, 2, 4, ... ranks of one node send to another node at once: how many drive the port."""
    ends = tuple(end for end in (source, target) if end)
    launcher = "ssh" if site.hosts or in_other_job(os.environ) else "slurm"
    site = replace(site, launcher=launcher, nodes=() if site.replay else ends)
    settings = SaturateSettings(site=site, ends=ends, ranks=ranks)
    with progress_on(sys.stderr) as progress:
        result = saturate_run.run_saturate(settings, progress)
    outcome = result.outcome
    report = saturate_view.saturation_report(outcome.recorded.info, result.saturation)
    return output.show(report, outcome.folder)
