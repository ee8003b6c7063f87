"""The measured pairs of a table, one row each: better is larger, whatever the metric; repetitions by their median.

A table that holds each pair of nodes once has no directions: which node comes first is only the order in which it was
written. A table whose two halves are copies of each other has none either.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Flags, Indices, PairTable, Places, Reals
from seatrial.model.units import LATENCY
from seatrial.model.words import natural_sorted
from seatrial.statistics.estimates import array_median

LEAST, MOST = 1e-15, 1e15
"""Seconds or bytes per second; a number outside is not plausible for any network and counts as dead, like 0."""
SINGLE_PRECISION_ROWS = 1 << 21
"""The number of rows from which logarithms are kept in single precision: 1e-7 is far below any noise."""
MOST_BOTH_WAYS = 0.1
"""Share of the rows that may have one in the other direction in a table that holds each pair once: some were measured
again, with the nodes exchanged."""
NEARLY_ALL = 0.95
"""Share of the rows whose first node comes first, in a table that was written in an order of the nodes; and of those
whose numbers are equal in both directions, in one that holds each measurement twice."""
NOISY = 0.3
"""Share of the numbers that must differ from the usual one, or equal ones prove nothing."""
FEWEST_OF_TRIANGLE = 4
"""A triangle of zeros between fewer nodes can be that of dead nodes."""
BLOCK = 1 << 20


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
    """The median in the metric's unit; NaN if every row is dead."""
    directed: bool
    """False: a row is all that is known of its two nodes, in neither direction, and its source is the lesser number."""

    @property
    def dead(self) -> Flags:
        """Rows that were measured and carried nothing."""
        return np.isneginf(self.log)

    @property
    def cells(self) -> Indices:
        """Number of rows of each node, in either direction."""
        return np.bincount(self.source, minlength=self.nodes) + np.bincount(self.target, minlength=self.nodes)

    def ends(self, chosen: Indices) -> tuple[Indices, Indices]:
        """Sources and targets of the chosen rows."""
        return self.source[chosen].astype(np.intp), self.target[chosen].astype(np.intp)


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
    nodes = table.nodes
    back = _Back(source, target, log, len(nodes))
    if back.empty_triangle is not None:
        kept = ~back.empty_triangle
        source, target, log = source[kept], target[kept], log[kept]
    directed = not (back.is_mirrored or _each_once(nodes, source, target, back.both_ways))
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    if back.is_mirrored:
        source, target, log = _halved(source, target, log, len(nodes))
    if (directed and table.is_ordered) or _distinct(source, target, len(nodes)):
        return Rows(
            nodes=len(nodes), source=source, target=target, log=log, worst=log, best=log, repetitions=None,
            median=median, directed=directed,
        )  # fmt: skip
    pairs, where, count = np.unique(_keys(source, target, len(nodes)), return_inverse=True, return_counts=True)
    ordered = log[np.lexsort((log, where))]
    starts = np.concatenate(([0], np.cumsum(count)[:-1]))
    return Rows(
        nodes=len(nodes),
        source=(pairs // len(nodes)).astype(np.int32),
        target=(pairs % len(nodes)).astype(np.int32),
        log=(ordered[starts + (count - 1) // 2] + ordered[starts + count // 2]) / 2,
        worst=ordered[starts],
        best=ordered[starts + count - 1],
        repetitions=count,
        median=median,
        directed=directed,
    )


class _Back:
    """What the rows have in the other direction. Reads block by block, to save memory."""

    def __init__(self, source: Places, target: Places, log: Reals, nodes: int) -> None:
        alive = np.isfinite(log)
        usual = array_median(log[alive]) if alive.any() else 0.0
        find = _finder(_keys(source, target, nodes), log, nodes)
        given = both = differ = alike = 0
        triangle = np.zeros(len(log), dtype=np.bool_)
        for begin in range(0, len(log), BLOCK):
            block = slice(begin, begin + BLOCK)
            forth, back = log[block], find(_keys(target[block], source[block], nodes))
            known = np.isfinite(forth) & np.isfinite(back)
            other = known & (forth != usual)
            given += int(np.count_nonzero(~np.isnan(back)))
            both += int(np.count_nonzero(known))
            differ += int(np.count_nonzero(other))
            alike += int(np.count_nonzero(other & (forth == back)))
            triangle[block] = np.isneginf(forth) & np.isfinite(back)
        self.empty_triangle: Flags | None = None
        """Rows of zeros that only fill the other half of a table of each pair once; None: there is no such half."""
        empty = int(np.count_nonzero(triangle))
        if empty and nodes >= FEWEST_OF_TRIANGLE and empty >= NEARLY_ALL * np.count_nonzero(alive):
            below = int(np.count_nonzero(triangle & (source > target)))
            if max(below, empty - below) >= NEARLY_ALL * empty:
                self.empty_triangle = triangle
        self.both_ways = (given if self.empty_triangle is None else both) / max(len(log), 1)
        """Share of the rows that were measured in the other direction, too."""
        _, times = np.unique(log[alive & (log != usual)], return_counts=True)
        noisy = np.sum((times / max(times.sum(), 1)) ** 2) < 1 / 2  # equal numbers without noise prove nothing
        self.is_mirrored = differ > NOISY * both and alike > NEARLY_ALL * differ and bool(noisy)
        """Whether both directions of nearly all pairs are one and the same measurement."""


def _finder(keys: NDArray[np.int64], log: Reals, nodes: int) -> Callable[[NDArray[np.int64]], Reals]:
    """The logarithm of a row by the key of its pair; NaN where there is none."""
    if nodes * nodes <= 64 * len(keys):
        cells = np.full(nodes * nodes, np.nan, dtype=log.dtype)
        cells[keys] = log
        return lambda wanted: cells[wanted]
    order = np.argsort(keys, kind="stable")
    ordered, values = keys[order], log[order]

    def find(wanted: NDArray[np.int64]) -> Reals:
        place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.where(ordered[place] == wanted, values[place], np.nan)

    return find


def _each_once(nodes: Sequence[str], source: Places, target: Places, both_ways: float) -> bool:
    """Whether the table holds each pair of nodes once, in whichever order.

    One with few of all pairs may be a design of senders and receivers, unless all pairs are written in one order.
    """
    if both_ways > MOST_BOTH_WAYS:
        return False
    if 4 * len(source) >= len(nodes) * (len(nodes) - 1):  # no chain of senders and receivers has as many
        return True
    names = {name: place for place, name in enumerate(nodes)}
    for order in (nodes, sorted(nodes), natural_sorted(nodes)):
        rank = np.empty(len(nodes), dtype=np.int64)
        rank[[names[name] for name in order]] = np.arange(len(nodes))
        first = float(np.mean(rank[source] < rank[target]))
        if max(first, 1 - first) >= NEARLY_ALL:
            return True
    return False


def _halved(source: Places, target: Places, log: Reals, nodes: int) -> tuple[Places, Places, Reals]:
    """Each number of a pair once; numbers that differ stay, as repetitions."""
    key = _keys(source, target, nodes)
    order = np.lexsort((log, key))
    keys, logs = key[order], log[order]
    first = np.concatenate(([True], (keys[1:] != keys[:-1]) | (logs[1:] != logs[:-1])))
    kept = order[first]
    return source[kept], target[kept], log[kept]


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


def _keys(source: Places | Indices, target: Places | Indices, nodes: int) -> NDArray[np.int64]:
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
    """Pairs of a complete table of the same design: half of the ordered ones where none was measured both ways."""
    count = rows.nodes
    everything = count * (count - 1)
    if not rows.directed:
        return everything // 2
    if 2 * len(rows.log) > everything:
        return everything
    key, back = _keys(rows.source, rows.target, count), _keys(rows.target, rows.source, count)
    return everything if np.isin(key, back).any() else everything // 2


def selected(rows: Rows, chosen: Flags) -> Rows:
    """Only the chosen rows."""
    own = {name: getattr(rows, name)[chosen] for name in ("source", "target", "log", "worst", "best")}
    repetitions = None if rows.repetitions is None else rows.repetitions[chosen]
    return msgspec.structs.replace(rows, repetitions=repetitions, **own)


def both_ways(rows: Rows) -> Rows:
    """Rows without a direction once for each direction, the rows themselves first; any others as they are."""
    if rows.directed:
        return rows
    twice = {name: np.tile(getattr(rows, name), 2) for name in ("log", "worst", "best")}
    return msgspec.structs.replace(
        rows,
        source=np.concatenate([rows.source, rows.target]),
        target=np.concatenate([rows.target, rows.source]),
        repetitions=None if rows.repetitions is None else np.tile(rows.repetitions, 2),
        **twice,
    )


def back_rows(rows: Rows, chosen: Indices) -> Indices:
    """The place of each chosen row's opposite direction among the chosen; -1 if it is not among them."""
    if not len(chosen):
        return np.zeros(0, dtype=np.intp)
    find = _finder(_keys(*rows.ends(chosen), rows.nodes), np.arange(len(chosen), dtype=np.float64), rows.nodes)
    return np.nan_to_num(find(_keys(*rows.ends(chosen)[::-1], rows.nodes)), nan=-1).astype(np.intp)


def matrix_of(rows: Rows) -> Reals:
    """`y[i, j]`: the log of what goes from i to j; NaN where nothing is known."""
    y = np.full((rows.nodes, rows.nodes), np.nan, dtype=rows.log.dtype)
    y[rows.source, rows.target] = rows.log
    if not rows.directed:
        y[rows.target, rows.source] = rows.log
    return y


def group_numbers(nodes: Sequence[str], groups: Sequence[Sequence[str]]) -> Indices:
    """The number of each node's group; -1 for nodes in none."""
    number = {name: place for place, group in enumerate(groups) for name in group}
    return np.array([number.get(name, -1) for name in nodes], dtype=np.intp)


def group_name(members: Sequence[str]) -> str:
    """What an uplink is called when only the nodes below it are known."""
    return f"group of {members[0]}"
