"""The fewest parts that explain bad pairs: slow rows of a table, and dead ones."""

import msgspec
import numpy as np

from seatrial.locate.explanation import Blame, Ways, cover
from seatrial.locate.rows import Rows
from seatrial.model.pair_table import Indices, Reals


def explain(ratio: Reals, ways: Ways, line: float, tolerance: float, *, good: float | None = None) -> tuple[Blame, ...]:
    """The smallest set of parts, chosen greedily, that explains every row whose `ratio` to its peers is below `line`.

    One row at or above `good` clears all parts on its way (COMP: Chan et al., Allerton 2011); a row between `line` and
    `good` neither convicts nor clears. Without `good` the two are the same. A part that is left can be the cause of a
    row only if no row through it was better by more than `tolerance`: of two bad parts on one way the worse decides.
    The cover is that of the smallest consistent failure set (Duffield, IEEE Trans. Inf. Theory 52, 2006), parts of
    equal rows kept together.
    """
    best = np.full(ways.parts, -np.inf)
    np.maximum.at(best, ways.part, ratio[ways.row])
    bad = ratio < line
    acquitted = line if good is None else good
    able = bad[ways.row] & (best[ways.part] < acquitted) & (best[ways.part] <= ratio[ways.row] + tolerance)
    places = np.flatnonzero(bad)
    crossed = Ways(row=np.searchsorted(places, ways.row[able]), part=ways.part[able], parts=ways.parts)
    return tuple(Blame(parts=one.parts, rows=places[one.rows]) for one in cover(crossed, len(places)))


# Dead nodes and pairs.

FEWEST_DEAD = 2
"""A node is dead in one direction if at least this many of its pairs in that direction are dead, and fewer alive."""


class DeadParts(msgspec.Struct, frozen=True, kw_only=True):
    """`out` and `into`: nodes that send or receive nothing. `pairs`: rows that are dead beside these."""

    out: tuple[int, ...]
    into: tuple[int, ...]
    pairs: Indices


def dead_parts(rows: Rows) -> DeadParts:
    """The fewest nodes that explain the dead rows, and the rows that they leave."""
    dead, nodes = np.flatnonzero(rows.dead), rows.nodes
    ends = np.stack([rows.source[dead], rows.target[dead] + nodes], axis=1).ravel()
    measured = np.concatenate([np.bincount(end, minlength=nodes) for end in (rows.source, rows.target)])
    alive = measured - np.bincount(ends, minlength=2 * nodes)
    ways = Ways(row=np.repeat(np.arange(len(dead)), 2), part=ends, parts=2 * nodes)
    named = [*cover(ways, len(dead), least=np.maximum(FEWEST_DEAD, alive + 1))]
    parts = sorted(part for one in named for part in one.parts)
    return DeadParts(
        out=tuple(part for part in parts if part < nodes),
        into=tuple(part - nodes for part in parts if part >= nodes),
        pairs=np.delete(dead, [row for one in named for row in one.rows.tolist()]),
    )
