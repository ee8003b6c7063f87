"""seatrial locate: judge a matrix that another tool measured."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.archive.inputs import MATRIX_BYTES, ROUTES_BYTES, open_argument
from seatrial.cli.options import PATH, SHARE, read_text, read_texts, routes_option, say_waiting
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import argument, option
from seatrial.commands.locate import view as locate_view
from seatrial.fabric import forwarding, ibnetdiscover, slurm_topology
from seatrial.fabric import routed_fabric as routed
from seatrial.fabric import routes as fabric_routes
from seatrial.importers import formats
from seatrial.locate import classes as locate_classes
from seatrial.locate import table as locate_table
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict

if TYPE_CHECKING:
    from seatrial.fabric.routed_fabric import RoutedFabric

MOST_ROUTED_PAIRS = 4_000_000
"""All ordered pairs of 2,000 nodes; the route of each takes about 1 kB."""
EXIT_CODES = {Verdict.PASS: ExitCode.PASS, Verdict.SLOW: ExitCode.FINDINGS}
"""Any other verdict names nothing and is not a PASS."""


@click.command()
@argument("file", type=PATH, help="The other tool's output: a file, or a folder of files.", metavar="FILE")
@option("--format", "form", default="auto", help="Format of FILE; auto recognises it.", metavar="NAME")
@option(
    "--topology",
    type=PATH,
    help="Leaf switches: topology.conf or topology.yaml of Slurm, or ibnetdiscover's output.",
    metavar="FILE",
)
@routes_option
@option(
    "--effect",
    type=SHARE,
    help="Smallest loss of bandwidth to report: 0.4%.  [default: 0.75 to 3 %, by the table's scatter]",
    metavar="SHARE",
)
@option(
    "--latency-effect",
    type=SHARE,
    help="Smallest excess of latency to report.  [default: 9 % to 10 % or 0.3 µs, by scatter]",
    metavar="SHARE",
)
@output_options()
def locate(
    file: Path,
    form: str,
    topology: Path | None,
    routes: str,
    effect: float | None,
    latency_effect: float | None,
    output: OutputForms,
) -> int:
    """Name the slow and late nodes, uplinks and cables in an n×n table of latency or bandwidth measured elsewhere."""
    asked = {metric: share for metric, share in ((BANDWIDTH, effect), (LATENCY, latency_effect)) if share is not None}
    if file.is_dir():
        table = formats.read_matrix_files(read_texts(file), form)
    else:
        with open_argument(file, MATRIX_BYTES, say_waiting) as stream:
            table = formats.read_matrix(stream, form)
    classes = locate_classes.topology_classes(table)
    if routes and table.pairs > MOST_ROUTED_PAIRS:
        raise UsageError(
            f"The table has {table.pairs} pairs; with --routes at most {MOST_ROUTED_PAIRS} are read.",
            "Leave --routes out, or give a part of the table.",
        )
    wiring = wiring_of(topology, routes, table.nodes) if routes else None
    leaf_of = leaves_of(topology, table.nodes) if topology else {}
    groups = leaf_groups(leaf_of, table.nodes) if topology else (classes.groups if classes else ())
    located = locate_table.locate_in_table(table, groups, wiring, asked=asked)
    located = locate_table.with_switch_names(located, groups, leaf_of)
    code = EXIT_CODES.get(located.verdict, ExitCode.INCOMPLETE)
    return output.show(locate_view.located_report(table, located, groups, classes, code))


def leaves_of(topology: Path, nodes: tuple[str, ...]) -> dict[str, str]:
    """Node -> leaf switch. Raises UsageError for a text that is invalid, or knows none of the table's nodes."""
    text = read_text(topology)
    if slurm_topology.is_leaf_file(text):
        try:
            leaf_of = slurm_topology.parse_leaf_file(text)
        except ValueError as error:
            raise UsageError(
                f"--topology {topology}: {error}.",
                "Give Slurm's topology.conf or topology.yaml, or ibnetdiscover's output.",
            ) from error
    else:
        fabric = ibnetdiscover.parse_fabric(text)
        devices, names = fabric.by_key, ibnetdiscover.unique_names(fabric.devices)
        leaf_of = {devices[end].host: names[leaf] for end, leaf in fabric_routes.Routes(fabric).leaf_of.items()}
    if not leaf_of.keys() & set(nodes):
        known = ", ".join(sorted(leaf_of)[:3])
        raise UsageError(
            f"The topology knows none of the table's nodes ({', '.join(nodes[:3])}, ...).",
            f"It knows {known or 'no node at all'}: names must be the same in both files.",
        )
    return leaf_of


def leaf_groups(leaf_of: Mapping[str, str], nodes: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The table's nodes by leaf switch."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        if node in leaf_of:
            groups.setdefault(leaf_of[node], []).append(node)
    return tuple(tuple(group) for group in groups.values())


def wiring_of(topology: Path | None, routes: str, nodes: tuple[str, ...]) -> "RoutedFabric":
    """The cables of the table's nodes. Raises UsageError where map or tables are invalid, or know none of the nodes."""
    if topology is None:
        raise UsageError(
            f"--routes {routes} needs the fabric map that it belongs to.", "Add --topology, ibnetdiscover's output."
        )
    fabric = ibnetdiscover.parse_fabric(read_text(topology))
    tables = forwarding.parse_tables(read_text(Path(routes), ROUTES_BYTES), fabric)
    return routed.RoutedFabric(routed.make_routing(fabric, tables, nodes, NO_FABRIC, source=topology.name))
