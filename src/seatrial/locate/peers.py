"""What healthy pairs give and how much they scatter, from few or many pairs of which up to half may be slow."""

import math
from array import array
from collections.abc import Collection, Mapping

import msgspec
import numpy as np

from seatrial.locate.significance import HALF_NORMAL
from seatrial.locate.thresholds import BEST_PAIRS, RUN_SCATTER
from seatrial.model.pair_table import Flags, Reals
from seatrial.statistics.estimates import array_median, robust_scale

Pair = tuple[str, str]
TAIL = 0.54
"""Median excess of normal values over their 58th to 75th percentile, in standard deviations: 0.48 to 0.61."""
CORE = 4.5
"""Standard deviations around the reference within which a pair counts as healthy."""
FEWEST_EXCESSES = 3
MOST_ROUNDS = 10


class PeerScatter(msgspec.Struct, frozen=True, kw_only=True):
    """Logarithms: the median of healthy pairs, and the standard deviation of one of them."""

    log: float
    scatter: float


class PeerTable:
    """One number per ordered pair of a fleet, as logarithms. Numbers change a few at a time; `peers` is vectorised."""

    def __init__(self) -> None:
        self._row: dict[Pair, int] = {}
        self._node: dict[str, int] = {}
        self._logs = array("d")
        self._source, self._target = array("q"), array("q")
        self._reverse = array("q")
        """Row of the other direction; -1 where that direction has no earlier row."""

    def update(self, values: Mapping[Pair, float | None]) -> bool:
        """Set the numbers of these pairs; None, zero and less: the pair is not a peer. Whether anything changed."""
        changed = False
        for pair, value in values.items():
            log = math.log(value) if value is not None and value > 0 else math.nan
            row = self._row.get(pair)
            if row is None:
                self._add(pair, log)
                changed = True
            elif log != self._logs[row] and not (math.isnan(log) and math.isnan(self._logs[row])):
                self._logs[row] = log
                changed = True
        return changed

    def _add(self, pair: Pair, log: float) -> None:
        self._row[pair] = len(self._logs)
        self._logs.append(log)
        for nodes, name in zip((self._source, self._target), pair, strict=True):
            nodes.append(self._node.setdefault(name, len(self._node)))
        self._reverse.append(self._row.get(pair[::-1], -1))

    def peers(self, without: Collection[Pair] = ()) -> PeerScatter | None:
        """What healthy pairs give and how much they scatter; None where there is no number. `without`: other pairs.

        First the median over nodes of each node's upper quartile, which half of the nodes may not reach. The scatter
        about it is the least of what lies above it, of the better half, and of the differences of a pair's two
        directions; then that of all pairs within CORE scatters, as long as that adds any. The reference is the median
        of these.
        """
        if not self._logs:
            return None
        logs = np.array(self._logs)
        logs[[self._row[pair] for pair in without if pair in self._row]] = np.nan
        measured = np.isfinite(logs)
        every = logs[measured]
        if not every.size:
            return None
        rough = self._rough(every, measured)
        scatter = min(_above(every, rough), self._directions(logs), _better_half(every))
        scatter = max(scatter if np.isfinite(scatter) else _few(every), RUN_SCATTER)
        core = every
        for _ in range(MOST_ROUNDS):
            core = every[every > rough - CORE * scatter]
            centre = array_median(core)
            wider = robust_scale(core, centre)
            if wider <= scatter * 1.01:
                break
            scatter = wider
        return PeerScatter(log=array_median(core), scatter=scatter)

    def _rough(self, logs: Reals, measured: Flags) -> float:
        """The median over nodes of each node's BEST_PAIRS quantile."""
        node = np.concatenate([np.array(self._source)[measured], np.array(self._target)[measured]])
        both = np.concatenate([logs, logs])
        ordered = both[np.lexsort((-both, node))]
        count = np.bincount(node)
        first = np.cumsum(count) - count
        place = np.maximum(np.ceil((1 - BEST_PAIRS) * count).astype(np.intp) - 1, 0)
        paces = np.sort(ordered[(first + place)[count > 0]])
        return float(paces[len(paces) // 2])

    def _directions(self, logs: Reals) -> float:
        """Scatter of one direction, from the differences of both. Of latency both are one number: no difference."""
        reverse = np.array(self._reverse)
        both = reverse >= 0
        apart = np.abs(logs[both] - logs[reverse[both]])
        apart = apart[np.isfinite(apart)]
        if len(apart) < FEWEST_EXCESSES or not apart.any():
            return float("inf")
        return robust_scale(apart, 0.0) / float(np.sqrt(2))


def _above(logs: Reals, rough: float) -> float:
    excess = logs[logs > rough] - rough
    return array_median(excess) / TAIL if len(excess) >= FEWEST_EXCESSES else float("inf")


def _few(logs: Reals) -> float:
    """Two numbers alone do not show whether they differ by noise."""
    return robust_scale(logs) if len(logs) > 2 else 0.0


def _better_half(logs: Reals) -> float:
    better = np.sort(logs)[len(logs) // 2 :]
    if len(better) < FEWEST_EXCESSES:
        return float("inf")
    return HALF_NORMAL * robust_scale(better)
