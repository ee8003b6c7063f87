"""seatrial runs: what is in the archive."""

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.archive.layout import ExportFormat
from seatrial.cli.options import Archive, AsJson, archive_folder
from seatrial.model.units import bandwidth, duration, size
from seatrial.report.outside import clean

app = typer.Typer(
    help="List, show, export, recover and collect archived runs.", no_args_is_help=True, rich_markup_mode=None
)
Run = Annotated[str, typer.Argument(help="A run's name, the beginning of one, its folder, or `last`.")]


@app.command("list")
def list_runs(archive: Archive = None, as_json: AsJson = False) -> int:
    """Print all runs, oldest first, those that were cut off included."""
    from seatrial.archive.duck import TooLittleMemory
    from seatrial.archive.export import sample_counts
    from seatrial.archive.reader import DamagedRun, read_info, run_folders
    from seatrial.model.run import run_kind

    folders = run_folders(archive_folder(archive))
    counts: dict[str, int] | None
    try:
        counts = sample_counts(folders)
    except TooLittleMemory:
        counts = None
    rows: list[dict[str, Any]] = []
    for folder in folders:
        try:
            info = read_info(folder)
        except DamagedRun:
            rows.append(_damaged(folder))
            continue
        rows.append(
            {
                "run": info.run,
                "kind": run_kind(info).value,
                "started": info.started,
                "ending": info.ending.value,
                "launcher": info.launcher,
                "nodes": len(info.nodes),
                "samples": counts.get(info.run, 0) if counts is not None else None,
                "folder": str(folder),
            }
        )
    if as_json:
        print(json.dumps({"format": 1, "runs": rows}))
    elif not rows:
        print(f"No runs in {archive_folder(archive)}.")
    else:
        _table(["run", "kind", "started", "ending", "launcher", "nodes", "samples"], rows)
    return 0


@app.command("show")
def show_run(run: Run = "last", archive: Archive = None, as_json: AsJson = False) -> int:
    """Print what a run is: run.json, and a line for each kernel measured."""
    from seatrial.archive.export import kernel_table
    from seatrial.archive.reader import find_run, read_info
    from seatrial.model.run import run_kind

    folder = find_run(archive_folder(archive), run)
    info = read_info(folder)
    shown = ("phase", "kernel", "message_bytes", "ordered_pairs", "samples", "one_way_latency", "bandwidth")
    names = (*shown[:5], "latency_s", "bandwidth_bytes_per_s", "median_time_s")
    kernels = [dict(zip(names, row, strict=True)) for row in kernel_table(folder)]
    if as_json:
        print(json.dumps({"format": 1, "run": msgspec.to_builtins(info), "kernels": kernels}))
        return 0
    for name, value in (
        ("run", info.run),
        ("kind", run_kind(info).value),
        ("started", info.started),
        ("ended", f"{info.ended} ({info.ending})"),
        ("launcher", f"{info.launcher} {f'job {info.job}' if info.job else ''}".strip()),
        ("cluster", info.cluster),
        ("nodes", " ".join(info.nodes)),
        ("MPI", info.mpi_library),
        ("design", info.design.statement if info.design else ""),
        ("remark", info.reason),
    ):
        if value:
            print(f"{name:9} {clean(value)}")
    print()
    for row in kernels:
        row["message_bytes"] = size(row["message_bytes"])
        row["one_way_latency"] = "" if row["latency_s"] is None else duration(row["latency_s"])
        row["bandwidth"] = "" if row["bandwidth_bytes_per_s"] is None else bandwidth(row["bandwidth_bytes_per_s"])
    _table(list(shown), kernels)
    return 0


@app.command("export")
def export_run(
    run: Run = "last",
    output: Annotated[Path, typer.Option(help="File to write.", metavar="FILE")] = Path("samples.csv"),
    form: Annotated[ExportFormat, typer.Option("--format", help="csv, jsonl or parquet.")] = ExportFormat.CSV,
    archive: Archive = None,
) -> int:
    """Write a run's raw samples, one row each, for other programs."""
    from seatrial.archive.export import export
    from seatrial.archive.reader import find_run

    count = export([find_run(archive_folder(archive), run)], output, form)
    print(f"{count} samples in {output}")
    return 0


@app.command("recover")
def recover_runs(archive: Archive = None, as_json: AsJson = False) -> int:
    """Close runs that were cut off, and give back every sample delivered before."""
    from seatrial.archive.reader import DamagedRun
    from seatrial.archive.recover import partial_folders, recover

    recovered, damaged = [], []
    for folder in partial_folders(archive_folder(archive)):
        try:
            recovered.append(recover(folder))
        except DamagedRun as error:
            damaged.append(error)
    if as_json:
        print(json.dumps({"format": 1, "recovered": msgspec.to_builtins(recovered)}))
    for one in [] if as_json else recovered:
        torn = f", {one.torn_lines} torn line kept in logs" if one.torn_lines else ""
        print(clean(f"{one.run}: {one.measurements} measurements, {one.samples} samples{torn}"))
    if damaged:
        raise damaged[0]
    if not recovered and not as_json:
        print("Nothing to recover.")
    return 0


@app.command("collect")
def collect_run(run: Run = "last", archive: Archive = None, as_json: AsJson = False) -> int:
    """Say how a detached check or reading of facts stands; a check that is over is reported, and exits as it did."""
    from seatrial.cli.report import show_run
    from seatrial.experiment.detached import collect
    from seatrial.experiment.facts_detached import WHAT, collect_facts
    from seatrial.experiment.submitted import find_submitted
    from seatrial.model.errors import ExitCode

    folder, submitted = find_submitted(archive_folder(archive), run)
    if submitted.what == WHAT:
        from seatrial.cli.facts_detached import tell_facts

        return tell_facts(collect_facts(folder, submitted), as_json=as_json)
    found = collect(folder, submitted)
    if found.folder is None:
        print(json.dumps({"format": 1, "state": found.state}) if as_json else clean(found.state))
        return ExitCode.INCOMPLETE
    return show_run(found.folder, as_json=as_json, html=None)


def _damaged(folder: Path) -> dict[str, Any]:
    """The row of a run whose run.json cannot be read."""
    nothing = dict.fromkeys(("nodes", "samples"), 0) | dict.fromkeys(("kind", "started", "launcher"), "")
    return {"run": folder.name, "ending": "damaged", "folder": str(folder), **nothing}


def _table(columns: list[str], rows: list[dict[str, Any]]) -> None:
    said = (["?" if row[column] is None else clean(str(row[column])) for column in columns] for row in rows)
    texts = [columns, *said]
    widths = [max(len(text[place]) for text in texts) for place in range(len(columns))]
    for text in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(text, widths, strict=True)).rstrip())
