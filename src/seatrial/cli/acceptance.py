"""seatrial acceptance: a site's list of benchmarks, run and compared with thresholds."""

import sys
from pathlib import Path

import click

from seatrial.archive.inputs import SCENARIO_BYTES
from seatrial.cli.groups import Group
from seatrial.cli.options import PATH, read_text, time_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.acceptance import run as acceptance_run
from seatrial.commands.acceptance import spec as acceptance_spec
from seatrial.commands.acceptance import view as acceptance_view
from seatrial.model.settings import RUN_BUDGET_S, SiteSettings


@click.group(cls=Group)
def acceptance() -> None:
    """Run a site's list of benchmarks and compare them with thresholds."""


@acceptance.command("run", cls=SiteCommand)
@argument(
    "file",
    type=PATH,
    help="The list of benchmarks in TOML.",
    metavar="SPEC",
)
@output_options("html", "markdown", "junit")
@site_options(
    without=("replay", "round_timeout", "seed", "verify"),
    budget=time_text(RUN_BUDGET_S),
)
def run(site: SiteSettings, file: Path, output: OutputForms) -> int:
    """Run all benchmarks of a file that have no complete run yet, and judge all by gates and thresholds."""
    spec = acceptance_spec.parse_spec(read_text(file, SCENARIO_BYTES), str(file))
    with progress_on(sys.stderr) as progress:
        result = acceptance_run.carried_out(spec, file.absolute().parent, site, progress)
    return output.show(acceptance_view.acceptance_report(result))
