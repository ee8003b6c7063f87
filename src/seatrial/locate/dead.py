"""Nodes and pairs that were measured and carried nothing."""

import msgspec
import numpy as np

from seatrial.locate.rows import Rows
from seatrial.model.pair_table import Indices

MOST_SHARE = 0.5
"""A node is dead in one direction if more than this share of its pairs in that direction is dead."""
FEWEST = 2
"""... and at least this many."""


class DeadParts(msgspec.Struct, frozen=True, kw_only=True):
    """`out` and `into`: nodes that send or receive nothing. `pairs`: other dead rows, as (source, target)."""

    out: tuple[int, ...]
    into: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


def dead_parts(rows: Rows) -> DeadParts:
    """The fewest nodes that explain the dead rows, chosen greedily, and the rows that they leave."""
    dead = rows.dead
    if not dead.any():
        return DeadParts(out=(), into=(), pairs=())
    ends = [rows.source[dead], rows.target[dead]]
    totals = [np.bincount(end, minlength=rows.nodes) for end in (rows.source, rows.target)]
    named: list[list[int]] = [[], []]
    while ends[0].size:
        counts = [np.bincount(end, minlength=rows.nodes) for end in ends]
        way, node = _worst(counts, totals)
        if node is None:
            break
        named[way].append(node)
        explained = ends[way] == node
        totals[1 - way] = totals[1 - way] - np.bincount(ends[1 - way][explained], minlength=rows.nodes)
        ends = [end[~explained] for end in ends]
    left = tuple(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
    return DeadParts(out=tuple(sorted(named[0])), into=tuple(sorted(named[1])), pairs=left)


def _worst(counts: list[Indices], totals: list[Indices]) -> tuple[int, int | None]:
    """The direction and node with most dead rows, or None where none has enough of them."""
    best: tuple[int, int, int | None] = (0, 0, None)
    for way in (0, 1):
        able = (counts[way] >= FEWEST) & (counts[way] > MOST_SHARE * totals[way])
        if able.any():
            node = int(np.argmax(np.where(able, counts[way], 0)))
            best = max(best, (int(counts[way][node]), way, node), key=lambda each: each[0])
    return best[1], best[2]
