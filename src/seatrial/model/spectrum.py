"""Spectra: how pairs of ranks are distributed at each number of ranks per node, and the modes of a distribution."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from seatrial.model.measurement import Measurement, Phase, node_of

RANKS = " ranks"


class SpectrumMode(msgspec.Struct, frozen=True, kw_only=True):
    """One mode of a spectrum: pairs of ranks whose values lie together, apart from those of other modes."""

    median: float
    low: float
    high: float
    """The least and the greatest value."""
    pairs: int
    explained: tuple[str, ...] = ()
    """What its pairs share and pairs of other modes do not: `within a leaf`. Empty: unexplained, or the only mode."""


class Spectrum(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one metric over all pairs of ranks, rank i of a node with rank i of another, that ran at once."""

    ranks_per_node: int
    metric: str
    pairs: int
    """Pairs of ranks: ordered ones for bandwidth, without direction for latency."""
    median: float
    together: float | None = None
    """Bandwidth of all ranks of a pair of nodes together, the median over pairs of nodes; None for latency."""
    ranks_per_port: int | None = None
    """Most ranks of a node that share a port; None: the ports are not known."""
    modes: tuple[SpectrumMode, ...]
    """The modes by their median, rising; one where the values lie together."""
    quantiles: tuple[float, ...]
    """The values, rising; of many pairs evenly spaced ones."""


def variant_of(ranks: int) -> str:
    """Name of the setting with that number of ranks on each node: `4 ranks`."""
    return f"{ranks}{RANKS}"


def ranks_of(variant: str) -> int:
    """The ranks per node of such a setting; 1 for any other text."""
    number = variant.removesuffix(RANKS)
    return int(number) if variant.endswith(RANKS) and number.isdecimal() else 1


def between_nodes(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """The measurements with the nodes of ranks in place of the ranks: what arrived wrong names a node."""
    for measured in measurements:
        if measured.phase is not Phase.SATURATION:
            yield measured
            continue
        wrong = tuple(
            replace(each, source=node_of(each.source), target=node_of(each.target)) for each in measured.corruptions
        )
        yield replace(measured, source=node_of(measured.source), target=node_of(measured.target), corruptions=wrong)
