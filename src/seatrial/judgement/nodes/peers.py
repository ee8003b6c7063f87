"""Nodes that should be alike, compared: which one is out of line, by how much, and what could have been seen."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.drift.peer_groups import hardware_groups
from seatrial.experiment.controls import too_few, usual_of_rounds
from seatrial.locate.thresholds import SCATTERS
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate
from seatrial.model.node_trials import Heat, Measure, NodeFigures, PeerComparison, Runs
from seatrial.model.settings import Trial
from seatrial.model.subject import node
from seatrial.model.units import SHARE
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count
from seatrial.statistics.estimates import FEWEST_ALIKE, median, median_estimate, robust_scale

LEAST_SCATTER, LEAST_SCATTER_OF_SHARE = 0.005, 0.0005
"""Shares of the peers' value, and of a share: equal readings of a few nodes do not make a scatter of zero."""
LEAST_RATIO = 1e-9
"""Median absolute deviation to standard deviation, of a normal distribution."""


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose figure is worse than its peers' in every repetition."""

    node: str
    measured: Estimate
    comparison: PeerComparison
    excess: float
    """Distance on the bad side of its peers, in units of the resolution."""

    @property
    def repeated(self) -> bool:
        """Whether it was measured often enough to decide."""
        return not too_few(self.comparison.ratios[self.node])

    @property
    def proved(self) -> bool:
        """Whether enough repetitions show it, and all of them do."""
        return self.repeated and self.excess > 1


def compare(figures: Sequence[NodeFigures], facts: Mapping[str, NodeFacts]) -> tuple[PeerComparison, ...]:
    """Each figure within each group of like hardware of at least `FEWEST_ALIKE` nodes that delivered it."""
    return tuple(outlying for group in like_nodes(figures, facts) for outlying in _compare_group(group))


def like_nodes(figures: Sequence[NodeFigures], facts: Mapping[str, NodeFacts]) -> list[list[NodeFigures]]:
    """Nodes of like hardware together; those without facts are a group of their own."""
    by_name = {each.node: each for each in figures}
    with_facts = {name: facts[name] for name in by_name if name in facts}
    groups = [*hardware_groups(with_facts), tuple(name for name in by_name if name not in with_facts)]
    return [[by_name[name] for name in nodes] for nodes in groups]


def _compare_group(figures: Sequence[NodeFigures]) -> Iterator[PeerComparison]:
    for measure in Measure:
        runs = {each.node: each.runs[measure] for each in figures if measure in each.runs}
        if len(runs) < FEWEST_ALIKE:
            continue
        peers = median([each.values[measure].value for each in figures if each.node in runs])
        singles = beside_peers(runs, differences=measure.metric == SHARE)
        ratios = {node: median_estimate(values) for node, values in singles.items()}
        if len(ratios) < FEWEST_ALIKE or (peers <= 0 and measure.metric != SHARE):
            continue
        usual, least = (0.0, LEAST_SCATTER_OF_SHARE) if measure.metric == SHARE else (1.0, LEAST_SCATTER)
        scatter = max(robust_scale([ratio.value for ratio in ratios.values()], usual), least)
        scatter = max(scatter, _noise(usual, [*singles.values()]))
        yield PeerComparison(
            measure=measure,
            nodes=tuple(runs),
            peers=peers,
            scatter=scatter if measure.metric == SHARE else scatter * peers,
            ratios=ratios,
            resolution=max(measure.effect, _loss(measure, SCATTERS * scatter)),
        )


def _noise(usual: float, singles: Sequence[Sequence[float]]) -> float:
    """Standard deviation of a node's median, from the scatter of single repetitions of all nodes.

    The medians of a few nodes may be alike by chance where their repetitions are not. The variance of a median is
    pi / 2 times that of a mean.
    """
    single = robust_scale([value for values in singles for value in values], usual)
    return math.sqrt(math.pi / 2 / median([len(values) for values in singles])) * single


def beside_peers(runs: Mapping[str, Runs], *, differences: bool) -> dict[str, list[float]]:
    """Ratios of each node to the median of all nodes in the same repetition, so that what disturbs all of them
    disappears; or `differences` from it. Repetitions with too few nodes show nothing.
    """
    usual = usual_of_rounds(runs.values(), FEWEST_ALIKE)
    ratios = {
        node: [
            values[number] - level if differences else values[number] / level
            for number, level in usual.items()
            if number in values and (differences or level > 0)
        ]
        for node, values in runs.items()
    }
    return {node: values for node, values in ratios.items() if values}


def outliers(figures: Sequence[NodeFigures], comparisons: Sequence[PeerComparison]) -> tuple[Outlier, ...]:
    """Nodes that are worse than the resolution permits, with the whole interval of their repetitions, or by the median.

    With the median alone it is a suspicion: what the table shows beyond "named from" must be measured again.
    """
    by_name = {each.node: each for each in figures}
    outlying = []
    for comparison in comparisons:
        for name, ratio in comparison.ratios.items():
            excess = _excess(ratio, comparison)
            alone = msgspec.structs.replace(ratio, low=ratio.value, high=ratio.value)
            if _excess(alone, comparison) > 1:
                measured = by_name[name].values[comparison.measure]
                outlying.append(Outlier(node=name, measured=measured, comparison=comparison, excess=excess))
    return tuple(outlying)


