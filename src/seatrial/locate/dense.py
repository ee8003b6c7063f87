"""A complete or nearly complete table: uplinks, then two populations, then nodes, then single pairs."""

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.additive import BLOCK
from seatrial.locate.group_test import group_test
from seatrial.locate.metric_result import MetricResult, MetricScene
from seatrial.locate.nodes import (
    BOTH,
    FEWEST_CELLS,
    IN,
    OUT,
    NodeEffects,
    cleared_by_partners,
    direction_of,
    node_effects,
)
from seatrial.locate.rows import Rows, group_name, group_numbers, matrix_of
from seatrial.locate.single_pairs import single_pairs
from seatrial.locate.thresholds import RUN_SCATTER, Effects, adjusted_p, resolution, to_loss
from seatrial.locate.uplinks import FEWEST_NODES, slow_uplinks
from seatrial.model.pair_faults import LocatedFault, Method, Observation, Population, Resolution, Undecided
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, SubjectKind, node, uplink
from seatrial.statistics.estimates import GROUP_SHARE, MEDIAN_ERROR, array_median, two_groups

UPPER = 0.8
"""A node's pace is this quantile of its cells: of a good node up to four partners in five may be slow."""
FEWEST = 6
"""Nodes below which nothing is called a population."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes belong to the two populations; `gap`: between their paces, as a log difference."""

    slower: Flags
    faster: Flags
    gap: float


def split(pace: Reals, least_gap: float) -> Split | None:
    """Divide nodes at the widest gap between their paces (log, NaN if unknown); None where they are one population.

    The slower one must be a third of the nodes or more: then no majority says which of the two is as it should be.
    """
    measured = np.flatnonzero(np.isfinite(pace))
    count = len(measured)
    if count < FEWEST:
        return None
    order = measured[np.argsort(pace[measured], kind="stable")]
    ordered = pace[order]
    cut = two_groups(ordered, least_gap, lower=int(np.ceil(GROUP_SHARE * count)), upper=FEWEST_NODES)
    if not cut:
        return None
    slower, faster = (np.isin(np.arange(len(pace)), part) for part in (order[:cut], order[cut:]))
    return Split(slower=slower, faster=faster, gap=array_median(ordered[cut:]) - array_median(ordered[:cut]))


def levelled(y: Reals, populations: Split) -> Reals:
    """`y` less the median of its population pair: slow with slow, slow with fast, fast with fast."""
    level = np.array(y)
    for one in (False, True):
        for other in (False, True):
            rows, columns = np.flatnonzero(populations.slower == one), np.flatnonzero(populations.slower == other)
            cells = level[np.ix_(rows, columns)]
            if np.isfinite(cells).any():
                level[np.ix_(rows, columns)] = cells - np.nanmedian(cells)
    return level


def upper_quantiles(y: Reals) -> Reals:
    """The UPPER quantile of every row of known cells; NaN for a row without any."""
    result = np.full(len(y), np.nan)
    for begin in range(0, len(y), BLOCK):
        ordered = np.sort(y[begin : begin + BLOCK], axis=1)
        count = np.count_nonzero(~np.isnan(ordered), axis=1)
        place = np.maximum(np.ceil(UPPER * count).astype(np.intp) - 1, 0)
        taken = np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
        result[begin : begin + BLOCK] = np.where(count > 0, taken, np.nan)
    return result


def sparse_paces(rows: Rows, log: Reals) -> Reals:
    """The UPPER quantile of the rows of every node, in either direction; NaN for a node without any.

    `log`: one value for each row, NaN for those that do not count.
    """
    places = np.flatnonzero(np.isfinite(log))
    end, values = np.concatenate(rows.ends(places)), np.tile(log[places], 2)
    ordered, count = values[np.lexsort((values, end))], np.bincount(end, minlength=rows.nodes)
    place = np.cumsum(count) - count + np.maximum(np.ceil(UPPER * count).astype(np.intp) - 1, 0)
    paces = np.full(rows.nodes, np.nan)
    paces[count > 0] = ordered[place[count > 0]]
    return paces


