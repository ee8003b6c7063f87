"""Nodes and pairs that were measured and carried nothing."""

import msgspec
import numpy as np

from seatrial.locate.rows import Rows
from seatrial.model.pair_table import Indices, Places

MOST_SHARE = 0.5
"""A node is dead in one direction if more than this share of its pairs in that direction is dead."""
FEWEST = 2
"""... and at least this many."""


class DeadParts(msgspec.Struct, frozen=True, kw_only=True):
    """`out` and `into`: nodes that send or receive nothing. `pairs`: rows that are dead beside these."""

    out: tuple[int, ...]
    into: tuple[int, ...]
    pairs: Indices


def dead_parts(rows: Rows) -> DeadParts:
    """The fewest nodes that explain the dead rows, chosen greedily, and the rows that they leave."""
    dead = np.flatnonzero(rows.dead)
    named: tuple[list[int], list[int]] = ([], [])
    if not len(dead):
        return DeadParts(out=(), into=(), pairs=dead)
    ends = (rows.source[dead], rows.target[dead])
    totals = [np.bincount(end, minlength=rows.nodes) for end in (rows.source, rows.target)]
    counts = [np.bincount(end, minlength=rows.nodes) for end in ends]
    of_node = [by_node(end, rows.nodes) for end in ends]
    left = np.ones(len(dead), dtype=np.bool_)
    while True:
        way, node = _worst(counts, totals)
        if node is None:
            break
        named[way].append(node)
        order, first = of_node[way]
        explained = order[first[node] : first[node + 1]]
        explained = explained[left[explained]]
        left[explained] = False
        others = np.bincount(ends[1 - way][explained], minlength=rows.nodes)
        counts[way][node] = 0
        counts[1 - way] -= others
        totals[1 - way] -= others
    return DeadParts(out=tuple(sorted(named[0])), into=tuple(sorted(named[1])), pairs=dead[left])


def by_node(end: Places, nodes: int) -> tuple[Indices, Indices]:
    """`order`: places in `end`, by node. `first`: those of node k are order[first[k] : first[k + 1]]."""
    first = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=nodes))))
    return np.argsort(end, kind="stable"), first


def _worst(counts: list[Indices], totals: list[Indices]) -> tuple[int, int | None]:
    """The direction and node with most dead rows, or None where none has enough of them."""
    best: tuple[int, int, int | None] = (0, 0, None)
    for way in (0, 1):
        able = (counts[way] >= FEWEST) & (counts[way] > MOST_SHARE * totals[way])
        if able.any():
            node = int(np.argmax(np.where(able, counts[way], 0)))
            best = max(best, (int(counts[way][node]), way, node), key=lambda each: each[0])
    return best[1], best[2]
