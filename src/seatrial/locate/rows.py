"""The measured pairs of a table, one row each: better is larger, whatever the metric; repetitions by their median."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Indices, PairTable, Places, Reals
from seatrial.model.units import LATENCY
from seatrial.statistics.estimates import array_median

Flags = NDArray[np.bool_]
LEAST, MOST = 1e-15, 1e15
"""Seconds or bytes per second; a number outside is not plausible for any network and counts as dead, like 0."""
SINGLE_PRECISION_ROWS = 1 << 21
"""From this many rows on logarithms are kept in single precision: 1e-7 is far below any noise."""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Logarithms relative to the median of all rows, larger for a better pair; -inf for a dead one.

    All arrays have one entry per ordered pair. `worst` and `best` enclose its repetitions.
    """

    nodes: int
    source: Places
    target: Places
    log: Reals
    worst: Reals
    best: Reals
    repetitions: Indices | None
    """None: every pair was measured once."""
    median: float
    """In the metric's unit; NaN where every row is dead."""

    @property
    def dead(self) -> Flags:
        """Rows that were measured and carried nothing."""
        return np.isneginf(self.log)


def rows_of(table: PairTable, metric: str) -> Rows | None:
    """The rows of one metric; None where no number was given.

    NaN means that no number was given. 0, infinity and a negative number were given, and are the worst value.
    """
    values = table.metric(metric)
    given = ~np.isnan(values) & (table.source != table.target)
    if not given.any():
        return None
    whole = bool(given.all())
    source, target = (table.source, table.target) if whole else (table.source[given], table.target[given])
    log, median = _logarithms(values if whole else values[given], metric)
    if table.is_ordered or _distinct(source, target, len(table.nodes)):
        return Rows(
            nodes=len(table.nodes), source=source, target=target, log=log, worst=log, best=log, repetitions=None,
            median=median,
        )  # fmt: skip
    pairs, where, count = np.unique(_keys(source, target, len(table.nodes)), return_inverse=True, return_counts=True)
    ordered = log[np.lexsort((log, where))]
    starts = np.concatenate(([0], np.cumsum(count)[:-1]))
    return Rows(
        nodes=len(table.nodes),
        source=(pairs // len(table.nodes)).astype(np.int32),
        target=(pairs % len(table.nodes)).astype(np.int32),
        log=(ordered[starts + (count - 1) // 2] + ordered[starts + count // 2]) / 2,
        worst=ordered[starts],
        best=ordered[starts + count - 1],
        repetitions=count,
        median=median,
    )


def _logarithms(values: Reals, metric: str) -> tuple[Reals, float]:
    """Relative to the median, -inf where dead; and the median."""
    alive = (values > LEAST) & (values < MOST)
    median = array_median(values[alive]) if alive.any() else float("nan")
    log: Reals = np.full(len(values), -np.inf, dtype=np.float32 if len(values) > SINGLE_PRECISION_ROWS else np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        np.log(values / median, out=log, where=alive, casting="same_kind")
    if metric == LATENCY:
        np.negative(log, out=log, where=alive)
    return log, median


def _keys(source: Places, target: Places, nodes: int) -> NDArray[np.int64]:
    """A number for every ordered pair."""
    return source.astype(np.int64) * nodes + target


def _distinct(source: Places, target: Places, nodes: int) -> bool:
    """Whether no ordered pair comes twice."""
    key = _keys(source, target, nodes)
    if nodes * nodes > 64 * len(key):
        return len(np.unique(key)) == len(key)
    seen = np.zeros(nodes * nodes, dtype=np.bool_)
    seen[key] = True
    return int(np.count_nonzero(seen)) == len(key)


def expected_pairs(rows: Rows) -> int:
    """Ordered pairs of a complete table of the same design: half of them where no pair was measured both ways."""
    count = rows.nodes
    everything = count * (count - 1)
    if 2 * len(rows.log) > everything:
        return everything
    key, back = _keys(rows.source, rows.target, count), _keys(rows.target, rows.source, count)
    return everything if np.isin(key, back).any() else everything // 2


def selected(rows: Rows, chosen: Flags) -> Rows:
    """Only the chosen rows."""
    return Rows(
        nodes=rows.nodes,
        source=rows.source[chosen],
        target=rows.target[chosen],
        log=rows.log[chosen],
        worst=rows.worst[chosen],
        best=rows.best[chosen],
        repetitions=None if rows.repetitions is None else rows.repetitions[chosen],
        median=rows.median,
    )


def matrix_of(rows: Rows) -> Reals:
    """`y[i, j]`: the log of what goes from i to j; NaN where nothing is known."""
    y = np.full((rows.nodes, rows.nodes), np.nan, dtype=rows.log.dtype)
    y[rows.source, rows.target] = rows.log
    return y
