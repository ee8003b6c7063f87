"""Sparse tables, and cables on known routes: clearly bad pairs convict, clearly good ones clear, others do neither."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.explanation import Ways
from seatrial.locate.few_nodes import FEW_NODES, FEWEST_ROWS, slow_parts
from seatrial.locate.metric_result import MetricScene
from seatrial.locate.part_cover import explain
from seatrial.locate.rows import Rows, group_name, group_numbers
from seatrial.locate.significance import adjusted_p, critical_value, detectable, relative_scale
from seatrial.locate.thresholds import CLEAR, SCATTERS
from seatrial.locate.uplinks import clearly_better
from seatrial.model.fabric import Component, Wiring
from seatrial.model.pair_faults import LocatedFault, Undecided
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Direction, Subject, SubjectKind, node, uplink
from seatrial.statistics.estimates import MEDIAN_ERROR, array_median

FEWEST_PEERS = 8
"""Pairs of one distance that are each other's peers; fewer are unless one node is on all of them, else all pairs."""
FEWEST_WAYS = 6
"""Ordered pairs of groups: three groups."""
MOST_BETTER = 0.15
"""If more than this share of the pairs is clearly better than the usual ones, the usual ones may be the slow ones."""
Part = tuple[Subject, Direction]


class GroupTest(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is named, or parts that cannot be distinguished, each with the rows that these explain."""

    named: tuple[tuple[LocatedFault, Indices], ...]
    undecided: tuple[tuple[Undecided, Indices], ...]
    residual: Reals
    """Logarithms of rows over their peers; NaN where a part at fault or under suspicion lies on the way."""
    scatter: float
    majority: bool
    """False: too many rows are clearly better than the reference, which may be the level of slow nodes."""
    effect: float
    detectable: float
    hidden: float
    """The loss of a part that noise may hide, as a difference of logarithms."""


def group_test(scene: MetricScene, rows: Rows) -> GroupTest:
    """Name parts by the pairs that cross them."""
    nodes, groups, wiring, effects, error_rate = scene
    log = _over_peers(rows, group_numbers(nodes, groups if len(groups) > 1 else ()))
    if wiring is not None:
        parts, ways = _wired_ways(nodes, rows, wiring)
    else:
        parts, ways = _ways(nodes, rows, groups if len(groups) > 2 else ())
    few = slow_parts(log, ways, effects, error_rate) if rows.nodes <= FEW_NODES else None
    rest = log[few.rest] if few else log
    log = log - array_median(rest) if few else log
    scatter = relative_scale(np.exp(rest))
    lack = max(1 - float(np.exp(-effects.chosen(scatter))), SCATTERS * scatter)
    blamed = few.blamed if few else explain(np.exp(log), ways, 1 - lack, 3 * scatter, good=1 - CLEAR * lack)
    naming = scene.naming
    undecided = []
    sure: defaultdict[Subject, dict[Direction, Indices]] = defaultdict(dict)
    for blame in blamed:
        subjects = tuple(dict.fromkeys(parts[part][0] for part in blame.parts))
        if len(subjects) == 1 and len(blame.rows) >= FEWEST_ROWS:
            sure[subjects[0]].update({parts[part][1]: blame.rows for part in blame.parts})
        else:
            ends = rows.ends(blame.rows)
            # A single bad row may be the pair's own fault, too.
            subjects += (naming.pair(int(ends[0][0]), int(ends[1][0])),) if len(blame.rows) == 1 else ()
            undecided.append((naming.undecided(subjects, array_median(-log[blame.rows]), ends), blame.rows))
    noise = few.scatter if few else scatter
    guilty = np.zeros(ways.parts, dtype=np.bool_)
    guilty[[part for blame in blamed for part in blame.parts]] = True
    residual = log.copy()
    residual[ways.row[guilty[ways.part]]] = np.nan
    return GroupTest(
        named=tuple(_named(sure, scene, rows, log, noise, few.degrees if few else max(len(log) - 1, 1), len(parts))),
        undecided=tuple(undecided),
        residual=residual,
        scatter=scatter,
        majority=bool(np.mean(log > np.log1p(lack)) <= MOST_BETTER),
        effect=effects.chosen(noise),
        detectable=few.detectable if few else detectable(-float(np.log1p(-min(lack, 0.999))), scatter),
        hidden=few.detectable if few else detectable(-float(np.log1p(-min(SCATTERS * scatter, 0.999))), scatter),
    )


def _named(
    sure: Mapping[Subject, Mapping[Direction, Indices]], scene: MetricScene, rows: Rows, log: Reals, scatter: float,
    degrees: int, tests: int,
) -> Iterator[tuple[LocatedFault, Indices]]:  # fmt: skip
    """Each subject with the rows that show it in any direction."""
    critical = critical_value(tests, degrees, scene.error_rate)
    for subject, directions in sure.items():
        explained = np.unique(np.concatenate(list(directions.values())))
        way = next(iter(directions)) if len(directions) == 1 else Direction.BOTH
        loss, error = _loss(-log[explained], scatter)
        p = float(adjusted_p(np.array([loss / error]), tests, degrees)[0])
        yield scene.naming.fault(subject, way, loss, critical * error, p, rows.ends(explained)), explained


def _loss(losses: Reals, scatter: float) -> tuple[float, float]:
    """The median of the losses of a part's rows, and its standard error."""
    own = relative_scale(np.exp(-losses)) if len(losses) > 2 else scatter
    return array_median(losses), MEDIAN_ERROR * max(scatter, own) / float(np.sqrt(len(losses)))


def _over_peers(rows: Rows, group: Indices) -> Reals:
    """Log over the median of the rows of the same distance."""
    source, target = group[rows.source], group[rows.target]
    far = source != target
    log = rows.log.astype(np.float64)
    reference = np.full(len(log), array_median(log))
    for same, usual in ((~far, array_median), (far, lambda own: _between_groups(own, source[far], target[far]))):
        ends = np.concatenate([rows.source[same], rows.target[same]])
        if len(ends) >= 2 * FEWEST_PEERS or (len(ends) and np.bincount(ends).max() < len(ends) / 2):
            reference[same] = usual(log[same])
    return np.asarray(log - reference)


def _between_groups(log: Reals, source: Indices, target: Indices) -> float:
    """The median; or the best ways between groups, if so clearly better that half of the uplinks may be bad.

    A slow uplink is on two of three ways between three groups, and on half of those between four.
    """
    ways, where = np.unique((source + 1) * (int(target.max()) + 3) + target, return_inverse=True)
    if len(ways) < FEWEST_WAYS:
        return array_median(log)
    return clearly_better(np.array([array_median(log[where == way]) for way in range(len(ways))]), log)


def _pairs(rows: Rows) -> list[tuple[int, int]]:
    return list(zip(rows.source.tolist(), rows.target.tolist(), strict=True))


def _ways(nodes: Sequence[str], rows: Rows, groups: Sequence[Sequence[str]]) -> tuple[list[Part], Ways]:
    """Both ends of every row, and the two uplinks of rows between groups; without directions a part is one of both."""
    ways = (Direction.OUT, Direction.IN) if rows.directed else (Direction.BOTH,)
    parts: list[Part] = [(node(name), way) for way in ways for name in nodes]
    into = len(nodes) * (len(ways) - 1)
    crossed = [np.stack([rows.source, rows.target + into], axis=1).ravel()]
    owner = [np.repeat(np.arange(len(rows.log)), 2)]
    if groups:
        group = group_numbers(nodes, groups)
        source, target = group[rows.source], group[rows.target]
        far = np.flatnonzero((source != target) & (source >= 0) & (target >= 0))
        first = len(parts)
        parts += [(uplink(group_name(members)), way) for way in ways for members in groups]
        into = first + len(groups) * (len(ways) - 1)
        crossed.append(np.stack([source[far] + first, target[far] + into], axis=1).ravel())
        owner.append(np.repeat(far, 2))
    row, part = np.concatenate(owner), np.concatenate(crossed)
    order = np.argsort(row, kind="stable")
    return parts, Ways(row=row[order], part=part[order], parts=len(parts))


def _wired_ways(nodes: Sequence[str], rows: Rows, wiring: Wiring) -> tuple[list[Part], Ways]:
    """What every row crosses by the fabric's own routes."""
    pairs = [(nodes[source], nodes[target]) for source, target in _pairs(rows)]
    fabric = wiring.measured(pairs)
    number: dict[Component, int] = {}
    crossed = [[number.setdefault(part, len(number)) for part in fabric.path(*one)] for one in pairs]
    parts = [(Subject(kind=SubjectKind(part.kind), name=part.name), part.direction) for part in number]
    row = np.repeat(np.arange(len(pairs)), [len(each) for each in crossed])
    part = np.array([one for each in crossed for one in each], dtype=np.intp)
    return parts, Ways(row=row, part=part, parts=len(parts))
