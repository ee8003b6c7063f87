"""Made-up tables of pairs with known truth, and the simple judge to compare with: medians of rows and columns, MAD."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.table import locate_in_table
from seatrial.model.pair_faults import Located
from seatrial.model.pair_table import PairTable, Reals
from seatrial.model.units import BANDWIDTH

RATE = 1e10
FLOOR = 0.004
"""The baseline's floor on node medians, and the --effect that goes with it."""
SCALES = 4.5


def pair_table(
    nodes: Sequence[str],
    bandwidth: Mapping[tuple[str, str], float] | None = None,
    latency: Mapping[tuple[str, str], float] | None = None,
) -> PairTable:
    """A table of one row for each ordered pair that has either number. Raises KeyError for an unknown node."""
    place = {node: number for number, node in enumerate(nodes)}
    bandwidth, latency = bandwidth or {}, latency or {}
    pairs = list(dict.fromkeys((*bandwidth, *latency)))
    return PairTable(
        nodes=tuple(nodes),
        source=np.array([place[source] for source, _ in pairs], dtype=np.int32),
        target=np.array([place[target] for _, target in pairs], dtype=np.int32),
        bandwidth_bytes_per_s=np.array([bandwidth.get(pair, np.nan) for pair in pairs], dtype=np.float64),
        latency_s=np.array([latency.get(pair, np.nan) for pair in pairs], dtype=np.float64),
    )


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the grid: `slow_share` of `nodes` nodes are slower by `loss`, at lognormal `noise`."""

    nodes: int
    noise: float
    slow_share: float = 0.0
    loss: float = 0.0
    outliers: float = 0.0
    """Share of pairs at half their bandwidth."""
    missing: float = 0.0

    @property
    def slow(self) -> int:
        """How many nodes are slow: at least one if any share is."""
        return max(round(self.slow_share * self.nodes), 1) if self.slow_share else 0


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Of a number of draws: slow nodes that were named, and draws with a wrong name."""

    draws: int
    planted: int
    named: int
    wrong_draws: int
    passed: int
    """Draws with slow nodes that got a PASS."""

    @property
    def recall(self) -> float:
        """Share of the planted nodes that were named; NaN where none was planted."""
        return self.named / self.planted if self.planted else float("nan")


def draw_rates(cell: Cell, draw: np.random.Generator) -> tuple[Reals, set[int]]:
    """Bandwidths `rate[i, j]` (n×n, NaN on the diagonal and where missing), and the slow nodes.

    Of two slow nodes the slower decides.
    """
    slow = set(draw.choice(cell.nodes, cell.slow, replace=False).tolist())
    own = np.ones(cell.nodes)
    own[list(slow)] = 1 - cell.loss
    rate = RATE * np.minimum(own[:, None], own) * np.exp(cell.noise * draw.standard_normal((cell.nodes, cell.nodes)))
    rate[draw.random(rate.shape) < cell.outliers] *= 0.5
    rate[draw.random(rate.shape) < cell.missing] = np.nan
    np.fill_diagonal(rate, np.nan)
    return rate, slow


def table_of_rates(rate: Reals) -> PairTable:
    """As a reader of another tool's matrix would give it: cells that are NaN have no row."""
    source, target = np.nonzero(np.isfinite(rate))
    values = rate[source, target]
    return PairTable(
        nodes=tuple(f"n{number}" for number in range(len(rate))),
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        bandwidth_bytes_per_s=values,
        latency_s=np.full(len(values), np.nan),
    )


def named_nodes(located: Located) -> set[int]:
    """Nodes that are named, and members of the slower of two populations."""
    names = {fault.subject.name for fault in located.faults if fault.kind == "node"}
    names |= {name for one in located.populations if one.ratio < 1 for name in one.nodes}
    return {int(name[1:]) for name in names}


def baseline(rate: Reals, scales: float = SCALES) -> set[int]:
    """Nodes whose median over row and column lies 4.5 MAD scales of such medians, and 0.4 %, below their median."""
    relative = rate / np.nanmedian(rate)
    medians = np.array([np.nanmedian(np.concatenate([relative[k], relative[:, k]])) for k in range(len(rate))])
    centre = float(np.median(medians))
    scale = 1.4826 * float(np.median(np.abs(medians - centre)))
    return set(np.flatnonzero(medians < centre - np.maximum(scales * scale, FLOOR * centre)).tolist())


def detected(rate: Reals, effect: float | None, nodes: Collection[int]) -> tuple[float, list[bool]]:
    """The smallest detectable loss of a healthy table, and for each node whether it is named once it loses so much."""
    asked = {} if effect is None else {BANDWIDTH: effect}
    loss = locate_in_table(table_of_rates(rate), asked=asked).resolutions[0].detectable_ratio or 1.0
    named = []
    for node in nodes:
        slower = rate.copy()
        slower[node] *= 1 - loss
        slower[:, node] *= 1 - loss
        named.append(node in named_nodes(locate_in_table(table_of_rates(slower), asked=asked)))
    return loss, named


def score(cell: Cell, draws: int, seed: int, effect: float | None = FLOOR) -> tuple[Score, Score]:
    """Our judge and the baseline on the same draws; `effect` as with --effect, None for the default."""
    draw = np.random.default_rng([seed, cell.nodes, int(1e4 * cell.noise), cell.slow, int(1e4 * cell.loss)])
    ours, theirs, passed = [], [], 0
    for _ in range(draws):
        rate, slow = draw_rates(cell, draw)
        located = locate_in_table(table_of_rates(rate), asked={} if effect is None else {BANDWIDTH: effect})
        ours.append((named_nodes(located), slow))
        theirs.append((baseline(rate), slow))
        passed += bool(slow) and located.verdict == "PASS"
    return _counted(ours, passed), _counted(theirs, 0)


def _counted(results: Collection[tuple[set[int], set[int]]], passed: int) -> Score:
    return Score(
        draws=len(results),
        planted=sum(len(slow) for _, slow in results),
        named=sum(len(named & slow) for named, slow in results),
        wrong_draws=sum(bool(named - slow) for named, slow in results),
        passed=passed,
    )
