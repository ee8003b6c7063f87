"""Sparse tables, tables of few nodes, and cables on known routes: parts by the pairs that cross them."""

from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.explanation import Ways
from seatrial.locate.metric_result import MetricScene, Part, PartFaults, end_parts, part_faults, ways_of
from seatrial.locate.rows import Rows, group_name, group_numbers
from seatrial.locate.slow_parts import FEW_NODES, SlowParts, slow_parts
from seatrial.locate.thresholds import relative_scale
from seatrial.locate.uplinks import clearly_better
from seatrial.model.fabric import Component, Wiring
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Subject, SubjectKind, node, uplink
from seatrial.statistics.estimates import array_median

FEWEST_PEERS = 8
"""Pairs of one distance that are each other's peers; fewer are unless one node is on all of them, else all pairs."""
BETTER_SCATTERS = 2.0
MOST_BETTER = 0.15
"""If more than this share of the pairs is better than the usual ones by BETTER_SCATTERS (chance makes 2 to 6 % so), the
usual ones may be the slow ones."""


class GroupTest(msgspec.Struct, frozen=True, kw_only=True):
    """Parts by the pairs that cross them."""

    faults: PartFaults
    residual: Reals
    """Logarithms of rows over their peers; NaN where a part at fault or under suspicion lies on the way."""
    slow: SlowParts
    scatter: float
    """How much rows scatter that no slow part is on, whatever single ones do."""
    majority: bool
    """False: too many rows are clearly better than the reference, which may be the level of slow nodes."""


def group_test(scene: MetricScene, rows: Rows) -> GroupTest:
    """Name parts by the pairs that cross them."""
    nodes, groups, wiring, effects, error_rate = scene
    log = _over_peers(rows, group_numbers(nodes, groups if len(groups) > 1 else ()))
    if wiring is not None:
        parts, ways = _wired_ways(nodes, rows, wiring)
    else:
        parts, ways = _ways(nodes, rows, groups if len(groups) > 2 else ())
    slow = slow_parts(log, ways, effects, error_rate, few=rows.nodes <= FEW_NODES)
    log = log - array_median(log[slow.rest])
    scatter = relative_scale(np.exp(log[slow.rest]))
    residual = log.copy()
    residual[ways.row[np.isin(ways.part, [part for blame in slow.blamed for part in blame.parts])]] = np.nan
    return GroupTest(
        faults=part_faults(scene, log, parts, slow, rows.ends),
        residual=residual,
        slow=slow,
        scatter=scatter,
        majority=bool(np.mean(log > max(effects.chosen(scatter), BETTER_SCATTERS * scatter)) <= MOST_BETTER),
    )


def _over_peers(rows: Rows, group: Indices) -> Reals:
    """Log over the median of the rows of the same distance."""
    source, target = group[rows.source], group[rows.target]
    far = source != target
    log = rows.log.astype(np.float64)
    reference = np.full(len(log), array_median(log))
    for same, usual in ((~far, clearly_better if rows.nodes <= FEW_NODES else array_median), (far, clearly_better)):
        ends = np.concatenate([rows.source[same], rows.target[same]])
        if len(ends) >= 2 * FEWEST_PEERS or (len(ends) and np.bincount(ends).max() < len(ends) / 2):
            reference[same] = usual(log[same])
    return np.asarray(log - reference)


def _ways(nodes: Sequence[str], rows: Rows, groups: Sequence[Sequence[str]]) -> tuple[list[Part], Ways]:
    """Both ends of every row, and the two uplinks of rows between groups."""
    parts, ways = end_parts([*map(node, nodes)], rows.source, rows.target, directed=rows.directed)
    if not groups:
        return parts, ways
    group = group_numbers(nodes, groups)
    source, target = group[rows.source], group[rows.target]
    far = np.flatnonzero((source != target) & (source >= 0) & (target >= 0))
    names = [uplink(group_name(members)) for members in groups]
    uplinks, above = end_parts(names, source[far], target[far], directed=rows.directed)
    row, part = np.concatenate([ways.row, far[above.row]]), np.concatenate([ways.part, above.part + len(parts)])
    return [*parts, *uplinks], ways_of([*parts, *uplinks], row, part)


def _wired_ways(nodes: Sequence[str], rows: Rows, wiring: Wiring) -> tuple[list[Part], Ways]:
    """What every row crosses by the fabric's own routes."""
    ends = zip(rows.source.tolist(), rows.target.tolist(), strict=True)
    pairs = [(nodes[source], nodes[target]) for source, target in ends]
    fabric = wiring.measured(pairs)
    number: dict[Component, int] = {}
    crossed = [[number.setdefault(part, len(number)) for part in fabric.path(*one)] for one in pairs]
    parts = [(Subject(kind=SubjectKind(part.kind), name=part.name), part.direction) for part in number]
    row = np.repeat(np.arange(len(pairs)), [len(each) for each in crossed])
    part = np.array([one for each in crossed for one in each], dtype=np.intp)
    return parts, ways_of(parts, row, part)