def _excess(ratio: Estimate, comparison: PeerComparison) -> float:
    """Distance of the whole interval on the bad side of the peers, in units of the resolution."""
    measure, resolution = comparison.measure, comparison.resolution
    if measure.metric == SHARE:
        return ratio.low / resolution
    if measure.more_is_better:
        return math.log(max(ratio.high, LEAST_RATIO)) / math.log1p(-resolution)
    if measure.trial is Trial.STORAGE:
        return math.log(max(ratio.low, LEAST_RATIO)) / math.log1p(resolution)
    return (ratio.low - 1.0) / resolution


def _loss(measure: Measure, scatters: float) -> float:
    """The loss that is that many standard deviations, as a share of the peers' value.

    Factors for rates, since no rate is less than 0: peers that differ by a quarter hide no node that does a tenth. And
    for times of storage, by which healthy nodes may differ by factors. Other times by differences, which shows more.
    """
    if measure.metric == SHARE:
        return scatters
    if measure.more_is_better:
        return -math.expm1(-scatters)
    return math.expm1(scatters) if measure.trial is Trial.STORAGE else scatters


EFFECT_CELSIUS = 5.0
"""A smaller difference is usual between places of one rack."""
LEAST_SCATTER_CELSIUS = 0.5
"""Sensors have a resolution of 1 degree."""
FEWEST_READINGS = 3
"""Repetitions, in all of which the node must be hotter."""


class HotNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is hotter than the others by more than they differ."""

    node: str
    celsius: float
    beyond: Estimate
    """Degrees above the median of the others of its model in the same repetition."""
    heat: Heat


class ModelHeat(msgspec.Struct, frozen=True, kw_only=True):
    """Temperatures of a model, and its nodes that are hotter than their peers."""

    heat: Heat
    hot: tuple[HotNode, ...]


def heat_of(figures: Sequence[NodeFigures], facts: Mapping[str, NodeFacts]) -> tuple[ModelHeat, ...]:
    """The heat of each model with temperatures of at least `FEWEST_ALIKE` nodes."""
    judged = []
    for group in like_nodes(figures, facts):
        measured = [figure for figure in group if figure.temperatures]
        if len(measured) >= FEWEST_ALIKE:
            unknown = tuple(figure.node for figure in group if not figure.temperatures)
            heat = _heat(measured, unknown)
            judged.append(ModelHeat(heat=heat, hot=tuple(_hot_nodes(measured, heat))))
    return tuple(judged)


def _hot_nodes(group: Sequence[NodeFigures], heat: Heat) -> Iterator[HotNode]:
    """Nodes above the limit of their model in every repetition.

    Repetitions follow each other within seconds, in which no temperature changes on its own: they show that a reading
    was not a slip. By how much nodes differ is the scatter between them.
    """
    temperatures = {figure.node: figure.temperatures for figure in group}
    for name, degrees in beside_peers(temperatures, differences=True).items():
        beyond = median_estimate(degrees)
        if beyond.runs >= FEWEST_READINGS and beyond.low > heat.resolution_celsius:
            celsius = median([*temperatures[name].values()])
            yield HotNode(node=name, celsius=celsius, beyond=beyond, heat=heat)


def _heat(group: Sequence[NodeFigures], unknown: tuple[str, ...]) -> Heat:
    typical = {one.node: median([*one.temperatures.values()]) for one in group}
    usual = median([*typical.values()])
    scatter = robust_scale([*typical.values()])
    return Heat(
        nodes=tuple(typical),
        unknown=unknown,
        peers_celsius=usual,
        hottest=max(typical, key=lambda name: typical[name]),
        hottest_celsius=max(typical.values()),
        resolution_celsius=max(EFFECT_CELSIUS, SCATTERS * max(scatter, LEAST_SCATTER_CELSIUS)),
    )


def hot_node_finding(hot: HotNode) -> Finding:
    """What the node's temperature is, and that of its peers."""
    kind, peers = FindingKind.HOTTER_THAN_PEERS, hot.heat.peers_celsius
    return Finding(
        kind=kind,
        subject=node(hot.node),
        verdict=kind.verdict,
        statement=f"{hot.node} is at {hot.celsius:.0f} °C under the same work as {count(len(hot.heat.nodes), 'node')} "
        f"of its model, whose median is {peers:.0f} °C: {hot.beyond.value:.0f} °C hotter in each of "
        f"{count(hot.beyond.runs, 'repetition')}.",
        remedy="If the node was at work until a minute ago, run this again. Else check inlet temperature, fans and "
        "dust, then the paste under the heat sink, and the BMC's log; compare with the node's neighbours in the rack. "
        "seatrial nodes --for 60m shows whether it becomes slower when it is hot.",
        brief=f"{hot.celsius:.0f} °C, {hot.beyond.value:.0f} °C above its peers",
    )
