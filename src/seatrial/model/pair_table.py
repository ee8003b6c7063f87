"""Numbers of many ordered pairs in columns: another tool's matrix, or one of our own surveys."""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]
Places = NDArray[np.int32]
"""Numbers of nodes; half of what Indices take."""
DEAD_BANDWIDTH, DEAD_LATENCY_S = 0.0, math.inf
"""What a tool's 0, NaN, infinite or negative number becomes: the pair was tried, and this is the worst value."""


class PairTable(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered pairs of `nodes`. All four columns have the same length.

    NaN: not measured, which is not the same as DEAD_BANDWIDTH or DEAD_LATENCY_S: measured, and nothing arrived.

    Data flows from `nodes[source[p]]` to `nodes[target[p]]`. A pair may have several rows, one for each repetition.
    """

    nodes: tuple[str, ...]
    source: Places
    target: Places
    bandwidth_bytes_per_s: Reals
    latency_s: Reals
    steps: dict[str, float] = {}
    """Metric, as `metric` takes it -> the last digit of its values as they were written, in the unit of the column."""

    def metric(self, name: str) -> Reals:
        """The column of that name. Raises KeyError for another."""
        columns = {"bandwidth_bytes_per_s": self.bandwidth_bytes_per_s, "latency_s": self.latency_s}
        return columns[name]

    def keys(self) -> NDArray[np.int64]:
        """A number for each row that is the same for rows of the same ordered pair, in the order of source, target."""
        return self.source.astype(np.int64) * max(len(self.nodes), 1) + self.target

    @property
    def is_ordered(self) -> bool:
        """Whether every pair has only one row, and rows ascend by source and target."""
        return is_ordered(self.source, self.target)

    @property
    def pairs(self) -> int:
        """The number of different ordered pairs, without repetitions."""
        return len(self.source) if self.is_ordered else len(np.unique(self.keys()))

    def matrix(self, name: str) -> NDArray[np.float64]:
        """The metric as nodes × nodes: row = node that sends, column = node that receives, NaN = not measured.

        Dead pairs keep their zero or infinity. Of repetitions the median. Takes 8 bytes × nodes². Raises KeyError for
        another name.
        """
        values = self.metric(name)
        dense = np.full(len(self.nodes) ** 2, np.nan)
        if self.is_ordered:
            dense[self.keys()] = values
            return dense.reshape(len(self.nodes), len(self.nodes))
        measured = ~np.isnan(values)
        key, values = self.keys()[measured], values[measured]
        order = np.lexsort((values, key))
        key, values = key[order], values[order]
        cells, first, count = np.unique(key, return_index=True, return_counts=True)
        dense[cells] = (values[first + (count - 1) // 2] + values[first + count // 2]) / 2
        return dense.reshape(len(self.nodes), len(self.nodes))


def is_ordered(source: Places, target: Places) -> bool:
    """Whether the pairs are all different and ascend by source and target."""
    same = source[1:] == source[:-1]
    return bool(((source[1:] > source[:-1]) | (same & (target[1:] > target[:-1]))).all())


def repeated_pair_table(
    nodes: Sequence[str],
    bandwidth: Mapping[tuple[str, str], Sequence[float]],
    latency: Mapping[tuple[str, str], Sequence[float]],
) -> PairTable:
    """A table of several numbers a pair: as many rows as its longer sequence.

    Raises KeyError in the same cases as `pair_table`.
    """
    place = {node: number for number, node in enumerate(nodes)}
    rows = [
        (place[pair[0]], place[pair[1]], rate, late)
        for pair in dict.fromkeys((*bandwidth, *latency))
        for rate, late in itertools.zip_longest(bandwidth.get(pair, ()), latency.get(pair, ()), fillvalue=math.nan)
    ]
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    source, target, rates, times = columns
    return PairTable(
        nodes=tuple(nodes),
        source=np.array(source, dtype=np.int32),
        target=np.array(target, dtype=np.int32),
        bandwidth_bytes_per_s=np.array(rates, dtype=np.float64),
        latency_s=np.array(times, dtype=np.float64),
    )
