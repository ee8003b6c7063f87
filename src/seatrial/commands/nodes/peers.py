"""Nodes that should be alike, compared: which one is out of line, by how much, and what could have been seen."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.commands.nodes.figures import Measure, NodeFigures
from seatrial.drift.peer_groups import hardware_groups
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate
from seatrial.model.units import SHARE
from seatrial.statistics.estimates import median

FEWEST_PEERS = 3
"""Of two nodes that differ, either may be at fault."""
SCATTERS = 4.5
"""Robust standard deviations beyond which a node is out of line."""
LEAST_SCATTER = 0.005
"""Of the peers' value: equal readings of a few nodes do not make a scatter of zero."""
NORMAL = 1.4826
"""Median absolute deviation to standard deviation, of a normal distribution."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over the nodes of a peer group."""

    measure: Measure
    nodes: tuple[str, ...]
    peers: float
    """Median of the nodes."""
    scatter: float
    """Robust standard deviation of the nodes, in the figure's unit."""
    resolution: float
    """Smallest difference from the peers that is reported, as a share of their value; of a share, a difference."""


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose figure is worse than its peers' in every repetition."""

    node: str
    measured: Estimate
    comparison: Comparison
    excess: float
    """By how much it is worse, in units of the resolution."""


def compare(figures: Sequence[NodeFigures], facts: Mapping[str, NodeFacts]) -> tuple[Comparison, ...]:
    """Each figure within each group of like hardware of at least `FEWEST_PEERS` nodes that delivered it."""
    by_name = {each.node: each for each in figures}
    with_facts = {name: facts[name] for name in by_name if name in facts}
    groups = [*hardware_groups(with_facts), tuple(name for name in by_name if name not in with_facts)]
    return tuple(outlying for nodes in groups for outlying in _compare_group([by_name[name] for name in nodes]))


def _compare_group(figures: Sequence[NodeFigures]) -> Iterator[Comparison]:
    for measure in Measure:
        values = {each.node: each.values[measure].value for each in figures if measure in each.values}
        if len(values) < FEWEST_PEERS:
            continue
        peers = median(list(values.values()))
        unit = 1.0 if measure.metric == SHARE else peers
        spread = NORMAL * median([abs(value - peers) for value in values.values()])
        scatter = max(spread, LEAST_SCATTER * unit)
        yield Comparison(
            measure=measure,
            nodes=tuple(values),
            peers=peers,
            scatter=scatter,
            resolution=max(measure.effect, SCATTERS * scatter / unit) if unit > 0 else measure.effect,
        )


def outliers(figures: Sequence[NodeFigures], comparisons: Sequence[Comparison]) -> tuple[Outlier, ...]:
    """Nodes that are worse than the resolution permits with the whole interval of their repetitions."""
    by_name = {each.node: each for each in figures}
    outlying = []
    for comparison in comparisons:
        for name in comparison.nodes:
            measured = by_name[name].values[comparison.measure]
            excess = _excess(measured, comparison)
            if excess > 1:
                outlying.append(Outlier(node=name, measured=measured, comparison=comparison, excess=excess))
    return tuple(outlying)


def _excess(measured: Estimate, comparison: Comparison) -> float:
    measure = comparison.measure
    unit = 1.0 if measure.metric == SHARE else comparison.peers
    worse = comparison.peers - measured.high if measure.more_is_better else measured.low - comparison.peers
    return worse / (comparison.resolution * unit) if unit > 0 else 0.0
