"""seatrial fleet: one benchmark's values from many nodes, judged."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.archive import run_sets
from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import catalogue
from seatrial.cli.options import Archive, AsJson, Junit, Runs, archive_folder, read_text, read_texts, share_of
from seatrial.cli.outcome import Files, say, show
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


def fleet(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="CSV or JSON with nodes and values, or a folder of outputs.", metavar="FILE..."),
    ] = None,
    column: Annotated[
        str, typer.Option(help="Column of the values; of STREAM Copy, Scale, Add or Triad.", metavar="NAME")
    ] = "",
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column of a condition; may be repeated.  [default: by contents]", metavar="COLUMN"),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Column of a part of a node: a GPU, a socket.  [default: by contents]", metavar="COLUMN"),
    ] = None,
    better: Annotated[
        str,
        typer.Option(help="Which values are good: higher or lower.  [default: by the metric]", metavar="WHICH"),
    ] = "",
    effect: Annotated[str, typer.Option(help="Smallest loss of a node that matters.", metavar="SHARE")] = "2%",
    facts: Annotated[
        str,
        typer.Option(
            help="Facts of the nodes: a recording, or a run of the archive.  [default: those of --runs]",
            metavar="RUN|PATH",
        ),
    ] = "",
    runs: Runs = "",
    archive: Archive = None,
    as_json: AsJson = False,
    junit: Junit = None,
) -> int:
    """Judge one benchmark's values from many nodes: which are slow, which had single bad runs, what would be found."""
    if better and better not in SENSES:
        raise UsageError(f"--better {better!r} is not known.", "Write higher or lower.")
    folder = archive_folder(archive)
    if bool(files) == bool(runs):
        raise UsageError("Either files or --runs must be given.", "Give one of them.")
    tables = {runs: _of_runs(folder, runs, column)} if runs else {}
    outputs: dict[str, str] = {}
    for file in files or ():
        if file.is_dir():
            texts = read_texts(file)
            table = fleet_outputs.table_of_outputs(texts, column)
            tables[str(file)] = table or fleets.one_stratum(fleets.read_outputs(texts, column))
        elif catalogue.detected(text := read_text(file, TABLES_BYTES)):
            outputs[file.name if file.name not in outputs else str(file)] = text
        else:
            tables[str(file)] = fleets.read_fleet_table(text, column, by or (), part or ())
    if table := fleet_outputs.table_of_outputs(outputs, column):
        tables[count(len(outputs), "output")] = table
    chosen, smallest = SENSES.get(better), share_of(effect, "--effect")
    facts_of = _facts(folder, facts, runs)
    if fleet_strata.is_divided(tables):
        divided = fleet_strata.judge_strata(tables, chosen, effect=smallest)
        divided = fleet_strata.facts_of_strata(divided, facts_of) if facts_of else divided
        report = fleet_strata_view.strata_report(divided, tables)
    else:
        judged = fleet_judge.judge_tables(tables, chosen, effect=smallest)
        judged = fleet_judge.with_facts(judged, facts_of) if facts_of else judged
        report = fleet_view.fleet_report(judged, tables)
    return show(report, as_json=as_json, files=Files(junit=junit))


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
        node_values.values_by_node(table, leaf_of),
        sense=Sense.LOWER if table.metric.sign > 0 else Sense.HIGHER,
    )
