"""A complete or nearly complete table: uplinks, then two populations, then nodes, then single pairs."""

import math
from collections.abc import Sequence

import numpy as np

from seatrial.locate.group_test import group_test
from seatrial.locate.metric_result import FaultNaming, MetricResult
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
from seatrial.locate.populations import Split, level_distances, levelled, split
from seatrial.locate.rows import Rows, group_numbers, matrix_of
from seatrial.locate.significance import adjusted_p, resolution
from seatrial.locate.single_pairs import single_pairs
from seatrial.locate.thresholds import RUN_SCATTER, Effects, to_loss
from seatrial.locate.uplinks import slow_uplinks
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import LocatedFault, Method, Observation, Population, Resolution, Undecided
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Direction, SubjectKind, node

SAMPLE = 1 << 18
"""Rows from which the resolution of the numbers is read."""
NODE_SHARE = 0.5
"""Part of the error rate that the nodes' tests may use; the rest is for uplinks and pairs."""
SPLIT_ERRORS = 3.0
"""Two populations lie at least this many critical values apart."""
DIRECTIONS = {OUT: Direction.OUT, IN: Direction.IN, BOTH: Direction.BOTH}


def judge_dense(
    nodes: Sequence[str],
    rows: Rows,
    groups: Sequence[Sequence[str]],
    wiring: Wiring | None,
    effects: Effects,
    error_rate: float,
    dead: tuple[LocatedFault, ...],
    measured: int,
    expected: int,
) -> MetricResult:
    """`rows`: those that are alive. `measured`: rows with the dead ones, `expected`: rows of the complete table."""
    metric, mirrored = effects.metric, not rows.directed
    group = group_numbers(nodes, groups)
    y = matrix_of(rows)
    if wiring is None:
        uplinks = slow_uplinks(nodes, groups, y, effects, error_rate * (1 - NODE_SHARE), mirrored=mirrored)
        faults, ambiguous = uplinks.faults, uplinks.undecided
        if uplinks.explained is not None:
            y[uplinks.explained] = np.nan
    else:
        faults, ambiguous = _cable_findings(nodes, rows, wiring, y, effects, error_rate)
    near = group[:, None] == group if len(groups) > 1 else None
    if near is not None:
        level_distances(y, near)
    floor = max(RUN_SCATTER, _resolution(rows))
    node_fit = node_effects(y, effects, floor, error_rate * NODE_SHARE, mirrored=mirrored)
    usual_error = node_fit.critical * float(np.nanmedian(node_fit.error[BOTH]))
    halves = split(y, max(node_fit.practical, usual_error * SPLIT_ERRORS / 2))
    if halves is not None:
        y = levelled(y, halves)
        node_fit = node_effects(y, effects, floor, error_rate * NODE_SHARE, mirrored=mirrored)
    if mirrored:
        node_fit = cleared_by_partners(y, node_fit)
    slow_nodes = _node_faults(nodes, y, node_fit, metric, mirrored=mirrored)
    residual = _residuals(y, rows, node_fit)
    pairs = single_pairs(nodes, rows, residual, node_fit.fit.scale, node_fit.fit.degrees, effects)
    return MetricResult(
        dense=True,
        faults=(*dead, *faults, *slow_nodes, *pairs.faults),
        ambiguous=ambiguous,
        unstable=pairs.unstable,
        unstable_pairs=pairs.unstable_pairs,
        unlisted_pairs=pairs.unlisted_pairs,
        observations=_observations(nodes, node_fit, effects),
        populations=_populations(nodes, halves, metric),
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
        detectable_ratio=to_loss(node_fit.detectable, metric),
        detectable_one_way_ratio=to_loss(node_fit.detectable_one_way, metric),
        detectable_value_ratio=detectable_value_ratio,
        hidden_ratio=to_loss(node_fit.hidden, metric),
        enough=node_fit.hidden <= effects.must_show,
        majority=True,
        measured_pairs=measured,
        expected_pairs=expected,
        complete=measured >= expected,
        median=rows.median,
        directed=rows.directed,
    )


