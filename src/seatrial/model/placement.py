"""The places of the ranks of a launch: their affinity masks, as the probe read them."""

from typing import Any

import msgspec


def node_of(place: str) -> str:
    """n1:0 -> n1: the node of a place; that of a name without a number is the name."""
    base, colon, number = place.rpartition(":")
    return base if colon and number.isdecimal() else place


class RankPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One rank. `place`: what rounds call it; `node`: the node whose facts describe its machine."""

    rank: int
    place: str
    node: str
    host: str = ""
    """The name that its machine gave."""
    cpus: tuple[int, ...] = ()
    """Logical processors on which it may run, sorted; empty: not known."""
    cpu: int | None = None
    """The one on which it was when it was asked."""
    pid: int | None = None
    clock_resolution_s: float | None = None
    """Resolution of its clock; None: not known."""
    clock_overhead_s: float | None = None
    """Time for one reading of its clock."""


class ProbeStart(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of the probe and its ranks. `variant`: under which of several settings, where there were several."""

    session: int
    ranks: tuple[RankPlace, ...]
    variant: str = ""
    failure: str = ""
    """Why it did not come up, without ranks; empty: it did."""


class DefaultStart(msgspec.Struct, frozen=True, kw_only=True):
    """One launch by the MPI's own launcher without binding options: where it places the ranks of other programs."""

    line: str
    """The launch line without the program, as a user would write it: `mpirun -n 2`."""
    nodes: tuple[str, ...] = ()
    """The node of each rank."""
    ranks: tuple[dict[str, Any], ...] = ()
    """What the ranks reported about themselves."""
    failure: str = ""
    """Why it did not come up; empty: it did."""
