"""Pairs that are read piece by piece become one table, in order of the nodes, which are in the order of the file."""

from collections.abc import Mapping
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import PairTable, Places, Reals, is_ordered
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import last_digit

METRICS = ("bandwidth", "latency")
COLUMNS = {"bandwidth": BANDWIDTH, "latency": LATENCY}
NOTHING = np.float64(np.nan)
DENSE = 4
"""A matrix may have this many times as many cells as there are rows."""
FEWEST, GROWTH = 1 << 12, 8
"""A column grows to a place for FEWEST rows, and then by one part in GROWTH: moved by the system, not copied."""
BLOCK = 1 << 20
_Scalar = TypeVar("_Scalar", bound=np.generic)


class _MetricColumn(Generic[_Scalar]):
    """Numbers that are added piece by piece and never lie in memory twice."""

    def __init__(self, kind: type[_Scalar]) -> None:
        self._data: NDArray[_Scalar] = np.empty(0, dtype=kind)
        self.count = 0

    def add(self, values: "NDArray[_Scalar] | _Scalar", count: int) -> None:
        """Append `count` values, or one value as often."""
        last = self.count + count
        if last > len(self._data):
            self._data.resize(max(last, FEWEST, len(self._data) + len(self._data) // GROWTH), refcheck=False)
        self._data[self.count : last] = values
        self.count = last

    def take(self) -> NDArray[_Scalar]:
        """All of them; the column is empty afterwards."""
        data, self._data = self._data, np.empty(0, dtype=self._data.dtype)
        data.resize(self.count, refcheck=False)
        return data


class PairColumns:
    """Collects rows. A pair may come several times: each row is kept, as a repetition."""

    def __init__(self) -> None:
        self._source = _MetricColumn(np.int32)
        self._target = _MetricColumn(np.int32)
        self._values: dict[str, _MetricColumn[np.float64]] = {}
        """Metric that has a number so far -> its column."""
        self._order: list[int] = []
        self._met = np.zeros(0, dtype=np.bool_)

    def add(self, source: Places, target: Places, bandwidth: Reals, latency: Reals) -> None:
        """Rows with numbers of nodes; NaN: not measured. Left out are pairs of one node and rows without a number."""
        kept = (source != target) & ~(np.isnan(bandwidth) & np.isnan(latency))
        if not kept.any():
            return
        source, target = source[kept], target[kept]
        ends = np.empty(2 * len(source), dtype=np.int32)
        ends[0::2], ends[1::2] = source, target
        self.meet(ends)
        for metric, values in zip(METRICS, (bandwidth[kept], latency[kept]), strict=True):
            if metric not in self._values and not np.isnan(values).all():
                self._values[metric] = _MetricColumn(np.float64)
                self._values[metric].add(NOTHING, self._source.count)
            if metric in self._values:
                self._values[metric].add(values, len(values))
        self._source.add(source, len(source))
        self._target.add(target, len(target))

    def meet(self, ends: Places) -> None:
        """Nodes that belong to the table from here on, in this order, whether they have rows or not."""
        highest = int(ends.max(initial=-1))
        if highest >= len(self._met):
            self._met = np.concatenate((self._met, np.zeros(highest + 1 - len(self._met), dtype=np.bool_)))
        new = ends[~self._met[ends]]
        if len(new):
            numbers, first = np.unique(new, return_index=True)
            self._order += numbers[np.argsort(first)].tolist()
            self._met[numbers] = True

    @property
    def met(self) -> frozenset[int]:
        """Numbers of the nodes that belong to the table so far."""
        return frozenset(self._order)

    def table(self, names: list[str], units: Mapping[str, float]) -> PairTable:
        """All of it, rows in the order of source and target, repetitions in that of the file.

        `names`: by number; those without rows are left out. `units`: metric -> the unit in which it was written.
        """
        place = np.zeros(max(len(names), 1), dtype=np.int32)
        place[self._order] = np.arange(len(self._order), dtype=np.int32)
        source, target = self._source.take(), self._target.take()
        for column in (source, target):
            for first in range(0, len(column), BLOCK):
                column[first : first + BLOCK] = place[column[first : first + BLOCK]]
        nodes = tuple(names[number] for number in self._order)
        values = {metric: column.take() for metric, column in self._values.items()}
        if not is_ordered(source, target):
            source, target, values = _in_order(source, target, len(nodes), values)
        nothing = np.broadcast_to(NOTHING, len(source))  # takes no memory
        return PairTable(
            nodes=nodes,
            source=source,
            target=target,
            bandwidth_bytes_per_s=values.get("bandwidth", nothing),
            latency_s=values.get("latency", nothing),
            steps={COLUMNS[metric]: _step(column, units.get(metric, 1.0)) for metric, column in values.items()},
        )


def _step(values: Reals, unit: float) -> float:
    """The last digit of the first values as they were written; 0 if all are equal, and nothing shows it."""
    written = values[:BLOCK][np.isfinite(values[:BLOCK]) & (values[:BLOCK] != 0)] / unit
    return last_digit(written) * unit if written.size and written.min() < written.max() else 0.0


def _in_order(
    source: Places, target: Places, count: int, values: dict[str, Reals]
) -> tuple[Places, Places, dict[str, Reals]]:
    """The rows by source and target. Where most pairs of nodes have one row, a matrix replaces sorting."""
    keys = source.astype(np.int64) * count + target
    if count**2 <= DENSE * len(keys):
        measured = np.zeros(count**2, dtype=np.bool_)
        measured[keys] = True
        if int(np.count_nonzero(measured)) == len(keys):
            rows_found = np.flatnonzero(measured)
            ordered = {metric: _scattered(column, keys, count**2)[rows_found] for metric, column in values.items()}
            return (rows_found // count).astype(np.int32), (rows_found % count).astype(np.int32), ordered
        del measured
    order = np.argsort(keys, kind="stable")
    return source[order], target[order], {metric: column[order] for metric, column in values.items()}


def _scattered(values: Reals, where: NDArray[np.int64], cells: int) -> Reals:
    """An array of `cells` numbers with each value at its place, NaN elsewhere."""
    placed = np.full(cells, np.nan)
    placed[where] = values
    return placed
