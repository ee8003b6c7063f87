"""seatrial doctor: what blocks a launch."""

import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Html, parse_nodes, time_text
from seatrial.cli.outcome import Files, show
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import Shared, settings_of
from seatrial.commands.doctor import run as doctor_run
from seatrial.commands.doctor import view as doctor_view
from seatrial.model.settings import CHECK_BUDGET_S, DOCTOR_WAIT_S

SHARED = Shared(
    without=("budget", "archive", "round_timeout", "replay", "run", "seed", "verify"),
    defaults={"wait": time_text(DOCTOR_WAIT_S), "budget": time_text(CHECK_BUDGET_S)},
)


def doctor(
    context: typer.Context,
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    as_json: AsJson = False,
    html: Html = None,
) -> int:
    """Try a launch step by step, cheapest first, and name what blocks it and what to do about it."""

    site = settings_of(context)
    settings = replace(site, nodes=parse_nodes(nodes))
    with progress_on(sys.stderr) as progress:
        result = doctor_run.examine(settings, progress)
    return show(doctor_view.doctor_report(result), as_json=as_json, files=Files(html=html))
