"""What one metric of a table shows, in the words of the model."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.locate.explanation import Ways, cover
from seatrial.locate.rows import Rows, back_rows, both_ways
from seatrial.locate.slow_parts import FEWEST_ROWS, SlowParts
from seatrial.locate.thresholds import Effects, adjusted_p, critical_value, relative_scale, to_loss
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import (
    Instability,
    LocatedFault,
    Observation,
    Population,
    Resolution,
    Undecided,
    Unstable,
)
from seatrial.model.pair_table import Indices, Places, Reals
from seatrial.model.subject import FABRIC, Direction, Subject, node, pair
from seatrial.statistics.estimates import MEDIAN_ERROR, array_median

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


Part = tuple[Subject, Direction]


def end_parts(
    subjects: Sequence[Subject], source: Indices | Places, target: Indices | Places, *, directed: bool = True
) -> tuple[list[Part], Ways]:
    """Both ends of every row as parts: each direction of a subject, and both together; without directions the last."""
    count = len(subjects)
    ends = [source, target + count, source + 2 * count, target + 2 * count] if directed else [source, target]
    directions = (Direction.OUT, Direction.IN, Direction.BOTH) if directed else (Direction.BOTH,)
    parts = [(subject, way) for way in directions for subject in subjects]
    part = np.stack(ends, axis=1).astype(np.intp).ravel()
    return parts, ways_of(parts, np.repeat(np.arange(len(source)), len(ends)), part)


def ways_of(parts: Sequence[Part], row: Indices, part: Indices) -> Ways:
    """Which of the parts each row crosses (see `Ways`), with the subject of each."""
    number = {subject: place for place, subject in enumerate(dict.fromkeys(subject for subject, _ in parts))}
    return Ways(row=row, part=part, parts=len(parts), subject=np.array([number[subject] for subject, _ in parts]))


class PartFaults(NamedTuple):
    """Parts that are named, and parts that cannot be distinguished, each with the rows that these explain."""

    named: tuple[tuple[LocatedFault, Indices], ...]
    undecided: tuple[tuple[Undecided, Indices], ...]
    """Parts that are slow on most of their rows and good on others explain none for certain."""


def part_faults(
    scene: MetricScene, log: Reals, parts: Sequence[Part], slow: SlowParts, ends_of: Callable[[Indices], Ends]
) -> PartFaults:
    """The slow `parts` by name, both directions of a subject together. `log`: of rows over the usual ones.

    `ends_of`: the pairs of nodes that rows stand for.
    """
    naming, named, undecided = scene.naming, [], []
    sure: defaultdict[Subject, dict[Direction, Indices]] = defaultdict(dict)
    for place, blame in enumerate((*slow.blamed, *slow.mixed)):
        subjects = tuple(dict.fromkeys(parts[part][0] for part in blame.parts))
        mixed = place >= len(slow.blamed)
        if len(subjects) == 1 and len(blame.rows) >= FEWEST_ROWS and not mixed:
            sure[subjects[0]].update({parts[part][1]: blame.rows for part in blame.parts})
            continue
        ends = ends_of(blame.rows)
        # A single bad row may be the pair's own fault, too.
        subjects += (naming.pair(int(ends[0][0]), int(ends[1][0])),) if len(blame.rows) == 1 else ()
        either = naming.undecided(subjects, array_median(-log[blame.rows]), ends)
        undecided.append((either, blame.rows[:0] if mixed else blame.rows))
    critical = critical_value(len(parts), slow.degrees, scene.error_rate)
    for subject, directions in sure.items():
        explained = np.unique(np.concatenate(list(directions.values())))
        ways = directions.keys() - {Direction.BOTH}  # both of a subject that has pairs in one alone are that one
        way = ways.pop() if len(ways) == 1 else Direction.BOTH
        losses = -log[explained]
        own = relative_scale(np.exp(-losses)) if len(losses) > 2 else 0.0
        loss, error = array_median(losses), MEDIAN_ERROR * max(slow.scatter, own) / float(np.sqrt(len(losses)))
        p = float(adjusted_p(np.array([loss / error]), len(parts), slow.degrees)[0])
        named.append((naming.fault(subject, way, loss, critical * error, p, ends_of(explained)), explained))
    return PartFaults(tuple(named), tuple(undecided))


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `Located` joins, of one metric."""

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


def dead_faults(nodes: Sequence[str], metric: str, rows: Rows) -> tuple[tuple[LocatedFault, ...], int]:
    """One fault for each dead node and each other dead pair; one for all where every row is dead.

    The fewest nodes that explain the dead rows are dead, each in a direction in which more of its pairs are dead than
    alive. Of the pairs the first MOST_LISTED, and how many there are
    beyond these.
    """
    naming = FaultNaming(nodes=nodes, metric=metric)
    if not rows.dead.any():
        return (), 0
    if rows.dead.all() and rows.nodes > 2:
        return (naming.dead(FABRIC, Direction.BOTH, rows.ends(np.arange(len(rows.log)))),), 0
    given, rows = len(rows.log), both_ways(rows)
    dead, count = np.flatnonzero(rows.dead), rows.nodes
    ends = np.stack([rows.source[dead], rows.target[dead] + count], axis=1).ravel()
    measured = np.concatenate([np.bincount(end, minlength=count) for end in (rows.source, rows.target)])
    alive = measured - np.bincount(ends, minlength=2 * count)
    ways = Ways(row=np.repeat(np.arange(len(dead)), 2), part=ends, parts=2 * count)
    own: defaultdict[int, dict[Direction, Indices]] = defaultdict(dict)
    for blame in cover(ways, len(dead), least=np.maximum(FEWEST_ROWS, alive + 1)):
        for part in blame.parts:
            own[part % count][Direction.OUT if part < count else Direction.IN] = dead[blame.rows]
    faults = []
    for number, directions in sorted(own.items()):
        places = np.unique(np.concatenate([*directions.values()]))
        way = Direction.BOTH if len(directions) == 2 else next(iter(directions))
        faults.append(naming.dead(node(nodes[number]), way, rows.ends(places[places < given])))
    explained = [rows for directions in own.values() for rows in directions.values()]
    pairs = np.setdiff1d(dead, np.concatenate(explained)) if explained else dead
    back = back_rows(rows, pairs)
    once = np.flatnonzero((back < 0) | (rows.source[pairs] < rows.target[pairs]))
    for place in once[:MOST_LISTED].tolist():
        row, other = int(pairs[place]), int(back[place])
        subject = naming.pair(int(rows.source[row]), int(rows.target[row]))
        way, both = (Direction.OUT, [row]) if other < 0 else (Direction.BOTH, [row, int(pairs[other])])
        faults.append(
            naming.dead(subject, way, rows.ends(np.array([one for one in both if one < given], dtype=np.intp)))
        )
    return tuple(faults), max(len(once) - MOST_LISTED, 0)
