"""seatrial swap: which part is at fault, by exchanging parts between places."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from seatrial.archive import swaps
from seatrial.archive.inputs import TABLES_BYTES
from seatrial.cli.options import Archive, AsJson, archive_folder, read_text, share_of
from seatrial.cli.outcome import show
from seatrial.commands.swap import judge as swap_judge
from seatrial.commands.swap import view as swap_view
from seatrial.commands.swap import words as swap_words
from seatrial.model.errors import UsageError
from seatrial.model.part_swap import SwapHistory

app = typer.Typer(
    help="Find a faulty part by exchanging parts: which one it is, and which exchange reveals most.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(help="Name of the search.", metavar="NAME")]


@app.command()
def start(
    name: Name,
    places: Annotated[
        list[str] | None, typer.Argument(help="Parts by place: node=n1,card=c1,cable=k1.", metavar="PLACE...")
    ] = None,
    fixed: Annotated[
        str, typer.Option(help="Kinds of parts that cannot be moved: node,slot.  [default: the first]", metavar="KINDS")
    ] = "",
    table: Annotated[
        Path | None, typer.Option("--from", help="A table of earlier exchanges in place of PLACE.", metavar="FILE")
    ] = None,
    miss: Annotated[str, typer.Option(help="How often a faulty part measures good.", metavar="SHARE")] = "5%",
    false_alarm: Annotated[str, typer.Option(help="How often good parts measure bad.", metavar="SHARE")] = "1%",
    replace: Annotated[bool, typer.Option("--replace", help="Replace a search of that name.")] = False,
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Begin a search: which parts are where."""
    folder = archive_folder(archive)
    if bool(places) == (table is not None):
        raise UsageError("Either places or --from must be given.", swap_words.PLACE_EXAMPLE)
    if swaps.exists(folder, name) and not replace:
        raise UsageError(f"There is a search {name!r} already.", "Add --replace, or choose another name.")
    kinds = tuple(kind.strip() for kind in fixed.split(",") if kind.strip())
    rates = {"miss_rate": share_of(miss, "--miss"), "false_alarm_rate": share_of(false_alarm, "--false-alarm")}
    if table is not None:
        history = swap_words.imported(name, read_text(table, TABLES_BYTES), kinds, **rates)
    else:
        history = swap_words.started(name, places or (), kinds, **rates)
    swaps.write_swap(folder, history)
    return show(swap_view.swap_report(swap_judge.judge(history)), as_json=as_json)


@app.command()
def record(
    name: Name,
    results: Annotated[
        list[str] | None, typer.Argument(help="Results by place: n1=bad n2=good.", metavar="RESULT...")
    ] = None,
    exchange: Annotated[
        list[str] | None,
        typer.Option(help="What was exchanged before the measurement: card:n1,n2; may be repeated.", metavar="WHAT"),
    ] = None,
    run: Annotated[str, typer.Option(help="The run that measured it, for the record.", metavar="RUN")] = "",
    archive: Archive = None,
    as_json: AsJson = False,
) -> int:
    """Record what was exchanged and what was measured then; says what to exchange next."""
    folder = archive_folder(archive)
    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    history = swap_words.recorded(_read(folder, name), exchange or (), results or (), run=run, time=time)
    swaps.write_swap(folder, history)
    return show(swap_view.swap_report(swap_judge.judge(history)), as_json=as_json)


def _read(folder: Path, name: str) -> SwapHistory:
    return swap_words.checked(swaps.read_swap(folder, name))


@app.command()
def status(name: Name, archive: Archive = None, as_json: AsJson = False) -> int:
    """Print what a search has shown so far, and what to exchange next."""
    history = _read(archive_folder(archive), name)
    return show(swap_view.swap_report(swap_judge.judge(history)), as_json=as_json)
