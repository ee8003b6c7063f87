"""Nodes that are hotter than others of their model while all do the same work."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.judgement.nodes.peers import like_nodes
from seatrial.locate.thresholds import SCATTERS
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate
from seatrial.model.node_trials import Heat, NodeFigures
from seatrial.model.subject import node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count
from seatrial.statistics.estimates import FEWEST_ALIKE, median, median_estimate, robust_scale

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
    for name, beyond in _beyond(group).items():
        if beyond.runs >= FEWEST_READINGS and beyond.low > heat.resolution_celsius:
            celsius = median([*temperatures[name].values()])
            yield HotNode(node=name, celsius=celsius, beyond=beyond, heat=heat)


def _beyond(group: Sequence[NodeFigures]) -> dict[str, Estimate]:
    """Degrees of each node above the median of all in the same repetition."""
    degrees: dict[str, list[float]] = {}
    for repetition in sorted({number for one in group for number in one.temperatures}):
        present = {one.node: one.temperatures[repetition] for one in group if repetition in one.temperatures}
        if len(present) >= FEWEST_ALIKE:
            usual = median([*present.values()])
            for name, celsius in present.items():
                degrees.setdefault(name, []).append(celsius - usual)
    return {name: median_estimate(values) for name, values in degrees.items()}


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
