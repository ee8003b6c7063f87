"""seatrial import: values that other programs measured become runs of the archive."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from seatrial.cli.options import Archive, AsJson, archive_folder, run_name
from seatrial.cli.outcome import show
from seatrial.commands.import_values import batches as import_batches
from seatrial.commands.import_values import run as import_run
from seatrial.commands.import_values import view as import_view
from seatrial.model.errors import UsageError
from seatrial.model.imported import SENSES


def import_values(
    files: Annotated[
        list[Path], typer.Argument(help="Tables, perflogs of ReFrame, outputs, or folders of these.", metavar="FILE...")
    ],
    form: Annotated[
        str, typer.Option("--as", help="series, fleet, reframe or outputs.  [default: by the text]", metavar="FORM")
    ] = "",
    column: Annotated[
        list[str] | None, typer.Option(help="Only this column of values; of series may be repeated.", metavar="NAME")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column of a condition; may be repeated.  [default: by contents]", metavar="COLUMN"),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Column of a part of a node: a GPU.  [default: by contents]", metavar="COLUMN"),
    ] = None,
    metric: Annotated[str, typer.Option(help="Name of the metric of a series or fleet.", metavar="NAME")] = "",
    unit: Annotated[str, typer.Option(help="Its unit: B/s, s, flop/s or any other.", metavar="UNIT")] = "",
    better: Annotated[
        str,
        typer.Option(
            help="Which of its values are good: higher or lower.  [default: by its name and unit]", metavar="WHICH"
        ),
    ] = "",
    name: Annotated[
        str, typer.Option(help="Names of the runs: NAME-0001, ...  [default: by file and checksum]", metavar="NAME")
    ] = "",
    cluster: Annotated[str, typer.Option(help="Name of the cluster that they were measured on.", metavar="NAME")] = "",
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Write values that were measured elsewhere into the archive, for compare, history, plan, fleet, changepoints."""
    if form and form not in import_batches.FORMS:
        raise UsageError(f"--as {form!r} is not known.", f"Write one of {', '.join(import_batches.FORMS)}.")
    if better and better not in SENSES:
        raise UsageError(f"--better {better!r} is not known.", "Write higher or lower.")
    wanted = import_batches.Wanted(
        form=form,
        columns=tuple(column or ()),
        by=tuple(by or ()),
        parts=tuple(part or ()),
        metric=metric,
        unit=unit,
        sense=SENSES.get(better),
    )
    imported = import_run.import_files(
        archive_folder(archive), files, wanted, name=run_name(name), cluster=cluster, command=sys.argv[1:]
    )
    return show(import_view.import_report(imported), as_json=as_json)
