"""A table of pairs of nodes that another tool measured is read and judged."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from seatrial.benchmarks import catalogue
from seatrial.benchmarks.node_outputs import files_of_pairs, pairs_in_names, pairs_of_outputs
from seatrial.commands.judge.kinds import JudgeOptions
from seatrial.commands.judge.pairs.view import located_report
from seatrial.commands.judge.sources import Sources
from seatrial.fabric import forwarding, ibnetdiscover, slurm_topology
from seatrial.fabric import routed_fabric as routed
from seatrial.fabric import routes as fabric_routes
from seatrial.files.inputs import MAP_BYTES, ROUTES_BYTES, argument_text
from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.importers.lone_cells import lone_ends
from seatrial.importers.pair_evidence import NotPairs, UnclearPairs
from seatrial.locate.table import locate_in_table, topology_classes, with_switch_names
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.pair_table import PairTable
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.render.report import Report

PAIRS = "a table of pairs of nodes"
LOOKED_AT = 1 << 20
"""Bytes at the beginning of a table, of which the other columns are looked at: all of a large one would take longer
than all else, and most nodes are in each part of it."""
MOST_ROUTED_PAIRS = 4_000_000
"""All ordered pairs of 2,000 nodes; the route of each takes about 1 kB."""
EXIT_CODES = {Verdict.PASS: ExitCode.PASS, Verdict.NOTE: ExitCode.PASS, Verdict.SLOW: ExitCode.FINDINGS}
"""Any other verdict names nothing and leaves the question open."""


def pairs_judged(sources: Sources, wanted: JudgeOptions) -> Report:
    """The slow and late nodes, uplinks and cables in the table of a file or folder. Raises UsageError."""
    shares = {BANDWIDTH: wanted.effect, LATENCY: wanted.latency_effect}
    asked = {metric: share for metric, share in shares.items() if share is not None}
    table = _table_of(sources, wanted.form)
    classes = topology_classes(table)
    topology, routes = wanted.topology, wanted.routes
    if routes and table.pairs > MOST_ROUTED_PAIRS:
        raise UsageError(
            f"The table has {table.pairs} pairs; with --routes at most {MOST_ROUTED_PAIRS} are read.",
            "Leave --routes out, or give a part of the table.",
        )
    wiring = wiring_of(topology, routes, table.nodes, sources.waiting) if routes else None
    leaf_of = leaves_of(topology, table.nodes, sources.waiting) if topology else {}
    groups = leaf_groups(leaf_of, table.nodes) if topology else (classes.groups if classes else ())
    located = locate_in_table(table, groups, wiring, asked=asked)
    located = with_switch_names(located, groups, leaf_of)
    lone = lone_ends(_beginning(sources)) if sources.one_file else ()
    if lone and located.verdict is Verdict.PASS:
        located = msgspec.structs.replace(located, verdict=Verdict.NOTE)
    code = EXIT_CODES.get(located.verdict, ExitCode.INCOMPLETE)
    return located_report(table, located, groups, classes, code, lone=lone)


def _table_of(sources: Sources, form: str) -> PairTable:
    """The table of a file or of several. Raises UsageError with what it looks like if it is not a table of pairs."""
    try:
        if sources.one_file:
            return read_matrix(sources.stream(sources.paths[0]), form)
        return read_matrix_files(sources.together(), form)
    except UnclearPairs:
        raise
    except NotPairs as error:
        texts = files_of_pairs(sources.text(sources.paths[0])) if sources.one_file else sources.together()
        if form == "auto" and pairs_in_names(texts):
            return pairs_of_outputs(texts)
        if not sources.one_file:
            raise catalogue.refusal_of_folder(texts, PAIRS, error) from error
        raise catalogue.refusal(_beginning(sources), PAIRS, error) from error


def _beginning(sources: Sources) -> str:
    """The first whole lines of a file, and all of it if it is not longer than `LOOKED_AT`."""
    begun = sources.stream(sources.paths[0]).read(LOOKED_AT)
    whole = begun if len(begun) < LOOKED_AT else begun[: begun.rfind(b"\n") + 1]
    return whole.decode("utf-8", errors="replace")


def leaves_of(topology: Path, nodes: tuple[str, ...], waiting: Callable[[str], None]) -> dict[str, str]:
    """Node -> leaf switch. Raises UsageError for a text that is invalid, or knows none of the table's nodes."""
    text = argument_text(topology, MAP_BYTES, waiting)
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


def wiring_of(
    topology: Path | None, routes: str, nodes: tuple[str, ...], waiting: Callable[[str], None]
) -> routed.RoutedFabric:
    """The cables of the table's nodes. Raises UsageError where map or tables are invalid, or know none of the nodes."""
    if topology is None:
        raise UsageError(
            f"--routes {routes} needs the fabric map that it belongs to.", "Add --topology, ibnetdiscover's output."
        )
    fabric = ibnetdiscover.parse_fabric(argument_text(topology, MAP_BYTES, waiting))
    tables = forwarding.parse_tables(argument_text(Path(routes), ROUTES_BYTES, waiting), fabric)
    return routed.RoutedFabric(routed.make_routing(fabric, tables, nodes, NO_FABRIC, source=topology.name))
