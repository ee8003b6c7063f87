"""What one metric of a table shows, in the words of the model."""

from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.group_test import PartEffect
from seatrial.locate.part_cover import dead_parts
from seatrial.locate.rows import Rows, both_ways
from seatrial.locate.single_pairs import MOST_LISTED, back_rows, single_pairs
from seatrial.locate.thresholds import Effects, to_loss
from seatrial.model.pair_faults import (
    LocatedFault,
    Method,
    Observation,
    Population,
    Resolution,
    Undecided,
    Unstable,
)
from seatrial.model.pair_table import Indices, Places, Reals
from seatrial.model.subject import FABRIC, Direction, Subject, node, pair

SHOWN = 12
"""Pairs given as evidence."""


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `Located` joins, of one metric."""

    dense: bool
    faults: tuple[LocatedFault, ...]
    resolution: Resolution
    ambiguous: tuple[Undecided, ...] = ()
    unstable: tuple[Unstable, ...] = ()
    observations: tuple[Observation, ...] = ()
    populations: tuple[Population, ...] = ()
    unjudged: tuple[Subject, ...] = ()
    unstable_pairs: int = 0
    unlisted_pairs: int = 0
    """Single pairs at fault beyond those in `faults`."""

    @classmethod
    def empty(
        cls, metric: str, dead: tuple[LocatedFault, ...], measured: int, expected: int, rows: Rows
    ) -> "MetricResult":
        """The result of a metric in which every pair is dead."""
        return cls(
            dense=True,
            faults=dead,
            resolution=Resolution(
                metric=metric,
                method=Method.GROUP_TEST,
                effect_ratio=0.0,
                pair_scatter=0.0,
                node_scatter=None,
                detectable_ratio=None,
                detectable_one_way_ratio=None,
                detectable_value_ratio=None,
                hidden_ratio=None,
                enough=False,
                majority=True,
                measured_pairs=measured,
                expected_pairs=expected,
                complete=True,
                median=rows.median,
                directed=rows.directed,
            ),
        )


class PairFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What single pairs show; the counts are of all pairs, as in MetricResult."""

    faults: tuple[LocatedFault, ...]
    unstable: tuple[Unstable, ...]
    unstable_pairs: int
    unlisted_pairs: int
    detectable_value_ratio: float


def names_of(nodes: Sequence[str], pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """The first of them as evidence, "source>target"."""
    return tuple(f"{nodes[source]}>{nodes[target]}" for source, target in pairs[:SHOWN])


def evidence(nodes: Sequence[str], rows: Rows, chosen: Indices) -> tuple[str, ...]:
    """The first of the chosen rows."""
    return names_of(nodes, [(int(rows.source[row]), int(rows.target[row])) for row in chosen[:SHOWN].tolist()])


def fault_of(nodes: Sequence[str], rows: Rows, part: PartEffect, metric: str, critical: float) -> LocatedFault:
    """A part that the group test named."""
    margin = critical * part.error
    return LocatedFault(
        subject=part.subjects[0],
        metric=metric,
        direction=part.direction,
        loss_ratio=to_loss(part.loss, metric),
        low=max(to_loss(part.loss - margin, metric), 0.0),
        high=to_loss(part.loss + margin, metric),
        evidence=evidence(nodes, rows, part.rows),
        pairs=len(part.rows),
        p=part.p,
    )


def dead_faults(nodes: Sequence[str], metric: str, rows: Rows) -> tuple[tuple[LocatedFault, ...], int]:
    """One fault for each dead node and each other dead pair; one for all where every row is dead.

    Of the pairs the first MOST_LISTED, and how many there are beyond these.
    """
    if not rows.dead.any():
        return (), 0
    if rows.dead.all() and rows.nodes > 2:
        return (_dead(FABRIC, metric, Direction.BOTH, nodes, rows, np.arange(len(rows.log))),), 0
    given, rows = len(rows.log), both_ways(rows)
    dead = dead_parts(rows)
    faults = []
    gone = np.flatnonzero(rows.dead)
    of_node = [_by_node(end[gone], rows.nodes) for end in (rows.source, rows.target)]
    for number in sorted({*dead.out, *dead.into}):
        sends, receives = number in dead.out, number in dead.into
        way = Direction.BOTH if sends and receives else Direction.OUT if sends else Direction.IN
        chosen = np.concatenate(
            [
                order[first[number] : first[number + 1]]
                for (order, first), is_dead in zip(of_node, (sends, receives), strict=True)
                if is_dead
            ]
        )
        own = gone[chosen]
        faults.append(_dead(node(nodes[number]), metric, way, nodes, rows, np.sort(own[own < given])))
    back = back_rows(rows, dead.pairs)
    once = np.flatnonzero((back < 0) | (rows.source[dead.pairs] < rows.target[dead.pairs]))
    for place in once[:MOST_LISTED].tolist():
        row, other = int(dead.pairs[place]), int(back[place])
        subject = pair(nodes[int(rows.source[row])], nodes[int(rows.target[row])])
        way, both = (Direction.OUT, [row]) if other < 0 else (Direction.BOTH, [row, int(dead.pairs[other])])
        faults.append(_dead(subject, metric, way, nodes, rows, np.array([one for one in both if one < given])))
    return tuple(faults), max(len(once) - MOST_LISTED, 0)


def _by_node(end: Places, nodes: int) -> tuple[Indices, Indices]:
    """`order`: places in `end`, by node. `first`: those of node k are order[first[k] : first[k + 1]]."""
    first = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=nodes))))
    return np.argsort(end, kind="stable"), first


def _dead(
    subject: Subject, metric: str, direction: Direction, nodes: Sequence[str], rows: Rows, chosen: Indices
) -> LocatedFault:
    return LocatedFault(
        subject=subject, metric=metric, direction=direction, loss_ratio=1.0, low=1.0, high=1.0,
        evidence=evidence(nodes, rows, chosen), pairs=len(chosen), p=0.0, dead=True,
    )  # fmt: skip


def pair_findings(
    nodes: Sequence[str], rows: Rows, residual: Reals, scale: float, degrees: float, effects: Effects
) -> PairFindings:
    """Single pairs that are named, and what is unstable."""
    singles = single_pairs(rows, residual, scale, max(degrees, 1), effects)
    metric = effects.metric
    faults = tuple(
        LocatedFault(
            subject=pair(nodes[one.source], nodes[one.target]),
            metric=metric,
            direction=Direction.BOTH if one.both or not rows.directed else Direction.OUT,
            loss_ratio=to_loss(one.loss, metric),
            low=max(to_loss(one.loss - one.margin, metric), 0.0),
            high=to_loss(one.loss + one.margin, metric),
            evidence=names_of(nodes, [(one.source, one.target), (one.target, one.source)][: 2 if one.both else 1]),
            pairs=2 if one.both else 1,
            p=one.p,
        )
        for one in singles.bad
    )
    unstable = tuple(
        Unstable(
            subject=node(nodes[one.source]) if one.target < 0 else pair(nodes[one.source], nodes[one.target]),
            metric=metric,
            cause=one.cause,
            loss_ratio=to_loss(one.loss, metric),
            gross=one.out,
            pairs=len(one.rows),
            evidence=names_of(nodes, one.rows),
        )
        for one in singles.varying
    )
    return PairFindings(
        faults=faults,
        unstable=unstable,
        unstable_pairs=singles.varying_rows,
        unlisted_pairs=singles.bad_pairs - len(faults),
        detectable_value_ratio=to_loss(singles.detectable, metric),
    )
