"""seatrial fabric: the InfiniBand fabric's map, and what is wrong with its cables."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import click

from seatrial.cli.options import DURATION, NODES, PATH, read_text, routes_option
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import CommandGroup, argument, option
from seatrial.commands.fabric import view as fabric_view
from seatrial.fabric import counters, forwarding, ibnetdiscover, map_check, table_check
from seatrial.fabric import counters as fabric_counters
from seatrial.files.inputs import ROUTES_BYTES
from seatrial.importers import other_outputs, printed_text
from seatrial.launch import site_outputs
from seatrial.model.errors import UsageError
from seatrial.model.words import count

if TYPE_CHECKING:
    from seatrial.model.fabric import FabricMap
    from seatrial.model.verdict import Finding


@click.group(cls=CommandGroup)
def fabric() -> None:
    """The InfiniBand fabric: its map, and what is wrong with its cables."""


file_argument = argument(
    "file",
    type=PATH,
    default=None,
    help="Output of ibnetdiscover (also -p), iblinkinfo (also -l), opareport -o links; db_csv or log of ibdiagnet.",
    metavar="[FILE]",
)
live_option = option("--live", is_flag=True, help="Query the live fabric with ibnetdiscover.")


@fabric.command("show")
@file_argument
@live_option
@routes_option
@output_options("plot")
def show(file: Path | None, live: bool, routes: str, output: OutputForms) -> int:
    """Show switches, adapters and cables with the rates they trained to, and how routes use the uplinks."""
    cables = read_map(file, live)
    return output.show(fabric_view.map_report(cables, read_routes(cables, routes)))


@fabric.command("check")
@file_argument
@live_option
@option(
    "--counters BEFORE AFTER",
    nargs=2,
    type=PATH,
    help="Two readings by perfquery, ibqueryerrors, ibdiagnet or opapmaquery; reports errors that rose.",
)
@option("--watch TIME", type=DURATION, help="With --live: read the error counters twice, this far apart.")
@option("--nodes NODES", "-w", type=NODES, help="Nodes that the map must have: n[1-4] or n1,n3.")
@routes_option
@output_options("junit", "plot", "nagios")
def check(
    file: Path | None,
    live: bool,
    counters: tuple[Path, Path] | None,
    watch: float | None,
    nodes: tuple[str, ...],
    routes: str,
    output: OutputForms,
) -> int:
    """Name cables that trained below their peers, ends that disagree, missing cables, rising errors, bad routes."""
    if watch and not live:
        raise UsageError("--watch reads the counters of a live fabric.", "Add --live, or give --counters.")
    cables = read_map(file, live)
    tables = read_routes(cables, routes)
    problems: list[Finding] = [*map_check.check_map(cables, nodes), *(tables.problems if tables else ())]
    if counters is not None:
        problems += risen(cables, read_text(counters[0]), read_text(counters[1]))
    if watch:
        problems += watched(cables, watch)
    return output.show(fabric_view.problems_report(cables, problems, tables))


def read_map(file: Path | None, live: bool) -> "FabricMap":
    """The map in the file, or of the live fabric. Raises UsageError unless exactly one of the two is given."""
    if (file is None) != live:
        raise UsageError(
            "Exactly one source of the fabric is needed.", "Give a FILE with the output of ibnetdiscover, or --live."
        )
    text = read_text(file) if file is not None else site_outputs.discover()
    try:
        return ibnetdiscover.parse_fabric(text)
    except ibnetdiscover.NoMapError as error:
        with suppress(ibnetdiscover.NoMapError):
            return ibnetdiscover.parse_fabric(dedent(printed_text.plain(text)))  # out of a mail or a page
        if other := other_outputs.other_output(text):
            raise UsageError(f"{error.what} It looks like {other.name}.", other.remedy) from error
        raise


def read_routes(fabric: "FabricMap", routes: str) -> "table_check.TableReport | None":
    """Results from the fabric's forwarding tables; None where none are given."""
    if not routes:
        return None

    text = site_outputs.read_tables() if routes == "live" else read_text(Path(routes), ROUTES_BYTES)
    return table_check.check_tables(fabric, forwarding.parse_tables(text, fabric))


def risen(fabric: "FabricMap", before: str, after: str) -> "tuple[Finding, ...]":
    """Errors that rose between two readings of the counters. Raises UsageError where they have nothing in common."""
    first, second = counters.read_counter_text(before), counters.read_counter_text(after)
    if first.errors_only != second.errors_only:
        raise UsageError("One of the two readings is of ibqueryerrors.", "Read both with the same tool.")
    if not (first.errors_only or first.ports.keys() & second.ports.keys()):
        raise UsageError(
            f"The two readings have no port in common ({len(first.ports)} and {count(len(second.ports), 'port')}).",
            "Give two outputs of `perfquery --loop_ports LID` (or several one after the other), of ibqueryerrors, of "
            "opapmaquery, or two .pm files of ibdiagnet.",
        )
    names = {**second.names, **port_names(fabric, second.ports)}
    return fabric_counters.rising(first.ports, second.ports, names, errors_only=first.errors_only)


def port_names(fabric: "FabricMap", ports: Iterable[tuple[int | str, int]]) -> dict[tuple[int | str, int], str]:
    """`leaf1[3]` for each port whose LID or GUID is in the map."""
    called = {device.key: device.name or device.key for device in fabric.devices}
    names: dict[int | str, str] = {device.lid: called[device.key] for device in fabric.devices if device.lid}
    names |= {device.key.partition("-")[2]: called[device.key] for device in fabric.devices}
    names |= {one.guid: called[one.end.device] for one in fabric.addresses if one.guid and one.end.device in called}
    return {port: f"{names[port[0]]}[{port[1]}]" for port in ports if port[0] in names}


def watched(fabric: "FabricMap", apart_s: float) -> "tuple[Finding, ...]":
    """Errors that rise between two live readings."""
    lids = sorted({device.lid for device in fabric.devices if device.lid})
    before = site_outputs.read_counters(lids)
    print(f"Read the counters of {count(len(lids), 'device')}; reading them again in {apart_s:.0f} s.", file=sys.stderr)
    time.sleep(apart_s)
    return risen(fabric, before, site_outputs.read_counters(lids))
