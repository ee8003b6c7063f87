"""seatrial changepoints: where series that were measured elsewhere change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from seatrial.archive import run_sets
from seatrial.archive.inputs import TABLES_BYTES
from seatrial.cli.options import Archive, AsJson, Junit, Runs, archive_folder, read_text, share_of
from seatrial.cli.outcome import Files, say, show
from seatrial.commands.changepoints import view as changes_view
from seatrial.importers import series as value_series
from seatrial.judgement import series_changes as changes_judge
from seatrial.judgement.comparison import node_values
from seatrial.model.errors import UsageError


def changepoints(
    file: Annotated[
        Path | None, typer.Argument(help="CSV or JSON with one or more series of values.", metavar="FILE")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Only the series of this name; may be repeated.", metavar="NAME")
    ] = None,
    better: Annotated[
        str, typer.Option(help="Which values are good: higher or lower. Then SLOW is a verdict.", metavar="WHICH")
    ] = "unknown",
    effect: Annotated[
        str, typer.Option(help="Smallest change that matters: 1%.  [default: any]", metavar="SHARE")
    ] = "",
    error_rate: Annotated[
        str, typer.Option(help="Share of unchanged series that may be reported as changed.", metavar="SHARE")
    ] = "1%",
    runs: Runs = "",
    archive: Archive = None,
    as_json: AsJson = False,
    junit: Junit = None,
) -> int:
    """Find where a series of values changes: position, size with interval and p-value, in noise that is correlated."""
    if better not in tuple(changes_judge.Better):
        raise UsageError(f"--better {better!r} is not known.", "Write higher, lower or unknown.")
    if (file is None) == (not runs):
        raise UsageError("Either a file or --runs must be given.", "Give one of them.")
    if file is None:
        series = _of_runs(archive_folder(archive), runs, column or ())
    else:
        series = value_series.read_series(read_text(file, TABLES_BYTES), column or ())
    judged = changes_judge.judge_series(
        series,
        better=changes_judge.Better(better),
        effect=share_of(effect, "--effect") if effect else 0.0,
        error_rate=share_of(error_rate, "--error-rate"),
    )
    return show(changes_view.changes_report(judged), as_json=as_json, files=Files(junit=junit))


def _of_runs(archive: Path, runs: str, column: Sequence[str]) -> "tuple[value_series.ValueSeries, ...]":
    """One series for each metric of runs of the archive, or for those whose names begin so."""
    chosen = run_sets.find_runs(archive, runs)
    tables = run_sets.load_tables([chosen], note=say)
    wanted = [node_values.metric_named(tables, name) for name in column] or tables
    leaf_of = {node: leaf for run in chosen.summaries for node, leaf in run.leaf_of.items()}
    return node_values.series_of(wanted, chosen.summaries, leaf_of)
