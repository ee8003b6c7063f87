"""seatrial baseline: runs under a name, with which later runs are compared."""

import sys
from typing import Annotated

import typer

from seatrial.archive import baselines
from seatrial.cli.options import Archive, AsJson, archive_folder
from seatrial.cli.outcome import show
from seatrial.commands.baseline import run as baseline_run
from seatrial.commands.baseline import view as baseline_view
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.words import count
from seatrial.render.escape import clean

app = typer.Typer(
    help="Keep runs under a name, with which later runs are compared.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str, typer.Argument(help="Name of the baseline.", metavar="NAME")]


@app.command("set")
def set_baseline(
    name: Name,
    runs: Annotated[
        list[str], typer.Argument(help="Runs, dates or baselines, as compare takes them.", metavar="RUN...")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a baseline of that name without asking; it is kept.")
    ] = False,
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Keep these runs as a baseline; replacing one asks, and says which regressions that would hide."""
    folder = archive_folder(archive)
    chosen = baseline_run.find_set(folder, tuple(runs))
    change = baseline_run.replacement(folder, name, chosen)
    if change.replaced and not replace and not _agreed(baseline_view.replacement_text(change)):
        raise UsageError(f"The baseline {name!r} was not changed.", "Add --replace, or choose another name.")
    written = baseline_run.write(folder, name, chosen, change.replaced)
    return show(baseline_view.set_report(written, change), as_json=as_json)


def _agreed(text: str) -> bool:
    """Whether the user agrees to replace; without a terminal, nobody does."""
    print(clean(text), file=sys.stderr)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print("Replace it? The earlier version is kept. [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@app.command("list")
def list_baselines(archive: Archive = None, as_json: AsJson = False) -> int:
    """Print all baselines."""
    folder = archive_folder(archive)
    readable, damaged = baseline_run.read_all(folder)
    return show(baseline_view.list_report(readable, damaged, str(folder)), as_json=as_json)


@app.command("show")
def show_baseline(name: Name, archive: Archive = None, as_json: AsJson = False) -> int:
    """Print the runs of a baseline and its earlier versions."""
    readable, damaged = baseline_run.read_versions(archive_folder(archive), name)
    return show(baseline_view.show_report(readable, damaged), as_json=as_json)


@app.command("drop")
def drop(name: Name, archive: Archive = None) -> int:
    """Delete a baseline with all its versions; the runs stay."""
    number = baselines.drop_baseline(archive_folder(archive), name)
    print(clean(f"Deleted the baseline {name} ({count(number, 'version')}); its runs are kept."))
    return ExitCode.PASS
