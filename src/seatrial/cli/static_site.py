"""seatrial site: the archive as pages that need no server.

Nothing is measured. The exit code is 0 whatever the pages say: `seatrial status` is the command that judges.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.cli import operation
from seatrial.cli.options import FOLDER, archive_option
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import argument
from seatrial.commands.compare import run as compare_run
from seatrial.commands.compare import view as compare_view
from seatrial.commands.facts import view as facts_view
from seatrial.commands.history import run as history_run
from seatrial.commands.history import view as history_view
from seatrial.commands.runs import view as runs_view
from seatrial.commands.site import generation as site_generation
from seatrial.commands.site import pages as site_pages
from seatrial.commands.site import run as site_run
from seatrial.commands.site import view as site_view
from seatrial.commands.status import view as status_view
from seatrial.model.subject import FABRIC

if TYPE_CHECKING:
    from seatrial.render.report import Report


@click.command()
@argument("folder", type=FOLDER, help="Folder of the site: a new one, or a site to bring up to date.", metavar="DIR")
@archive_option
@output_options()
def site(folder: Path, archive: Path, output: OutputForms) -> int:
    """Write the archive as pages: the index with a map of the nodes, and a page for each node and each run."""
    with site_generation.next_generation(folder) as made:
        fields = site_run.render_site(archive, made, readers(), datetime.now(UTC))
    return output.show(site_view.site_report(fields))


def readers() -> "site_pages.Readers":
    """What other commands make of an archive."""
    return site_pages.Readers(
        report_of=operation.report_within,
        judged_rows=operation.judged,
        judged_runs=operation.read_runs,
        status=lambda nodes, runs, unread, at: status_view.status_report(
            nodes, runs, unread, at, operation.gates_now(at.timestamp())
        ),
        run_list=lambda rows: runs_view.list_report(rows, ""),
        facts=facts_view.facts_report,
        histories=_histories,
        compared=lambda archive, first, second: compare_view.comparison_report(
            compare_run.run_comparison(archive, first, second)
        ),
    )


def _histories(archive: Path, runs: str) -> "list[tuple[str, Report]]":
    histories = history_run.read_history(archive, "", FABRIC, say, runs)
    return [(each.metric.name, history_view.history_report([each])) for each in histories]
