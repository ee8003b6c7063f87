"""seatrial changepoints: where series that were measured elsewhere change."""

from collections.abc import Sequence
from pathlib import Path

import click

from seatrial.archive import run_sets
from seatrial.archive.inputs import TABLES_BYTES
from seatrial.cli.options import PATH, SHARE, archive_option, choice, read_text, runs_option
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import argument, option
from seatrial.commands.changepoints import view as changes_view
from seatrial.importers import series as value_series
from seatrial.judgement import series_changes as changes_judge
from seatrial.judgement.comparison import node_values
from seatrial.model.errors import UsageError


@click.command()
@argument("file", type=PATH, default=None, help="CSV or JSON with one or more series of values.", metavar="[FILE]")
@option("--column", multiple=True, help="Only the series of this name; may be repeated.", metavar="NAME")
@option(
    "--better",
    type=choice("higher", "lower", "unknown"),
    default="unknown",
    help="Which values are good: higher or lower. Then SLOW is a verdict.",
    metavar="WHICH",
)
@option("--effect", type=SHARE, help="Smallest change that matters: 1%.  [default: any]", metavar="SHARE")
@option(
    "--error-rate",
    type=SHARE,
    default="1%",
    help="Share of unchanged series that may be reported as changed.",
    metavar="SHARE",
)
@runs_option
@archive_option
@output_options("junit")
def changepoints(
    file: Path | None,
    column: tuple[str, ...],
    better: str,
    effect: float | None,
    error_rate: float,
    runs: str,
    archive: Path,
    output: OutputForms,
) -> int:
    """Find where a series of values changes: position, size with interval and p-value, in noise that is correlated."""
    if (file is None) == (not runs):
        raise UsageError("Either a file or --runs must be given.", "Give one of them.")
    if file is None:
        series = _of_runs(archive, runs, column)
    else:
        series = value_series.read_series(read_text(file, TABLES_BYTES), column)
    judged = changes_judge.judge_series(
        series, better=changes_judge.Better(better), effect=effect or 0.0, error_rate=error_rate
    )
    return output.show(changes_view.changes_report(judged))


def _of_runs(archive: Path, runs: str, column: Sequence[str]) -> "tuple[value_series.ValueSeries, ...]":
    """One series for each metric of runs of the archive, or for those whose names begin so."""
    chosen = run_sets.find_runs(archive, runs)
    tables = run_sets.load_tables([chosen], note=say)
    wanted = [node_values.metric_named(tables, name) for name in column] or tables
    leaf_of = {node: leaf for run in chosen.summaries for node, leaf in run.leaf_of.items()}
    return node_values.series_of(wanted, chosen.summaries, leaf_of)