def _resolution(rows: Rows) -> float:
    """What rounding adds to the scatter of logarithms."""
    step = max(len(rows.log) // SAMPLE, 1)
    return resolution(np.exp(rows.log[::step].astype(np.float64))) / math.sqrt(12)


def _cable_findings(
    nodes: Sequence[str], rows: Rows, wiring: Wiring, y: Reals, effects: Effects, error_rate: float
) -> tuple[tuple[LocatedFault, ...], tuple[Undecided, ...]]:
    """Cables by the routes; nodes are left to their row and column effects. What cables explain leaves `y`."""
    tested = group_test(nodes, rows, (), wiring, effects, error_rate * (1 - NODE_SHARE))
    named = [one for one in tested.named if one.fault.subject.kind is not SubjectKind.NODE]
    undecided = [
        one
        for one in tested.undecided
        if len(one.rows) > 1 and any(subject.kind is not SubjectKind.NODE for subject in one.fault.subjects)
    ]
    for explained in [*(one.rows for one in named), *(one.rows for one in undecided)]:
        source, target = rows.ends(explained)
        y[source, target] = np.nan
        if not rows.directed:
            y[target, source] = np.nan
    return tuple(one.fault for one in named), tuple(one.fault for one in undecided)


def _node_faults(
    nodes: Sequence[str], y: Reals, node_fit: NodeEffects, metric: str, *, mirrored: bool
) -> list[LocatedFault]:
    faults = []
    naming, tests = FaultNaming(nodes=nodes, metric=metric), node_fit.score.size
    for place in np.flatnonzero(node_fit.slow.any(axis=0)).tolist():
        way = direction_of(node_fit, place)
        effect, margin = float(node_fit.effect[way, place]), node_fit.critical * float(node_fit.error[way, place])
        score = float(node_fit.score[:, place].max())
        ends = _slowest(y, place, OUT if mirrored else way)
        p = float(adjusted_p(np.array([score]), tests, node_fit.degrees)[0])
        faults.append(naming.fault(node(nodes[place]), DIRECTIONS[way], effect, margin, p, ends))
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
    """Nodes that clearly differ, and are not named."""
    clear = node_fit.clear & (node_fit.effect >= node_fit.practical / 2)
    observed = []
    for place in np.flatnonzero(clear.any(axis=0) & ~node_fit.slow.any(axis=0)).tolist():
        way = direction_of(node_fit, place)
        effect, margin = float(node_fit.effect[way, place]), node_fit.critical * float(node_fit.error[way, place])
        line = effects.most if way == BOTH else effects.one_way(effects.most)
        observed.append(
            Observation(
                subject=node(nodes[place]),
                metric=effects.metric,
                direction=DIRECTIONS[way],
                loss_ratio=to_loss(effect, effects.metric),
                low=max(to_loss(effect - margin, effects.metric), 0.0),
                high=to_loss(effect + margin, effects.metric),
                decided=effect + margin < line,
            )
        )
    return tuple(observed)


def _populations(nodes: Sequence[str], halves: Split | None, metric: str) -> tuple[Population, ...]:
    if halves is None:
        return ()
    slower = tuple(nodes[place] for place in np.flatnonzero(halves.slower).tolist())
    faster = tuple(nodes[place] for place in np.flatnonzero(~halves.slower).tolist())
    return (
        Population(metric=metric, nodes=slower, ratio=math.exp(-halves.gap)),
        Population(metric=metric, nodes=faster, ratio=1.0),
    )


def _unjudged(y: Reals, dead: tuple[LocatedFault, ...], nodes: Sequence[str]) -> list[int]:
    """Nodes with too few cells in each direction, those aside that are dead."""
    measured = np.isfinite(y)
    few = np.maximum(measured.sum(axis=1), measured.sum(axis=0)) < FEWEST_CELLS
    gone = {fault.subject.name for fault in dead}
    return [place for place in np.flatnonzero(few).tolist() if nodes[place] not in gone]