def populations(nodes: Sequence[str], halves: Split | None, metric: str) -> tuple[Population, ...]:
    """The slower and the faster of two populations; nothing where there is one."""
    if halves is None:
        return ()
    return tuple(
        Population(metric=metric, nodes=tuple(nodes[place] for place in np.flatnonzero(part).tolist()), ratio=ratio)
        for part, ratio in ((halves.slower, math.exp(-halves.gap)), (halves.faster, 1.0))
    )


# Distances: pairs of two distances are brought to one level, so that each can be compared with every other.


def level_distances(y: Reals, near: Flags) -> None:
    """Lift the far cells of `y[i, j]` by what nodes usually lose from near to far.

    The difference is taken node by node, so that slow nodes, of which one group may have more, do not shift it.
    """
    steps = []
    for table in (y, y.T):
        here, there = upper_quantiles(np.where(near, table, np.nan)), upper_quantiles(np.where(near, np.nan, table))
        step = there - here
        steps.append(step[np.isfinite(step)])
    measured = np.concatenate(steps)
    if measured.size:
        y[~near] -= y.dtype.type(np.median(measured))


SAMPLE = 1 << 18
"""Rows from which the resolution of the numbers is read."""
SPLIT_ERRORS = 3.0
"""Two populations lie at least this many critical values apart."""
DIRECTIONS = {OUT: Direction.OUT, IN: Direction.IN, BOTH: Direction.BOTH}


