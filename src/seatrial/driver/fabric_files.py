"""What a check knows of the fabric's cables and routes: from files, from the fabric itself, or from a recording."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from seatrial.archive.reader import read_wiring
from seatrial.fabric import forwarding, ibnetdiscover
from seatrial.fabric import routed_fabric as routed
from seatrial.fabric.slurm_topology import parse_leaf_file
from seatrial.files.inputs import MAP_BYTES, ROUTES_BYTES, argument_text
from seatrial.launch.contract import Hosts
from seatrial.launch.site_outputs import discover, read_tables
from seatrial.model.errors import UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.settings import CheckSettings
from seatrial.model.words import count

if TYPE_CHECKING:
    from seatrial.fabric.routed_fabric import RoutedFabric

LIVE = "live"
MOST_NAMED = 4


def wiring_of(settings: CheckSettings, hosts: Hosts, nodes: Sequence[str]) -> "RoutedFabric | None":
    """The fabric of these nodes by its cables; None where none was named.

    A replay has the recorded one, unless another is named. Raises UsageError for texts that are invalid or know none
    of the nodes, LaunchError where a live fabric cannot be queried, DamagedRun.
    """
    if not settings.fabric:
        for option, given in (("--routes", settings.routes), ("--device", settings.device)):
            if given:
                raise UsageError(f"{option} {given} describes a fabric that is not given.", "Add --fabric.")
        return read_wiring(settings.replay) if settings.replay else None
    fabric = ibnetdiscover.parse_fabric(
        discover() if settings.fabric == LIVE else argument_text(Path(settings.fabric), MAP_BYTES)
    )
    tables = None
    if settings.routes:
        tables = forwarding.parse_tables(
            read_tables() if settings.routes == LIVE else argument_text(Path(settings.routes), ROUTES_BYTES), fabric
        )
    source = fabric.source if settings.fabric == LIVE else Path(settings.fabric).name
    routing = routed.make_routing(fabric, tables, nodes, hosts.fabric, device=settings.device, source=source)
    return routed.RoutedFabric(routing)


def with_leaf_file(settings: CheckSettings, hosts: Hosts) -> Hosts:
    """The hosts with the leaves of --leaves, if it is given.

    A replay may be of another cluster: the file that a site's defaults name does not hold for it. Raises UsageError for
    a file that cannot be read so, and for one that has none of the nodes.
    """
    if not settings.leaves or (settings.replay and "--leaves" in settings.from_site):
        return hosts
    path = Path(settings.leaves)
    try:
        leaf_of = parse_leaf_file(argument_text(path, MAP_BYTES))
    except ValueError as error:
        raise UsageError(
            f"--leaves {settings.leaves!r}: {error}.",
            "Write `n[1-4] leaf1` on each line, or give topology.conf or topology.yaml.",
        ) from error
    known = {node: leaf_of[node] for node in hosts.nodes if node in leaf_of}
    if not known:
        few = ", ".join(list(leaf_of)[:MOST_NAMED])
        raise UsageError(f"--leaves {settings.leaves!r} has none of the nodes; it has {few}.", "Name another file.")
    lacking = len(hosts.nodes) - len(known)
    without = f", {count(lacking, 'node')} without one" if lacking else ""
    source = f"{path.name}: {count(len(set(known.values())), 'leaf switch', 'leaf switches')}{without}"
    return msgspec.structs.replace(hosts, fabric=Fabric(leaf_of=known, source=source))


def with_leaves(hosts: Hosts, wiring: "RoutedFabric | None") -> Hosts:
    """The hosts with the leaves of the wiring, if there is one."""
    if wiring is None:
        return hosts
    return msgspec.structs.replace(hosts, fabric=Fabric(leaf_of=dict(wiring.leaf_of), source=wiring.source))
