"""seatrial check: the main job."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from seatrial.cli.options import AsJson, FabricDevice, FabricFile, Html, RoutesFile, file_or_live, share_of, time_text
from seatrial.cli.site_options import refuse_idle_only, with_site_options
from seatrial.driver.settings import DEFAULTS
from seatrial.model.errors import UsageError
from seatrial.render.json_text import json_text

if TYPE_CHECKING:
    from seatrial.driver.settings import CheckSettings


@with_site_options(budget=time_text(DEFAULTS.budget_s))
def check(
    nodes: Annotated[str, typer.Option(help="Only these nodes: n[1-4] or n1,n3.", metavar="NODES")] = "",
    design: Annotated[
        str, typer.Option(help="Which pairs: auto, complete, sparse or leaf.", metavar="NAME")
    ] = DEFAULTS.design,
    as_json: AsJson = False,
    html: Html = None,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it to the queue; collect by `runs collect`.")] = False,
    ranks: Annotated[int, typer.Option(help="Ranks where there is no Slurm.", min=2, max=512)] = DEFAULTS.ranks,
    pairs_at_once: Annotated[
        int, typer.Option(help="Pairs measured at once.  [default: half the nodes, one on a shared kernel]", min=0)
    ] = DEFAULTS.pairs_at_once,
    no_loaded: Annotated[bool, typer.Option("--no-loaded", help="Leave out the rounds that load the uplinks.")] = False,
    fabric: FabricFile = "",
    routes: RoutesFile = "",
    device: FabricDevice = "",
    effect: Annotated[
        str, typer.Option(help="Smallest loss of bandwidth that is a fault.  [default: 3 %]", metavar="SHARE")
    ] = "",
    latency_effect: Annotated[
        str,
        typer.Option(help="Smallest excess of latency that is a fault.  [default: 10 % and 0.3 µs]", metavar="SHARE"),
    ] = "",
    *,
    site: "CheckSettings",
) -> int:
    """Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault."""
    from seatrial.cli.outcome import show
    from seatrial.cli.progress import progress_on
    from seatrial.commands.check.run import run_check
    from seatrial.driver.detached import submit_check

    settings = replace(
        site,
        nodes=parse_nodes(nodes),
        design=design,
        pairs_at_once=pairs_at_once,
        loaded=not no_loaded,
        ranks=ranks,
        fabric=file_or_live(fabric),
        routes=file_or_live(routes),
        device=device,
        effect=share_of(effect, "--effect") if effect else None,
        latency_effect=share_of(latency_effect, "--latency-effect") if latency_effect else None,
    )
    if detach:
        refuse_idle_only(site)
        submitted = submit_check(settings)
        if as_json:
            print(json_text({"format": 1, "run": submitted.run, "job": submitted.job, "cut": submitted.cut}), end="")
            return 0
        if submitted.cut:
            print(submitted.cut)
        print(f"Job {submitted.job} will measure; `seatrial runs collect {submitted.run}` says how it went.")
        return 0
    with progress_on(sys.stderr) as progress:
        outcome = run_check(settings, progress)
    return show(outcome.folder, outcome.recorded, outcome.judgement, as_json=as_json, html=html)


def parse_nodes(text: str, what: str = "--nodes") -> tuple[str, ...]:
    """n[1-3],n7 -> its nodes. `what`: the option that gave them. Raises UsageError that shows the text."""
    if not text:
        return ()
    from seatrial.model.node_list import expand

    try:
        nodes = expand(text)
    except ValueError as error:
        raise UsageError(f"{what} {text!r} is not a valid list of nodes: {error}.", "Write n[1-4] or n1,n3.") from error
    if not nodes:
        raise UsageError(f"{what} {text!r} names no node.", "Write n[1-4] or n1,n3.")
    return nodes