def judge_dense(
    scene: MetricScene, rows: Rows, dead: tuple[LocatedFault, ...], measured: int, expected: int
) -> MetricResult:
    """`rows`: those that are alive. `measured`: rows with the dead ones, `expected`: rows of the complete table."""
    nodes, groups, _, effects, error_rate = scene
    error_rate /= 2  # half of it for nodes, the rest for uplinks and pairs
    links = scene._replace(error_rate=error_rate)
    metric, mirrored = effects.metric, not rows.directed
    group = group_numbers(nodes, groups)
    y = matrix_of(rows)
    if scene.wiring is None:
        faults, ambiguous = slow_uplinks(links, y, mirrored=mirrored)
    else:
        faults, ambiguous = _cable_findings(links, rows, y)
    near = group[:, None] == group if len(groups) > 1 else None
    if near is not None:
        level_distances(y, near)
    step = max(len(rows.log) // SAMPLE, 1)
    rounding = resolution(np.exp(rows.log[::step].astype(np.float64))) / math.sqrt(12)
    floor = max(RUN_SCATTER, rounding)
    node_fit = node_effects(y, effects, floor, error_rate, mirrored=mirrored)
    usual_error = node_fit.critical * float(np.nanmedian(node_fit.error[BOTH]))
    paces = (upper_quantiles(y) + upper_quantiles(y.T)) / 2
    halves = split(paces, max(node_fit.practical, usual_error * SPLIT_ERRORS / 2))
    if halves is not None:
        y = levelled(y, halves)
        node_fit = node_effects(y, effects, floor, error_rate, mirrored=mirrored)
    if mirrored:
        node_fit = cleared_by_partners(y, node_fit)
    if len(groups) > 2 and scene.wiring is None:
        node_fit, behind, either = _behind_uplinks(scene, y, node_fit, group, mirrored=mirrored)
        named = {one.subject for one in faults}
        faults = (*faults, *(one for one in behind if one.subject not in named))
        ambiguous = (*ambiguous, *(one for one in either if named.isdisjoint(one.subjects)))
    slow_nodes = _node_faults(scene, y, node_fit, mirrored=mirrored)
    residual = _residuals(y, rows, node_fit)
    pairs = single_pairs(nodes, rows, residual, node_fit.fit.scale, node_fit.fit.degrees, effects)
    return MetricResult(
        faults=(*dead, *faults, *slow_nodes, *pairs.faults),
        ambiguous=ambiguous,
        unstable=pairs.unstable,
        unstable_pairs=pairs.unstable_pairs,
        unlisted_pairs=pairs.unlisted_pairs,
        observations=_observations(nodes, node_fit, effects),
        populations=populations(nodes, halves, metric),
        unjudged=tuple(node(nodes[place]) for place in _unjudged(y, dead, nodes)),
        resolution=_resolution_of(node_fit, effects, measured, expected, rows, pairs.detectable_value_ratio),
    )


def _resolution_of(
    node_fit: NodeEffects, effects: Effects, measured: int, expected: int, rows: Rows, detectable_value_ratio: float
) -> Resolution:
    """What the table could have shown."""
    metric = effects.metric
    return Resolution(
        metric=metric,
        method=Method.ADDITIVE,
        effect_ratio=to_loss(node_fit.practical, metric),
        pair_scatter=node_fit.fit.scale,
        node_scatter=node_fit.scatter,
        detectable_ratio=to_loss(node_fit.detectable + effects.step, metric),
        detectable_one_way_ratio=to_loss(node_fit.detectable_one_way + effects.step, metric),
        detectable_value_ratio=detectable_value_ratio,
        hidden_ratio=to_loss(node_fit.hidden + 2 * effects.step, metric),
        enough=node_fit.hidden + 2 * effects.step <= effects.must_show,
        measured_pairs=measured,
        expected_pairs=expected,
        complete=measured >= expected,
        median=rows.median,
        directed=rows.directed,
    )


def _cable_findings(scene: MetricScene, rows: Rows, y: Reals) -> tuple[tuple[LocatedFault, ...], tuple[Undecided, ...]]:
    """Cables by the routes; nodes are left to their row and column effects. What cables explain leaves `y`."""
    tested = group_test(scene._replace(groups=()), rows).faults
    named = [pair for pair in tested.named if pair[0].subject.kind is not SubjectKind.NODE]
    undecided = [
        (parts, explained)
        for parts, explained in tested.undecided
        if len(explained) > 1 and any(subject.kind is not SubjectKind.NODE for subject in parts.subjects)
    ]
    for _, explained in (*named, *undecided):
        source, target = rows.ends(explained)
        y[source, target] = np.nan
        if not rows.directed:
            y[target, source] = np.nan
    return tuple(fault for fault, _ in named), tuple(parts for parts, _ in undecided)


class _Behind(msgspec.Struct, frozen=True, kw_only=True):
    """A slow node that is good within its group, or may be; `ends` of its pairs with other groups."""

    place: int
    way: int
    sure: bool
    ends: tuple[Indices, Indices]


def _behind_uplinks(
    scene: MetricScene, y: Reals, judged: NodeEffects, group: Indices, *, mirrored: bool
) -> tuple[NodeEffects, tuple[LocatedFault, ...], tuple[Undecided, ...]]:
    """Slow nodes of one group that are good within it are not at fault: their uplink is.

    Undecided: a single such node; and all nodes of a group, if their few pairs within it are not clearly good or bad.
    """
    behind: defaultdict[int, list[_Behind]] = defaultdict(list)
    for place in np.flatnonzero(judged.slow.any(axis=0) & (group >= 0)).tolist():
        way = direction_of(judged, place)
        source, target = _slowest(y, place, OUT if mirrored else way)
        near = group[source] == group[target]
        if near.any() and not near.all():
            lack = judged.fit.level - array_median(y[source[near], target[near]])
            margin = judged.critical * MEDIAN_ERROR * judged.fit.scale / math.sqrt(np.count_nonzero(near))
            half, ends = float(judged.effect[way, place]) / 2, (source[~near], target[~near])
            if lack - margin < half:
                behind[int(group[place])].append(_Behind(place=place, way=way, sure=lack + margin < half, ends=ends))
    slow, clear, faults, undecided = judged.slow.copy(), judged.clear.copy(), [], []
    for number, members in behind.items():
        subject, sure = uplink(group_name(scene.groups[number])), sum(one.sure for one in members)
        places, ways = [one.place for one in members], {one.way for one in members}
        if not sure and len(places) < max(int(np.count_nonzero(group == number)), FEWEST_NODES):
            continue
        slow[:, places] = clear[:, places] = False
        way = ways.pop() if len(ways) == 1 else BOTH
        effect, error = (float(np.median(value[way, places])) for value in (judged.effect, judged.error))
        source, target = (np.concatenate([one.ends[side] for one in members]) for side in (0, 1))
        if sure >= FEWEST_NODES:
            p = float(adjusted_p(np.array([effect / error]), judged.score.size, judged.degrees)[0])
            faults.append(
                scene.naming.fault(subject, DIRECTIONS[way], effect, judged.critical * error, p, (source, target))
            )
        else:
            either = (subject, *(node(scene.nodes[place]) for place in places))
            undecided.append(scene.naming.undecided(either, effect, (source, target)))
    return msgspec.structs.replace(judged, slow=slow, clear=clear), tuple(faults), tuple(undecided)


def _node_faults(scene: MetricScene, y: Reals, node_fit: NodeEffects, *, mirrored: bool) -> list[LocatedFault]:
    faults = []
    naming, tests = scene.naming, node_fit.score.size
    for place in np.flatnonzero(node_fit.slow.any(axis=0)).tolist():
        way = direction_of(node_fit, place)
        effect, margin = float(node_fit.effect[way, place]), node_fit.critical * float(node_fit.error[way, place])
        score = float(node_fit.score[:, place].max())
        ends = _slowest(y, place, OUT if mirrored else way)
        p = float(adjusted_p(np.array([score]), tests, node_fit.degrees)[0])
        faults.append(naming.fault(node(scene.nodes[place]), DIRECTIONS[way], effect, margin, p, ends))
    return faults


def _slowest(y: Reals, place: int, way: int) -> tuple[Indices, Indices]:
    """The node's own cells in the directions in question, slowest first."""
    out = np.flatnonzero(np.isfinite(y[place]) & (way != IN))
    into = np.flatnonzero(np.isfinite(y[:, place]) & (way != OUT))
    source = np.concatenate([np.full_like(out, place), into])
    target = np.concatenate([out, np.full_like(into, place)])
    order = np.lexsort((target, source, y[source, target]))
    return source[order], target[order]


def _residuals(y: Reals, rows: Rows, node_fit: NodeEffects) -> Reals:
    """Residual of each row; NaN if an uplink or a cable explains it. Two slow nodes may add up."""
    fit = node_fit.fit
    values = y[rows.source, rows.target]
    values -= np.nan_to_num(fit.out)[rows.source].astype(values.dtype)
    values -= np.nan_to_num(fit.into)[rows.target].astype(values.dtype)
    values -= values.dtype.type(fit.level)
    return values


def _observations(nodes: Sequence[str], node_fit: NodeEffects, effects: Effects) -> tuple[Observation, ...]:
    """Nodes that clearly differ, and are not named: slower ones by little, faster ones by the greatest effect."""
    clear = node_fit.clear & (node_fit.effect >= node_fit.practical / 2)
    faster = (node_fit.score[BOTH] < -node_fit.critical) & (node_fit.effect[BOTH] <= -effects.most)
    observed = []
    for place in np.flatnonzero((clear.any(axis=0) | faster) & ~node_fit.slow.any(axis=0)).tolist():
        way = direction_of(node_fit, place, faster=bool(faster[place]))
        effect, margin = float(node_fit.effect[way, place]), node_fit.critical * float(node_fit.error[way, place])
        line = effects.most if way == BOTH else effects.one_way(effects.most)
        observed.append(
            Observation(
                subject=node(nodes[place]),
                metric=effects.metric,
                direction=DIRECTIONS[way],
                loss_ratio=to_loss(effect, effects.metric),
                low=to_loss(effect - margin if faster[place] else max(effect - margin, 0.0), effects.metric),
                high=to_loss(effect + margin, effects.metric),
                decided=effect + margin < line,
            )
        )
    return tuple(observed)


def _unjudged(y: Reals, dead: tuple[LocatedFault, ...], nodes: Sequence[str]) -> list[int]:
    """Nodes with too few cells in each direction, those aside that are dead."""
    measured = np.isfinite(y)
    few = np.maximum(measured.sum(axis=1), measured.sum(axis=0)) < FEWEST_CELLS
    gone = {fault.subject.name for fault in dead}
    return [place for place in np.flatnonzero(few).tolist() if nodes[place] not in gone]
