"""seatrial link: one pair of nodes, by message size, number of ranks, rail or transport."""

import enum
import os
from functools import partial
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from seatrial.cli.options import NODE, RAILS, RANK_COUNTS, part_of, size_bytes
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, argument, option, refuse_options_of_other_modes
from seatrial.cli.progress import progress_on
from seatrial.cli.site import SiteCommand, site_options
from seatrial.commands.link.curve import run as curve_run
from seatrial.commands.link.curve import view as curve_view
from seatrial.commands.link.curve.rails import run as rails_run
from seatrial.commands.link.curve.rails import view as rails_view
from seatrial.commands.link.saturate import run as saturate_run
from seatrial.commands.link.saturate import view as saturate_view
from seatrial.commands.link.transports import run as transports_run
from seatrial.commands.link.transports import view as transports_view
from seatrial.driver.progress import Progress
from seatrial.launch.hosts.job_nodes import in_other_job
from seatrial.model.errors import UsageError
from seatrial.model.settings import (
    CURVE_MOST_BYTES,
    CURVE_PER_OCTAVE,
    TRANSPORTS_STARTS,
    CurveSettings,
    RailsSettings,
    SaturateSettings,
    SiteSettings,
    TransportsSettings,
)
from seatrial.render.report import Report

LEAST_BYTES = 1024
MOST_BYTES = 1 << 30


class LinkMode(enum.StrEnum):
    """What is measured; the value is how messages name it."""

    CURVE = "the curve over message sizes"
    """The curve over all rails as the MPI uses them, or with --rails over each."""
    SATURATE = "--ranks-per-node"
    TRANSPORTS = "--transports"


curve_option = partial(option, modes=(LinkMode.CURVE,))
transports_option = partial(option, modes=(LinkMode.TRANSPORTS,))


def message_size(text: str, what: str) -> int:
    """A size of a message of the curve. Raises UsageError that shows the value."""
    size = size_bytes(text, what)
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise UsageError(f"{what} {text!r} is not a size from 1 KiB to 1 GiB.", "Write 64KiB or 4MiB.")
    return size


@click.command(cls=SiteCommand)
@argument("sender", type=NODE, default="", help="The node that sends.", metavar="[A")
@argument(
    "receiver", type=NODE, default="", help="The node that receives.  [default: the only two nodes]", metavar="B]"
)
@curve_option(
    "--max-size SIZE",
    "most_bytes",
    type=Text(message_size),
    default=f"{CURVE_MOST_BYTES >> 20}MiB",
    help="The largest message of the curve: 64KiB, 4MiB.",
)
@curve_option(
    "--per-octave N",
    type=click.IntRange(min=1, max=16),
    default=CURVE_PER_OCTAVE,
    help="Message sizes of the curve per doubling.",
)
@option(
    "--rails LIST",
    type=RAILS,
    help="Compare rails, each alone and all together; with --transports each alone: eth0,eth1, or auto.",
    modes=(LinkMode.CURVE, LinkMode.TRANSPORTS),
)
@option(
    "--ranks-per-node LIST",
    "ranks",
    type=RANK_COUNTS,
    default="",
    help="How many ranks of a node drive its port: try 1,2,4 at once, or auto: 1, 2, 4, ... its cores.",
    modes=(LinkMode.SATURATE,),
)
@transports_option(
    "--transports",
    "by_transport",
    is_flag=True,
    help="Which transport carries the data: take each away, slow it, force it, and see what changes.",
)
@transports_option("--within NODE", type=NODE, help="With --transports: between two ranks of this node instead.")
@transports_option(
    "--starts N",
    type=click.IntRange(min=3, max=100),
    default=TRANSPORTS_STARTS,
    help="With --transports: starts of the probe under each variant.",
)
@output_options("html", "plot")
@site_options(modes={"launcher": (LinkMode.CURVE, LinkMode.TRANSPORTS)})
def link(
    site: SiteSettings, sender: str, receiver: str, output: OutputForms, *, by_transport: bool, **given: Any
) -> int:
    """Measure a pair of nodes over message sizes, or by --rails, --ranks-per-node or --transports."""
    mode = LinkMode.TRANSPORTS if by_transport else LinkMode.CURVE if given["ranks"] is None else LinkMode.SATURATE
    refuse_options_of_other_modes(mode)
    ends = tuple(end for end in (sender, receiver) if end)
    with progress_on() as progress:
        match mode:
            case LinkMode.TRANSPORTS:
                report, folder = _transports(site, ends, given, progress)
            case LinkMode.SATURATE:
                report, folder = _saturation(site, ends, given, progress)
            case LinkMode.CURVE:
                report, folder = _curve(site, ends, given, progress)
    return output.show(report, folder)


def _curve(site: SiteSettings, ends: tuple[str, ...], given: dict[str, Any], progress: Progress) -> tuple[Report, Path]:
    if site.launcher != "local" and site.replay is None:
        site = replace(site, nodes=ends)
    if given["rails"] is not None:
        wanted = RailsSettings(site=site, ends=ends, **part_of(given, RailsSettings))
        compared = rails_run.run_rails(wanted, progress)
        return rails_view.rails_report(compared.recorded.info, compared.result), compared.folder
    measured = curve_run.run_curve(CurveSettings(site=site, ends=ends, **part_of(given, CurveSettings)), progress)
    return curve_view.curve_report(measured.recorded.info, measured.result), measured.folder


def _saturation(
    site: SiteSettings, ends: tuple[str, ...], given: dict[str, Any], progress: Progress
) -> tuple[Report, Path]:
    launcher = "ssh" if site.hosts or in_other_job(os.environ) else "slurm"
    site = replace(site, launcher=launcher, nodes=() if site.replay else ends)
    measured = saturate_run.run_saturate(SaturateSettings(site=site, ends=ends, ranks=given["ranks"]), progress)
    return saturate_view.saturation_report(measured.recorded.info, measured.result), measured.folder


def _transports(
    site: SiteSettings, ends: tuple[str, ...], given: dict[str, Any], progress: Progress
) -> tuple[Report, Path]:
    within = given["within"]
    site = replace(site, nodes=ends or ((within,) if within else ()))
    settings = TransportsSettings(site=site, ends=ends, **part_of(given, TransportsSettings))
    outcome = transports_run.run_transports(settings, progress)
    return transports_view.transports_report(outcome.recorded.info, outcome.result), outcome.folder
