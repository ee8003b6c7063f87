"""seatrial compare: what changed between two sets of runs.

Exit code 1 means that something became slower, so that a script can stop an upgrade. Nothing is measured here: runs
come from the archive.
"""

from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, Html, Markdown, archive_folder, share_of
from seatrial.cli.outcome import Files, show
from seatrial.commands.compare import run as compare_run
from seatrial.commands.compare import view as compare_view
from seatrial.judgement.comparison.records import PRACTICAL

RUNS = "a run, `last`, a folder, several joined by commas, dates (2026-11-01..2026-11-10), or a baseline"
"""What both arguments may be."""


def compare(
    first: Annotated[str, typer.Argument(help=f"Before: {RUNS}.", metavar="A")],
    second: Annotated[str, typer.Argument(help="After: the same.", metavar="B")],
    effect: Annotated[
        str, typer.Option(help="Practical threshold: a smaller change does not matter.", metavar="SHARE")
    ] = f"{PRACTICAL:.0%}",
    across: Annotated[
        list[str] | None,
        typer.Option(help="Permit that this condition differs: mpi-library. May be repeated.", metavar="CONDITION"),
    ] = None,
    archive: Archive = None,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
) -> int:
    """Say what became slower, faster or stayed the same between two sets of runs, and which facts changed with it."""
    comparison = compare_run.run_comparison(
        archive_folder(archive), first, second, threshold=share_of(effect, "--effect"), across=across or ()
    )
    files = Files(html=html, markdown=markdown)
    return show(compare_view.comparison_report(comparison), as_json=as_json, files=files)
