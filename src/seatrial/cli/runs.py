"""seatrial runs: what is in the archive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from seatrial.archive import export as archive_export
from seatrial.archive import layout, listing, reader, recovery, samples
from seatrial.archive.layout import ExportFormat
from seatrial.cli import operation, report
from seatrial.cli.facts import tell_facts
from seatrial.cli.options import NODE, PATH, RUN, archive_option, run_argument
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import CommandGroup, Word, argument, option
from seatrial.cli.progress import progress_on
from seatrial.commands.facts import detached as facts_detached
from seatrial.commands.runs import view as runs_view
from seatrial.driver import detached as driver_detached
from seatrial.driver import submitted as driver_submitted
from seatrial.model.errors import ExitCode
from seatrial.model.words import count
from seatrial.recordings import run_file
from seatrial.render.escape import clean
from seatrial.render.report import Report


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, export, import, recover and collect archived runs."""


@runs.command("list")
@option("--failed", is_flag=True, help="Only runs that did not pass.")
@option("--node NODE", type=NODE, help="Only runs of this node.")
@archive_option
@output_options()
def list_runs(failed: bool, node: str, archive: Path, output: OutputForms) -> int:
    """Print all runs with their verdicts, newest first, including those that were cut off or are damaged."""
    judged = operation.judged(listing.list_archive(archive, node))
    rows = [row for row in judged if not failed or row.exit_code != 0]
    which = (f" of {node}" if node else "") + " that did not pass" * failed
    return output.show(runs_view.list_report(rows, f"No runs{which} in {archive}."))


@runs.command("show")
@run_argument
@archive_option
@output_options()
def show_run(run: str, archive: Path, output: OutputForms) -> int:
    """Print what a run is: run.json, and a line for each kernel measured."""
    folder = reader.find_run(archive, run)
    info = reader.read_info(folder)
    damage = reader.damage_of(folder, info)
    kernels: list[tuple[Any, ...]] = []
    problem = ""
    try:
        kernels = archive_export.kernel_table(folder)
    except (layout.DamagedRun, samples.NotInstalled) as error:
        problem = str(error)
    code = ExitCode.INCOMPLETE if damage or problem else ExitCode.PASS
    made = runs_view.show_report(info, kernels, damage=damage, problem=problem, exit_code=code)
    return output.show(made)


@runs.command("export")
@run_argument
@option("--output FILE", type=PATH, help="File to write.  [default: samples.csv; with --whole RUN.tar.gz]")
@option("--format", "form", type=Word(ExportFormat), default=ExportFormat.CSV.value, help="csv, jsonl or parquet.")
@option("--whole", is_flag=True, help="Write the whole run instead, for `runs import` of another installation.")
@archive_option
def export_run(run: str, output: Path | None, form: ExportFormat, whole: bool, archive: Path) -> int:
    """Write a run's raw samples, one row each, for other programs; or the run itself."""
    folder = reader.find_run(archive, run)
    damage = reader.damage_of(folder, reader.read_info(folder))
    output = output or Path(f"{layout.run_of(folder)}.tar.gz" if whole else "samples.csv")
    layout.refuse_kept_file(archive, output, "--output")
    if whole:
        print(clean(f"{count(run_file.write_run_file(folder, output), 'file')} of {layout.run_of(folder)} in {output}"))
    else:
        print(f"{archive_export.export([folder], output, form)} samples in {output}")
    if damage:
        say(f"INVALID: the run is damaged: {'; '.join(damage)}.")
        return ExitCode.INCOMPLETE
    return ExitCode.PASS


@runs.command("import")
@argument("file", type=PATH, help="File that `runs export --whole` wrote.", metavar="FILE")
@archive_option
def import_run(file: Path, archive: Path) -> int:
    """Put a run that `runs export --whole` wrote, here or elsewhere, into the archive."""
    folder = run_file.read_run_file(archive, file)
    print(clean(f"{folder.name} is in {archive}; `seatrial report {folder.name}` shows it."))
    return ExitCode.PASS


@runs.command("recover")
@argument("run", type=RUN, default="", help="Only this run.  [default: all that were cut off]", metavar="[RUN]")
@option("--force", is_flag=True, help="Also runs that are still being written; their drivers then end.")
@archive_option
@output_options()
def recover_runs(run: str, force: bool, archive: Path, output: OutputForms) -> int:
    """Close runs that were cut off, with every sample delivered before. Runs still being written are left alone."""
    with progress_on() as progress:
        found = recovery.recover_runs(
            archive, run, force=force, waiting=lambda seconds, runs: progress.stage(recovery.watching(seconds, runs))
        )
    code = ExitCode.INCOMPLETE if found.damaged else ExitCode.PASS
    for bad in found.damaged if not output.as_json else ():
        say(f"{bad.run} is not closed: {bad.what} {bad.remedy}")
    return output.tell(Report(payload=lambda: found, exit_code=code), _lines(found))


def _lines(found: "recovery.Recovery") -> Iterator[str]:
    for one in found.recovered:
        torn = f", {count(one.torn_lines, 'torn line')} kept in logs" if one.torn_lines else ""
        yield f"{one.run}: {one.measurements} measurements, {one.samples} samples{torn}"
    for alone in found.running:
        who = f" by {alone.user} on {alone.host} since {alone.since} (process {alone.pid})" if alone.host else " lately"
        yield f"{alone.run}: left alone, still being written{who}; --force closes it anyway"
    for alone in found.busy:
        yield f"{alone.run}: another process is closing it or has closed it"
    for other in found.others:
        yield f"{other.run}: left alone, it belongs to {other.user}, who alone can close it"
    if found.removed_folders:
        yield f"Removed {count(found.removed_folders, 'folder')} of files that killed runs had left."
    elif not (found.recovered or found.running or found.busy or found.others or found.damaged):
        yield "Nothing to recover."


@runs.command("collect")
@run_argument
@archive_option
@output_options()
def collect_run(run: str, archive: Path, output: OutputForms) -> int:
    """Show the state of a detached check or facts job; a finished check is reported and sets the exit code."""
    folder, submitted = driver_submitted.find_submitted(archive, run)
    if submitted.what == facts_detached.WHAT:
        return tell_facts(facts_detached.collect_facts(folder, submitted), output)
    with progress_on() as progress:
        found = driver_detached.collect(folder, submitted, progress)
    if found.folder is None:
        return output.tell(runs_view.waiting_report(submitted.run, found.state), [found.state])
    return output.show(report.report_of(found.folder), found.folder)
