"""Source × target as a matrix, by leaf then name; by leaf alone, worst first, where nodes are too many to draw."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from seatrial.model.fabric import Fabric
from seatrial.model.judgement import Judgement, PairVerdict
from seatrial.model.measurement import Estimate
from seatrial.model.verdict import Verdict, worst
from seatrial.model.words import leaf_order
from seatrial.statistics.estimates import median

MOST_ROWS = 64
NO_LEAF = "no leaf known"
"""The row of nodes without a leaf, where other nodes have one."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One pair, or the worst of several: least bandwidth, least share, greatest latency, gravest verdict."""

    verdict: Verdict
    bandwidth_verdict: Verdict
    """The part of bandwidth in it."""
    latency_verdict: Verdict
    pairs: int
    slowest: PairVerdict
    """The pair of the least bandwidth; the first where none has any."""
    bandwidth_bytes_per_s: Estimate | None
    latency_s: Estimate | None
    share: float | None
    """Share of the pair's limit, or of the peers if no limit is known."""
    median_share: float | None = None
    """Share of the limit or the peers that the middle pair reaches: what most pairs are like, beside the worst."""


class HeatMap(msgspec.Struct, frozen=True, kw_only=True):
    """Rows send, columns receive; both are in the order of `labels`. A cell that is absent was never planned.

    Nodes are sorted by leaf and name; leaves, where `by_leaf`, and nodes that are too many, with the worst first.
    """

    labels: tuple[str, ...]
    leaves: tuple[str, ...]
    """The leaf of each label, "" where unknown; the label itself where `by_leaf`."""
    cells: dict[tuple[int, int], Cell]
    by_leaf: bool
    left_out: int = 0
    """Rows that were too many; the worst ones stayed."""

    @property
    def blank(self) -> int:
        """Cells of two different nodes or leaves without a planned pair."""
        rows = len(self.labels)
        return rows * (rows - 1) - sum(row != column for row, column in self.cells)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Indices of the labels that begin a new leaf, the first label aside."""
        return tuple(i for i in range(1, len(self.leaves)) if self.leaves[i] != self.leaves[i - 1])


def heat_map(judgement: Judgement, fabric: Fabric, most: int = MOST_ROWS, *, most_nodes: int | None = None) -> HeatMap:
    """The matrix of all judged pairs: of nodes up to `most_nodes` of them, of the worst `most` leaves beyond.

    Where `most_nodes` is not given it is `most`. Of more nodes that have no leaf, or all the same, the worst `most`
    are rows: one row for all would show nothing.
    """
    leaf_of = _leaves(judgement, fabric)
    by_leaf = len(leaf_of) > (most if most_nodes is None else most_nodes) and len(set(leaf_of.values())) > 1
    place_of = (
        {node: leaf or NO_LEAF for node, leaf in leaf_of.items()} if by_leaf else {node: node for node in leaf_of}
    )
    groups: dict[tuple[str, str], list[PairVerdict]] = defaultdict(list)
    for pair in judgement.pairs:
        groups[place_of[pair.source], place_of[pair.target]].append(pair)
    cells = {place: merged(group, judgement.peers_bandwidth_bytes_per_s) for place, group in groups.items()}
    places = sorted(set(place_of.values()), key=lambda place: leaf_order("" if by_leaf else leaf_of[place], place))
    kept = _worst_first(places, cells)[:most] if by_leaf or len(places) > most else places
    index = {place: i for i, place in enumerate(kept)}
    return HeatMap(
        labels=tuple(kept),
        leaves=tuple(kept if by_leaf else (leaf_of[place] for place in kept)),
        cells={(index[a], index[b]): cell for (a, b), cell in cells.items() if a in index and b in index},
        by_leaf=by_leaf,
        left_out=len(places) - len(kept),
    )


def share(pair: PairVerdict, peers_bytes_per_s: float | None) -> float | None:
    """Bandwidth over the limit, or over the peers' where no limit is known; None where neither can be had."""
    if pair.of_limit is not None or pair.bandwidth_bytes_per_s is None or not peers_bytes_per_s:
        return pair.of_limit
    return pair.bandwidth_bytes_per_s.value / peers_bytes_per_s


def merged(pairs: Sequence[PairVerdict], peers_bytes_per_s: float | None) -> Cell:
    """One cell from one pair or more: of each number the worst. Raises IndexError for an empty sequence."""
    rates = [
        (pair.bandwidth_bytes_per_s.value, place) for place, pair in enumerate(pairs) if pair.bandwidth_bytes_per_s
    ]
    slowest = pairs[min(rates)[1]] if rates else pairs[0]
    latencies = [pair.latency_s for pair in pairs if pair.latency_s is not None]
    shares = [part for pair in pairs if (part := share(pair, peers_bytes_per_s)) is not None]
    return Cell(
        verdict=worst([pair.verdict for pair in pairs]),
        bandwidth_verdict=worst([pair.on_bandwidth for pair in pairs]),
        latency_verdict=worst([pair.on_latency for pair in pairs]),
        pairs=len(pairs),
        slowest=slowest,
        bandwidth_bytes_per_s=slowest.bandwidth_bytes_per_s,
        latency_s=max(latencies, key=lambda latency: latency.value, default=None),
        share=min(shares, default=None),
        median_share=median(shares) if shares else None,
    )


def _leaves(judgement: Judgement, fabric: Fabric) -> dict[str, str]:
    """Every node that a verdict names, and its leaf or ""."""
    leaves = {node.node: node.leaf or fabric.leaf_of.get(node.node, "") for node in judgement.nodes}
    for pair in judgement.pairs:
        for node in (pair.source, pair.target):
            leaves.setdefault(node, fabric.leaf_of.get(node, ""))
    return leaves


def _worst_first(places: list[str], cells: dict[tuple[str, str], Cell]) -> list[str]:
    """The places sorted by gravest cell, then by number of cells that did not pass, then by least share; else in the
    order given.

    A culprit has many bad cells, each of its partners one: all of them have the same worst.
    """
    gravest = dict.fromkeys(places, 0)
    bad = dict.fromkeys(places, 0)
    least = dict.fromkeys(places, -1.0)
    for ends, cell in cells.items():
        if cell.verdict is Verdict.PASS:
            continue
        for place in set(ends):
            gravest[place] = max(gravest[place], cell.verdict.gravity)
            bad[place] += 1
            least[place] = max(least[place], 1 / cell.share if cell.share else -1.0)
    return sorted(places, key=lambda place: (gravest[place], bad[place], least[place]), reverse=True)
