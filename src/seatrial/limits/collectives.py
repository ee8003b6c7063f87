"""Bus bandwidth of collective operations: its formula for each collective, and the most that the links of nodes allow.

nccl-tests and rccl-tests print two rates. The algorithm bandwidth is the size of the operation divided by its time. The
bus bandwidth is that times a factor of the collective and the number of ranks, so that a ring reaches the rate of the
slowest link with any number of ranks (PERFORMANCE.md of nccl-tests).

The most that is possible does not assume a ring: a tree, several levels, or switches that add and copy need less
traffic on the links. What no algorithm avoids is the traffic between a node and all others.
"""

from collections.abc import Callable
from typing import NamedTuple


class BusFormula(NamedTuple):
    """One collective, for n ranks on m nodes: `bus` factor of the bus bandwidth, `most` algorithm bandwidth.

    `most` is the largest algorithm bandwidth as a multiple of the rate of one node's links in one direction. Without
    `most` the traffic between nodes is not known.
    """

    bus: Callable[[int], float]
    most: Callable[[int, int], float] | None
    rooted: bool = False
    """Whether data flow only from or to one rank, so that with two ranks one direction carries all of them."""


def _whole(_: int) -> float:
    return 1.0


def _others(ranks: int) -> float:
    return (ranks - 1) / ranks


def _all_once(_: int, __: int) -> float:
    """Each node sends or receives everything once."""
    return 1.0


def _of_others(_: int, nodes: int) -> float:
    """Each node sends or receives the share of all other nodes."""
    return nodes / (nodes - 1)


def _of_each_rank(ranks: int, nodes: int) -> float:
    """Each rank of a node sends its share to each rank of the other nodes; the links of the node carry all of them."""
    return nodes / (nodes - 1) / (ranks / nodes)


COLLECTIVES = {
    "all_reduce": BusFormula(lambda ranks: 2 * _others(ranks), _all_once),
    "all_gather": BusFormula(_others, _of_others),
    "reduce_scatter": BusFormula(_others, _of_others),
    "alltoall": BusFormula(_others, _of_each_rank),
    "alltoallv": BusFormula(_others, None),
    "gather": BusFormula(_others, _of_others, rooted=True),
    "scatter": BusFormula(_others, _of_others, rooted=True),
    "broadcast": BusFormula(_whole, _all_once, rooted=True),
    "reduce": BusFormula(_whole, _all_once, rooted=True),
    "sendrecv": BusFormula(_whole, _all_once),
    "hypercube": BusFormula(_whole, None),
}
"""Name in nccl-tests, without `_perf` -> its formulas. A ring of sendrecv leaves each node at least once."""


def bus_factor(collective: str, ranks: int) -> float | None:
    """Bus bandwidth divided by algorithm bandwidth; None for an unknown collective or fewer than two ranks."""
    formula = COLLECTIVES.get(collective)
    return formula.bus(ranks) if formula and ranks > 1 else None


def is_rooted(collective: str) -> bool:
    """Whether its data flow only from or to one rank; False for an unknown collective."""
    return collective in COLLECTIVES and COLLECTIVES[collective].rooted


def bus_bandwidth_limit(collective: str, ranks: int, nodes: int, rate: float) -> float | None:
    """The bus bandwidth that no algorithm exceeds, in the unit of `rate`; None where nothing is known.

    `rate`: what the links of one node carry in one direction. For ranks on one node each rank counts as a node, and
    `rate` is that of the links of its GPU. Trees and reduction within switches are allowed for: they need no less than
    one copy of the data to leave or enter each node.
    """
    formula = COLLECTIVES.get(collective)
    places = nodes if nodes > 1 else ranks
    if formula is None or formula.most is None or not 1 < places <= ranks:
        return None
    return rate * formula.most(ranks, places) * formula.bus(ranks)
