"""seatrial curve: latency and bandwidth of one pair over message sizes."""

import re
import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Html, rail_names
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.curve import run as curve_run
from seatrial.commands.curve import view as curve_view
from seatrial.commands.curve.rails import run as rails_run
from seatrial.commands.curve.rails import view as rails_view
from seatrial.model.errors import UsageError
from seatrial.model.settings import CURVE_MOST_BYTES, CURVE_PER_OCTAVE, CurveSettings, RailsSettings

UNITS = {"": 1, "b": 1, "kib": 1 << 10, "k": 1 << 10, "mib": 1 << 20, "m": 1 << 20, "gib": 1 << 30, "g": 1 << 30}
LEAST_BYTES = 1024
MOST_BYTES = 1 << 30


SHARED = Shared()


def curve(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The node that sends.", metavar="[A")] = "",
    target: Annotated[
        str, typer.Argument(help="The node that receives.  [default: the only two nodes]", metavar="B]")
    ] = "",
    max_size: Annotated[
        str, typer.Option(help="The largest message: 64KiB, 4MiB.", metavar="SIZE")
    ] = f"{CURVE_MOST_BYTES >> 20}MiB",
    per_octave: Annotated[
        int, typer.Option(help="Message sizes per doubling.", min=1, max=16, metavar="N")
    ] = CURVE_PER_OCTAVE,
    rails: Annotated[
        str, typer.Option(help="Compare rails, each alone and all together: eth0,eth1, or auto.", metavar="LIST")
    ] = "",
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Measure a pair over message sizes: pieces of the latency, protocol switches, plateau against the limit."""

    site = settings_of(context)
    ends = tuple(end for end in (source, target) if end)
    if site.launcher != "local" and site.replay is None:
        site = replace(site, nodes=ends)
    most_bytes = message_size(max_size)
    if rails:
        wanted = RailsSettings(
            site=site, ends=ends, rails=rail_names(rails), most_bytes=most_bytes, per_octave=per_octave
        )
        with progress_on(sys.stderr) as progress:
            compared = rails_run.run_rails(wanted, progress)
        outcome = compared.outcome
        report = rails_view.rails_report(outcome.recorded.info, compared.comparison)
        return show(report, outcome.folder, as_json=as_json, files=Files(html=html))
    settings = CurveSettings(site=site, ends=ends, most_bytes=most_bytes, per_octave=per_octave)
    with progress_on(sys.stderr) as progress:
        result = curve_run.run_curve(settings, progress)
    report = curve_view.curve_report(result.outcome.recorded.info, result.curve)
    return show(report, result.outcome.folder, as_json=as_json, files=Files(html=html))


def message_size(text: str) -> int:
    """`64KiB`, `4M`, `1500` in bytes. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]{1,10})\s*([a-zA-Z]*)", text.strip())
    count = int(match.group(1)) * UNITS.get(match.group(2).lower(), 0) if match else 0
    if not LEAST_BYTES <= count <= MOST_BYTES:
        raise UsageError(f"--max-size {text!r} is not a size from 1 KiB to 1 GiB.", "Write 64KiB or 4MiB.")
    return count
