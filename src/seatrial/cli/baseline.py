"""seatrial baseline: runs under a name, with which later runs are compared."""

import sys
from pathlib import Path

import click

from seatrial.archive import baselines
from seatrial.cli.options import archive_option
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, argument, option
from seatrial.commands.baseline import run as baseline_run
from seatrial.commands.baseline import view as baseline_view
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.words import count
from seatrial.render.escape import clean


@click.group(cls=CommandGroup)
def baseline() -> None:
    """Keep runs under a name, with which later runs are compared."""


name_argument = argument("name", help="Name of the baseline.", metavar="NAME")


@baseline.command("set")
@name_argument
@argument("runs", nargs=-1, required=True, help="Runs, dates or baselines, as compare takes them.", metavar="RUN...")
@option("--replace", is_flag=True, help="Replace a baseline of that name without asking; it is kept.")
@archive_option
@output_options()
def set_baseline(name: str, runs: tuple[str, ...], replace: bool, archive: Path, output: OutputForms) -> int:
    """Keep these runs as a baseline; replacing one asks, and says which regressions that would hide."""
    chosen = baseline_run.find_set(archive, runs)
    change = baseline_run.replacement(archive, name, chosen)
    if change.replaced and not replace and not _agreed(baseline_view.replacement_text(change)):
        raise UsageError(f"The baseline {name!r} was not changed.", "Add --replace, or choose another name.")
    written = baseline_run.write(archive, name, chosen, change.replaced)
    return output.show(baseline_view.set_report(written, change))


def _agreed(text: str) -> bool:
    """Whether the user agrees to replace; without a terminal, nobody does."""
    print(clean(text), file=sys.stderr)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print("Replace it? The earlier version is kept. [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@baseline.command("list")
@archive_option
@output_options()
def list_baselines(archive: Path, output: OutputForms) -> int:
    """Print all baselines."""
    readable, damaged = baseline_run.read_all(archive)
    return output.show(baseline_view.list_report(readable, damaged, str(archive)))


@baseline.command("show")
@name_argument
@archive_option
@output_options()
def show_baseline(name: str, archive: Path, output: OutputForms) -> int:
    """Print the runs of a baseline and its earlier versions."""
    readable, damaged = baseline_run.read_versions(archive, name)
    return output.show(baseline_view.show_report(readable, damaged))


@baseline.command("drop")
@name_argument
@archive_option
def drop(name: str, archive: Path) -> int:
    """Delete a baseline with all its versions; the runs stay."""
    number = baselines.drop_baseline(archive, name)
    print(clean(f"Deleted the baseline {name} ({count(number, 'version')}); its runs are kept."))
    return ExitCode.PASS
