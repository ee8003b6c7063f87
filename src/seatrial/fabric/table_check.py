"""What forwarding tables show: switches without one, routes that end nowhere or loop, idle uplinks."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.fabric.forwarding import NO_PORT, Tables
from seatrial.fabric.link_problem import device_name, problem
from seatrial.fabric.routes import Routes
from seatrial.model.fabric import FabricMap
from seatrial.model.subject import device
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count, some

MOST_HOPS = 64
"""A longer route loops: not even the fabric's own management packets can be sent so far."""
ARRIVED, LOST, NO_TABLE = -1, -2, -3
UNEVEN = 2.0
"""The busiest uplink of a leaf over the mean of all of them, from which the use is called uneven."""
FEWEST_EACH = 2
"""Destinations an uplink, in the mean, below which chance alone makes the use uneven."""
TOLD = 3
Places = NDArray[np.intp]


class LeafUplinks(msgspec.Struct, frozen=True, kw_only=True):
    """How a leaf switch spreads its destinations: port -> how many adapters elsewhere it sends there."""

    leaf: str
    used: dict[int, int] = msgspec.field(name="destinations")

    @property
    def uneven(self) -> bool:
        """Whether the busiest has much more than its share."""
        mean = sum(self.used.values()) / max(len(self.used), 1)
        return mean >= FEWEST_EACH and max(self.used.values()) >= UNEVEN * mean


class TableReport(msgspec.Struct, frozen=True, kw_only=True):
    """`problems`, and a `statement` on the use of uplinks; `uplinks` of every leaf that has a table."""

    problems: tuple[Finding, ...]
    statement: str
    uplinks: tuple[LeafUplinks, ...]
    reached: int
    """Ways from a leaf switch to an adapter that arrive, of `ways`."""
    ways: int


def check_tables(fabric: FabricMap, tables: Tables) -> TableReport:
    """Follow the tables from every leaf switch to every adapter."""
    routes = Routes(fabric)
    names = {device.key: device_name(device) for device in fabric.devices}
    without = [key for key in routes.graph.names if key not in tables.ports]
    leaves = list(dict.fromkeys(routes.leaf_of.values()))
    ends = _followed(routes, tables, leaves)
    lost, circling = ends == LOST, ends >= 0
    problems = []
    if without:
        problems.append(
            problem(
                kind=FindingKind.TABLE_MISSING,
                subject=device(", ".join(names[key] for key in without[:TOLD])),
                statement=f"{count(len(without), 'switch', 'switches')} of {len(routes.graph.names)} without a "
                f"forwarding table: {some([names[key] for key in without], TOLD)}.",
                remedy="Read the tables again: the switch did not answer, or the subnet manager never reached it.",
            )
        )
    problems += _broken(tables.adapters, names, leaves, lost, FindingKind.DESTINATION_UNREACHABLE)
    problems += _broken(tables.adapters, names, leaves, circling, FindingKind.ROUTE_IN_A_CIRCLE)
    uplinks = tuple(_uplinks(routes, tables, leaf, names[leaf]) for leaf in leaves if leaf in tables.ports)
    return TableReport(
        problems=tuple(problems),
        statement=_statement(uplinks),
        uplinks=uplinks,
        reached=int((ends == ARRIVED).sum()),
        ways=int(ends.size),
    )


def _followed(routes: Routes, tables: Tables, leaves: Sequence[str]) -> Places:
    """One row a leaf, one column an adapter: ARRIVED, LOST, NO_TABLE, or the switch that a route reached after
    MOST_HOPS.
    """
    following = _next_switches(routes, tables)
    places = np.repeat(np.array([routes.graph.place[leaf] for leaf in leaves], dtype=np.intp), len(tables.adapters))
    target = np.tile(np.arange(len(tables.adapters), dtype=np.intp), len(leaves))
    for _ in range(MOST_HOPS):
        going = np.flatnonzero(places >= 0)
        if not going.size:
            break
        places[going] = following[places[going], target[going]]
    return places.reshape(len(leaves), len(tables.adapters))


def _next_switches(routes: Routes, tables: Tables) -> Places:
    """One row a switch, one column an adapter: the switch that comes next, ARRIVED, LOST, or NO_TABLE."""
    adapter = {key: number for number, key in enumerate(tables.adapters)}
    switches = np.full((len(routes.graph.names), len(adapter)), LOST, dtype=np.intp)
    for row, switch in enumerate(routes.graph.names):
        if switch not in tables.ports:
            switches[row] = NO_TABLE
            continue
        ports = np.array(tables.ports[switch], dtype=np.intp)
        for port, neighbour in routes.neighbours(switch).items():
            chosen = np.flatnonzero(ports == port)
            if neighbour in routes.graph.place:
                switches[row, chosen] = routes.graph.place[neighbour]
            elif neighbour in adapter:
                switches[row, chosen[chosen == adapter[neighbour]]] = ARRIVED
    return switches


def _broken(
    adapters: Sequence[str], names: dict[str, str], leaves: Sequence[str], bad: NDArray[np.bool_], kind: FindingKind
) -> list[Finding]:
    """One problem for all ways that are wrong in the same manner."""
    wrong = int(bad.sum())
    if not wrong:
        return []
    targets = [names[adapters[place]] for place in np.flatnonzero(bad.any(axis=0)).tolist()]
    row, column = (int(each[0]) for each in np.nonzero(bad))
    first = f"from {names[leaves[row]]} to {names[adapters[column]]}"
    circle = kind is FindingKind.ROUTE_IN_A_CIRCLE
    return [
        problem(
            kind=kind,
            subject=device(", ".join(targets[:TOLD])),
            statement=f"According to the tables, {wrong} of {bad.size} routes from a leaf switch to an adapter "
            f"{'loop' if circle else 'do not arrive'}, the first {first}; affected: {some(targets, TOLD)}.",
            remedy="Have the subnet manager recompute the routes; if it persists, check its routing engine and log."
            if circle
            else "Read map and tables at the same time; if it persists, have the subnet manager recompute the routes.",
        )
    ]


def _uplinks(routes: Routes, tables: Tables, leaf: str, name: str) -> LeafUplinks:
    ports = [port for port, neighbour in routes.neighbours(leaf).items() if neighbour in routes.graph.place]
    elsewhere = [
        port
        for adapter, port in zip(tables.adapters, tables.ports[leaf], strict=True)
        if port != NO_PORT and routes.leaf_of.get(adapter) != leaf
    ]
    return LeafUplinks(leaf=name, used={port: elsewhere.count(port) for port in sorted(ports)})


def _statement(uplinks: Sequence[LeafUplinks]) -> str:
    ports = sum(len(one.used) for one in uplinks)
    idle = [
        f"{one.leaf}[{port}]"
        for one in uplinks
        if any(one.used.values())
        for port, used in one.used.items()
        if not used
    ]
    uneven = [
        f"{one.leaf} ({min(one.used.values())} to {max(one.used.values())} destinations a port)"
        for one in uplinks
        if one.uneven
    ]
    clauses = [f"{count(len(uplinks), 'leaf switch', 'leaf switches')} with {count(ports, 'uplink')}"]
    clauses.append(f"no route uses {len(idle)} of them: {some(idle, TOLD)}" if idle else "routes use all of them")
    if uneven:
        clauses.append(f"very uneven: {some(uneven, TOLD)}")
    return "; ".join(clauses) + "."
