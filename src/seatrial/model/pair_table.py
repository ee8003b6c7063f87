"""Numbers of many ordered pairs, in columns: what another tool's matrix, or a survey of ours, comes down to."""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]


class PairTable(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs` ordered pairs of `nodes` nodes. All four columns have the length `pairs`; NaN: not measured.

    Data flows from `nodes[source[p]]` to `nodes[target[p]]`. A pair may stand in several rows, one a repetition.
    """

    nodes: tuple[str, ...]
    source: Indices
    target: Indices
    bandwidth_bytes_per_s: Reals
    latency_s: Reals

    def metric(self, name: str) -> Reals:
        """The column of that name. Raises KeyError for another."""
        columns = {"bandwidth_bytes_per_s": self.bandwidth_bytes_per_s, "latency_s": self.latency_s}
        return columns[name]


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
        source=np.array([place[source] for source, _ in pairs], dtype=np.intp),
        target=np.array([place[target] for _, target in pairs], dtype=np.intp),
        bandwidth_bytes_per_s=np.array([bandwidth.get(pair, np.nan) for pair in pairs], dtype=np.float64),
        latency_s=np.array([latency.get(pair, np.nan) for pair in pairs], dtype=np.float64),
    )


def repeated_pair_table(
    nodes: Sequence[str],
    bandwidth: Mapping[tuple[str, str], Sequence[float]],
    latency: Mapping[tuple[str, str], Sequence[float]],
) -> PairTable:
    """As `pair_table`, of several numbers a pair: as many rows as its longer sequence. Raises KeyError likewise."""
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
        source=np.array(source, dtype=np.intp),
        target=np.array(target, dtype=np.intp),
        bandwidth_bytes_per_s=np.array(rates, dtype=np.float64),
        latency_s=np.array(times, dtype=np.float64),
    )
