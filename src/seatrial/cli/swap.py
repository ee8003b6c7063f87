"""seatrial swap: which part is at fault, by exchanging parts between places."""

from functools import partial
from pathlib import Path

import click

from seatrial.archive import swaps
from seatrial.cli.options import PATH, SHARE, archive_option, read_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, argument, option
from seatrial.commands.swap import judge as swap_judge
from seatrial.commands.swap import view as swap_view
from seatrial.commands.swap import words as swap_words
from seatrial.driver import clock
from seatrial.files.inputs import TABLES_BYTES
from seatrial.model.errors import UsageError


@click.group(cls=CommandGroup)
def swap() -> None:
    """Find a faulty part by exchanging parts: which one it is, and which exchange reveals most."""


name_argument = argument("name", help="Name of the search.", metavar="NAME")


@swap.command()
@name_argument
@argument("places", nargs=-1, help="Parts by place: node=n1,card=c1,cable=k1.", metavar="[PLACE]...")
@option(
    "--fixed KINDS",
    help="Kinds of parts that cannot be moved: node,slot.  [default: the first; of one place node, slot and the like]",
)
@option("--from FILE", "table", type=PATH, help="A table of earlier exchanges in place of PLACE.")
@option("--miss SHARE", type=SHARE, default="5%", help="How often a faulty part measures good.")
@option("--false-alarm SHARE", type=SHARE, default="1%", help="How often good parts measure bad.")
@option("--replace", is_flag=True, help="Replace a search of that name.")
@archive_option
@output_options("plot")
def start(
    name: str,
    places: tuple[str, ...],
    fixed: str,
    table: Path | None,
    miss: float,
    false_alarm: float,
    replace: bool,
    archive: Path,
    output: OutputForms,
) -> int:
    """Begin a search: which parts are where."""
    if bool(places) == (table is not None):
        raise UsageError("Either places or --from must be given.", swap_words.PLACE_EXAMPLE)
    kinds = tuple(kind.strip() for kind in fixed.split(",") if kind.strip())
    rates = {"miss_rate": miss, "false_alarm_rate": false_alarm}
    if table is not None:
        history = swap_words.imported(name, read_text(table, TABLES_BYTES), kinds, **rates)
    else:
        history = swap_words.started(name, places, kinds, **rates)
    swaps.write_swap(archive, history, new=not replace)
    return output.show(swap_view.swap_report(swap_judge.judge(history)))


@swap.command()
@name_argument
@argument("results", nargs=-1, help="Results by place: n1=bad n2=good.", metavar="[RESULT]...")
@option(
    "--exchange WHAT", multiple=True, help="What was exchanged before the measurement: card:n1,n2; may be repeated."
)
@option("--run RUN", help="The run that measured it, for the record.")
@archive_option
@output_options("plot")
def record(
    name: str, results: tuple[str, ...], exchange: tuple[str, ...], run: str, archive: Path, output: OutputForms
) -> int:
    """Record what was exchanged and what was measured then; says what to exchange next."""
    time = clock.now_text()
    add = partial(swap_words.recorded, exchanges=exchange, results=results, run=run, time=time)
    history = swaps.change_swap(archive, name, lambda before: add(swap_words.checked(before)))
    return output.show(swap_view.swap_report(swap_judge.judge(history)))


@swap.command()
@name_argument
@archive_option
@output_options("plot")
def status(name: str, archive: Path, output: OutputForms) -> int:
    """Print what a search has shown so far, and what to exchange next."""
    history = swap_words.checked(swaps.read_swap(archive, name))
    return output.show(swap_view.swap_report(swap_judge.judge(history)))
