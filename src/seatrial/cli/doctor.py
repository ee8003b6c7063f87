"""seatrial doctor: what stands in the way of a launch."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, Html, parse_nodes, time_text, width_and_colour
from seatrial.cli.outcome import write_page
from seatrial.cli.progress import progress_on
from seatrial.cli.site_options import with_site_options
from seatrial.commands.doctor import html as doctor_html
from seatrial.commands.doctor import run as doctor_run
from seatrial.commands.doctor import text as doctor_text
from seatrial.model.settings import CHECK_BUDGET_S, DOCTOR_WAIT_S

if TYPE_CHECKING:
    from seatrial.model.settings import SiteSettings


@with_site_options(
    "budget", "archive", "round_timeout", "replay", "run", "seed",
    wait=time_text(DOCTOR_WAIT_S), budget=time_text(CHECK_BUDGET_S),
)  # fmt: skip
def doctor(
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    as_json: AsJson = False,
    html: Html = None,
    *,
    site: "SiteSettings",
) -> int:
    """Try a launch step by step, cheapest first, and name what stands in the way, with what to do about it."""

    settings = replace(site, nodes=parse_nodes(nodes))
    with progress_on(sys.stderr) as progress:
        found = doctor_run.examine(settings, progress)
    if as_json:
        print(doctor_text.examination_as_json(found), end="")
    else:
        width, colour = width_and_colour()
        print(doctor_text.examination_as_text(found, width=width, colour=colour), end="")
    if html is not None:
        write_page(html, doctor_html.examination_as_html(found))
        if not as_json:
            print(f"Page: {html}")
    return int(found.exit_code)
