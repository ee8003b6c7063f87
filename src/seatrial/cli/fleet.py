"""seatrial fleet: one benchmark's values from many nodes, judged."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.archive import run_sets
from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import catalogue
from seatrial.cli.options import BETTER, PATH, RUN, SHARE, archive_option, by_option, read_text, read_texts, runs_option
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import argument, option
from seatrial.commands.fleet import judge as fleet_judge
from seatrial.commands.fleet import outputs as fleet_outputs
from seatrial.commands.fleet import strata as fleet_strata
from seatrial.commands.fleet import strata_view as fleet_strata_view
from seatrial.commands.fleet import view as fleet_view
from seatrial.driver import facts_reading
from seatrial.importers import fleets
from seatrial.judgement.comparison import node_values
from seatrial.model.errors import UsageError
from seatrial.model.imported import SENSES, Sense
from seatrial.model.words import count

if TYPE_CHECKING:
    from seatrial.model.facts import NodeFacts


@click.command()
@argument(
    "files", type=PATH, nargs=-1, help="CSV or JSON with nodes and values, or a folder of outputs.", metavar="[FILE]..."
)
@option("--column", help="Column of the values; of STREAM Copy, Scale, Add or Triad.", metavar="NAME")
@by_option
@option(
    "--part",
    multiple=True,
    help="Column of a part of a node: a GPU, a socket.  [default: by contents]",
    metavar="COLUMN",
)
@option(
    "--better", type=BETTER, help="Which values are good: higher or lower.  [default: by the metric]", metavar="WHICH"
)
@option("--effect", type=SHARE, default="2%", help="Smallest loss of a node that matters.", metavar="SHARE")
@option(
    "--facts",
    type=RUN,
    default="",
    help="Facts of the nodes: a recording, or a run of the archive.  [default: those of --runs]",
    metavar="RUN|PATH",
)
@runs_option
@archive_option
@output_options("junit")
def fleet(
    files: tuple[Path, ...],
    column: str,
    by: tuple[str, ...],
    part: tuple[str, ...],
    better: str | None,
    effect: float,
    facts: str,
    runs: str,
    archive: Path,
    output: OutputForms,
) -> int:
    """Judge one benchmark's values from many nodes: which are slow, which had single bad runs, what would be found."""
    if bool(files) == bool(runs):
        raise UsageError("Either files or --runs must be given.", "Give one of them.")
    tables = {runs: _of_runs(archive, runs, column)} if runs else {}
    outputs: dict[str, str] = {}
    for file in files:
        if file.is_dir():
            texts = read_texts(file)
            table = fleet_outputs.table_of_outputs(texts, column)
            tables[str(file)] = table or fleets.one_stratum(fleets.read_outputs(texts, column))
        elif catalogue.detected(text := read_text(file, TABLES_BYTES)):
            outputs[file.name if file.name not in outputs else str(file)] = text
        else:
            tables[str(file)] = fleets.read_fleet_table(text, column, by, part)
    if table := fleet_outputs.table_of_outputs(outputs, column):
        tables[count(len(outputs), "output")] = table
    chosen = SENSES[better] if better else None
    facts_of = _facts(archive, facts, runs)
    if fleet_strata.is_divided(tables):
        divided = fleet_strata.judge_strata(tables, chosen, effect=effect)
        divided = fleet_strata.facts_of_strata(divided, facts_of) if facts_of else divided
        report = fleet_strata_view.strata_report(divided, tables)
    else:
        judged = fleet_judge.judge_tables(tables, chosen, effect=effect)
        judged = fleet_judge.with_facts(judged, facts_of) if facts_of else judged
        report = fleet_view.fleet_report(judged, tables)
    return output.show(report)


def _facts(archive: Path, facts: str, runs: str) -> "Mapping[str, NodeFacts]":
    """Of the run or recording that is named, or of the newest of the runs that has any. Raises UsageError."""
    if facts:
        return facts_reading.read_earlier(facts, archive).facts
    return run_sets.find_runs(archive, runs).parsed_facts() if runs else {}


def _of_runs(archive: Path, runs: str, column: str) -> "fleets.FleetTable":
    """The values of the nodes in runs of the archive."""
    chosen = run_sets.find_runs(archive, runs)
    table = node_values.metric_named(run_sets.load_tables([chosen], note=say), column)
    leaf_of = {name: leaf for run in chosen.summaries for name, leaf in run.leaf_of.items()}
    return fleets.one_stratum(
        node_values.values_by_node(table, leaf_of), sense=Sense.LOWER if table.metric.sign > 0 else Sense.HIGHER
    )
