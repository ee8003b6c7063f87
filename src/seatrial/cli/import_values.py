"""seatrial import: values that other programs measured become runs of the archive."""

import sys
from pathlib import Path
from typing import Any

import click

from seatrial.cli.options import BETTER, PATH, RUN_NAME, archive_option, by_option
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, argument, option
from seatrial.commands.import_values import batches as import_batches
from seatrial.commands.import_values import run as import_run
from seatrial.commands.import_values import view as import_view
from seatrial.model.errors import UsageError
from seatrial.model.imported import SENSES


def form_of(text: str, what: str) -> str:
    """A form of a file. Raises UsageError for one that is not known."""
    if text and text not in import_batches.FORMS:
        raise UsageError(f"{what} {text!r} is not known.", f"Write one of {', '.join(import_batches.FORMS)}.")
    return text


@click.command()
@argument(
    "files",
    type=PATH,
    nargs=-1,
    required=True,
    help="Tables, perflogs of ReFrame, outputs, or folders of these.",
    metavar="FILE...",
)
@option(
    "--as FORM",
    "form",
    type=Text(form_of),
    default="",
    help="series, fleet, reframe or outputs.  [default: by the text]",
)
@option("--column NAME", "columns", multiple=True, help="Only this column of values; of series may be repeated.")
@by_option
@option("--part COLUMN", "parts", multiple=True, help="Column of a part of a node: a GPU.  [default: by contents]")
@option("--metric NAME", help="Name of the metric of a series or fleet.")
@option("--unit UNIT", help="Its unit: B/s, s, flop/s or any other.")
@option(
    "--better WHICH",
    type=BETTER,
    help="Which of its values are good: higher or lower.  [default: by its name and unit]",
)
@option("--name NAME", type=RUN_NAME, help="Names of the runs: NAME-0001, ...  [default: by file and checksum]")
@option("--cluster NAME", help="Name of the cluster that they were measured on.")
@archive_option
@output_options()
def import_values(
    files: tuple[Path, ...],
    better: str | None,
    name: str,
    cluster: str,
    archive: Path,
    output: OutputForms,
    **given: Any,
) -> int:
    """Write values that were measured elsewhere into the archive, for compare, history and judge."""
    wanted = import_batches.ImportOptions(sense=SENSES[better] if better else None, **given)
    imported = import_run.import_files(archive, files, wanted, name=name, cluster=cluster, command=sys.argv[1:])
    return output.show(import_view.import_report(imported))
