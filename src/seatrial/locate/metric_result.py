"""What one metric of a table shows, in the words of the model."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.locate.part_cover import dead_parts
from seatrial.locate.rows import Rows, back_rows, both_ways
from seatrial.locate.thresholds import Effects, to_loss
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import (
    Instability,
    LocatedFault,
    Method,
    Observation,
    Population,
    Resolution,
    Undecided,
    Unstable,
)
from seatrial.model.pair_table import Indices, Places
from seatrial.model.subject import FABRIC, Direction, Subject, node, pair

SHOWN = 12
"""Pairs given as evidence."""
MOST_LISTED = 1000
"""Lone pairs that are kept, the worst of them; a table with more has a noise of its own."""
Ends = tuple[Indices, ...]
"""Sources and targets of ordered pairs, as numbers of nodes."""


class FaultNaming(msgspec.Struct, frozen=True, kw_only=True):
    """What is at fault in one metric of a table, by the names of its nodes. Losses are log differences, positive."""

    nodes: Sequence[str]
    metric: str

    def fault(
        self, subject: Subject, direction: Direction, loss: float, margin: float, p: float, ends: Ends
    ) -> LocatedFault:
        """A part that is named; `margin`: half of the interval of its loss. `ends`: the pairs that show it."""
        return LocatedFault(
            subject=subject,
            metric=self.metric,
            direction=direction,
            loss_ratio=self.ratio(loss),
            low=max(self.ratio(loss - margin), 0.0),
            high=self.ratio(loss + margin),
            evidence=self.evidence(ends),
            pairs=len(ends[0]),
            p=p,
        )

    def dead(self, subject: Subject, direction: Direction, ends: Ends) -> LocatedFault:
        """A part that was measured and gave no usable number."""
        return LocatedFault(
            subject=subject, metric=self.metric, direction=direction, loss_ratio=1.0, low=1.0, high=1.0,
            evidence=self.evidence(ends), pairs=len(ends[0]), p=0.0, dead=True,
        )  # fmt: skip

    def undecided(self, subjects: tuple[Subject, ...], loss: float, ends: Ends) -> Undecided:
        """Parts that these pairs cannot distinguish."""
        return Undecided(
            subjects=subjects, metric=self.metric, loss_ratio=self.ratio(loss), evidence=self.evidence(ends)
        )

    def unstable(self, subject: Subject, cause: Instability, loss: float, ends: Ends, *, gross: bool) -> Unstable:
        """A node or pair whose numbers disagree."""
        return Unstable(
            subject=subject, metric=self.metric, cause=cause, loss_ratio=self.ratio(loss), gross=gross,
            pairs=len(ends[0]), evidence=self.evidence(ends),
        )  # fmt: skip

    def pair(self, source: int, target: int) -> Subject:
        """The subject of one ordered pair."""
        return pair(self.nodes[source], self.nodes[target])

    def ratio(self, loss: float) -> float:
        """A loss as a share of what peers do."""
        return to_loss(loss, self.metric)

    def evidence(self, ends: Ends) -> tuple[str, ...]:
        """The first of the pairs, "source>target"."""
        shown = zip(*(end[:SHOWN].tolist() for end in ends), strict=True)
        return tuple(f"{self.nodes[source]}>{self.nodes[target]}" for source, target in shown)


class MetricScene(NamedTuple):
    """What one metric of a table is judged by."""

    nodes: Sequence[str]
    groups: Sequence[Sequence[str]]
    """Nodes near each other."""
    wiring: Wiring | None
    """Cables, in place of the groups' uplinks."""
    effects: Effects
    error_rate: float

    @property
    def naming(self) -> FaultNaming:
        """Names what is at fault."""
        return FaultNaming(nodes=self.nodes, metric=self.effects.metric)


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


def dead_faults(nodes: Sequence[str], metric: str, rows: Rows) -> tuple[tuple[LocatedFault, ...], int]:
    """One fault for each dead node and each other dead pair; one for all where every row is dead.

    Of the pairs the first MOST_LISTED, and how many there are beyond these.
    """
    naming = FaultNaming(nodes=nodes, metric=metric)
    if not rows.dead.any():
        return (), 0
    if rows.dead.all() and rows.nodes > 2:
        return (naming.dead(FABRIC, Direction.BOTH, rows.ends(np.arange(len(rows.log)))),), 0
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
        faults.append(naming.dead(node(nodes[number]), way, rows.ends(np.sort(own[own < given]))))
    back = back_rows(rows, dead.pairs)
    once = np.flatnonzero((back < 0) | (rows.source[dead.pairs] < rows.target[dead.pairs]))
    for place in once[:MOST_LISTED].tolist():
        row, other = int(dead.pairs[place]), int(back[place])
        subject = naming.pair(int(rows.source[row]), int(rows.target[row]))
        way, both = (Direction.OUT, [row]) if other < 0 else (Direction.BOTH, [row, int(dead.pairs[other])])
        faults.append(
            naming.dead(subject, way, rows.ends(np.array([one for one in both if one < given], dtype=np.intp)))
        )
    return tuple(faults), max(len(once) - MOST_LISTED, 0)


def _by_node(end: Places, nodes: int) -> tuple[Indices, Indices]:
    """`order`: places in `end`, by node. `first`: those of node k are order[first[k] : first[k + 1]]."""
    first = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=nodes))))
    return np.argsort(end, kind="stable"), first
