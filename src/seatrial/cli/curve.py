"""seatrial curve: latency and bandwidth of one pair over message sizes."""

import re
import sys
from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import RAILS, receiver_argument, sender_argument
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, option
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.curve import run as curve_run
from seatrial.commands.curve import view as curve_view
from seatrial.commands.curve.rails import run as rails_run
from seatrial.commands.curve.rails import view as rails_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import CURVE_MOST_BYTES, CURVE_PER_OCTAVE, CurveSettings, RailsSettings, SiteSettings

UNITS = {"": 1, "b": 1, "kib": 1 << 10, "k": 1 << 10, "mib": 1 << 20, "m": 1 << 20, "gib": 1 << 30, "g": 1 << 30}
LEAST_BYTES = 1024
MOST_BYTES = 1 << 30


def message_size(text: str, what: str) -> int:
    """`64KiB`, `4M`, `1500` in bytes. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]{1,10})\s*([a-zA-Z]*)", text.strip())
    count = int(match.group(1)) * UNITS.get(match.group(2).lower(), 0) if match else 0
    if not LEAST_BYTES <= count <= MOST_BYTES:
        raise UsageError(f"{what} {text!r} is not a size from 1 KiB to 1 GiB.", "Write 64KiB or 4MiB.")
    return count


@click.command(cls=SiteCommand)
@sender_argument
@receiver_argument
@option(
    "--max-size",
    "most_bytes",
    type=Text(message_size),
    default=f"{CURVE_MOST_BYTES >> 20}MiB",
    help="The largest message: 64KiB, 4MiB.",
    metavar="SIZE",
)
@option(
    "--per-octave",
    type=click.IntRange(min=1, max=16),
    default=CURVE_PER_OCTAVE,
    help="Message sizes per doubling.",
    metavar="N",
)
@option(
    "--rails",
    type=RAILS,
    default="",
    help="Compare rails, each alone and all together: eth0,eth1, or auto.",
    metavar="LIST",
)
@output_options("html")
@site_options()
def curve(
    site: SiteSettings, source: str, target: str, rails: tuple[str, ...] | None, output: OutputForms, **given: Any
) -> int:
    """Measure a pair over message sizes: pieces of the latency, protocol switches, plateau against the limit."""
    ends = tuple(end for end in (source, target) if end)
    if site.launcher != "local" and site.replay is None:
        site = replace(site, nodes=ends)
    if rails is not None:
        wanted = RailsSettings(site=site, ends=ends, rails=rails, **given)
        with progress_on(sys.stderr) as progress:
            compared = rails_run.run_rails(wanted, progress)
        outcome = compared.outcome
        report = rails_view.rails_report(outcome.recorded.info, compared.comparison)
        return output.show(report, outcome.folder)
    settings = CurveSettings(site=site, ends=ends, **given)
    with progress_on(sys.stderr) as progress:
        result = curve_run.run_curve(settings, progress)
    report = curve_view.curve_report(result.outcome.recorded.info, result.curve)
    return output.show(report, result.outcome.folder)
