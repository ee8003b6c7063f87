"""A complete or nearly complete table: uplinks, then two populations, then nodes, then single pairs."""

import math
from collections.abc import Sequence

import numpy as np

from seatrial.locate.group_test import group_name, group_test
from seatrial.locate.metric_result import MetricResult, evidence, fault_of, names_of, pair_findings
from seatrial.locate.nodes import BOTH, FEWEST_CELLS, IN, OUT, NodeEffects, direction_of, node_effects
from seatrial.locate.populations import Split, level_again, level_distances, levelled, split
from seatrial.locate.rows import Rows, group_numbers, matrix_of
from seatrial.locate.significance import adjusted_p, resolution
from seatrial.locate.thresholds import Effects, to_loss
from seatrial.locate.uplinks import UplinkEffect, slow_uplinks
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import LocatedFault, Method, Observation, Population, Resolution, Undecided
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Direction, SubjectKind, node, uplink

FLOOR = 0.0005
"""Scatter of repeated runs of one pair on the quietest public cluster, as a share of the median."""
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
        faults, ambiguous = _uplink_findings(nodes, groups, group, y, effects, error_rate, mirrored=mirrored)
    else:
        faults, ambiguous = _cable_findings(nodes, rows, wiring, y, effects, error_rate)
    near = group[:, None] == group if len(groups) > 1 else None
    if near is not None:
        level_distances(y, near)
    floor = max(FLOOR, _resolution(rows))
    found = node_effects(y, effects, floor, error_rate * NODE_SHARE, mirrored=mirrored)
    if near is not None and level_again(y, near, found.fit, found.reference):
        found = node_effects(y, effects, floor, error_rate * NODE_SHARE, mirrored=mirrored)
    usual_error = found.critical * float(np.nanmedian(found.error[BOTH]))
    halves = split(y, max(found.practical, usual_error * SPLIT_ERRORS / 2))
    if halves is not None:
        y = levelled(y, halves)
        found = node_effects(y, effects, floor, error_rate * NODE_SHARE, mirrored=mirrored)
    faults += _node_faults(nodes, y, found, metric, mirrored=mirrored)
    residual = _residuals(y, rows, found)
    pairs = pair_findings(nodes, rows, residual, found.fit.scale, found.fit.degrees, effects)
    return MetricResult(
        dense=True,
        faults=(*dead, *faults, *pairs.faults),
        ambiguous=tuple(ambiguous),
        unstable=pairs.unstable,
        unstable_pairs=pairs.unstable_pairs,
        unlisted_pairs=pairs.unlisted_pairs,
        observations=_observations(nodes, found, effects),
        populations=_populations(nodes, halves, metric),
        unjudged=tuple(node(nodes[place]) for place in _unjudged(y, dead, nodes)),
        resolution=_resolution_of(found, effects, measured, expected, rows, pairs.detectable_value_ratio),
    )


def _resolution_of(
    found: NodeEffects, effects: Effects, measured: int, expected: int, rows: Rows, detectable_value_ratio: float
) -> Resolution:
    """What the table could have shown."""
    metric = effects.metric
    return Resolution(
        metric=metric,
        method=Method.ADDITIVE,
        effect_ratio=to_loss(found.practical, metric),
        pair_scatter=found.fit.scale,
        node_scatter=found.scatter,
        detectable_ratio=to_loss(found.detectable, metric),
        detectable_one_way_ratio=to_loss(found.detectable_one_way, metric),
        detectable_value_ratio=detectable_value_ratio,
        hidden_ratio=to_loss(found.hidden, metric),
        enough=found.hidden <= effects.must_show,
        majority=True,
        measured_pairs=measured,
        expected_pairs=expected,
        complete=measured >= expected,
        usual=rows.median,
        directed=rows.directed,
    )


def _resolution(rows: Rows) -> float:
    """What rounding adds to the scatter of logarithms."""
    step = max(len(rows.log) // SAMPLE, 1)
    return resolution(np.exp(rows.log[::step].astype(np.float64))) / math.sqrt(12)


def _uplink_findings(
    nodes: Sequence[str],
    groups: Sequence[Sequence[str]],
    group: Indices,
    y: Reals,
    effects: Effects,
    error_rate: float,
    *,
    mirrored: bool,
) -> tuple[list[LocatedFault], list[Undecided]]:
    """Uplinks; what they explain is taken out of `y`. `mirrored`: each cell of `y` is there twice."""
    found = slow_uplinks(y, group, effects, error_rate * (1 - NODE_SHARE))
    if found.explained is not None:
        y[found.explained] = np.nan
    faults, ambiguous = [], []
    for one in found.slow:
        shown = [(a, b) for a, b in _crossing(group, one) if a < b or not mirrored]
        if len(one.groups) > 1:
            subjects = tuple(uplink(group_name(groups[number])) for number in one.groups)
            loss = to_loss(one.loss, effects.metric)
            ambiguous.append(
                Undecided(subjects=subjects, metric=effects.metric, loss_ratio=loss, evidence=names_of(nodes, shown))
            )
            continue
        faults.append(
            LocatedFault(
                subject=uplink(group_name(groups[one.groups[0]])),
                metric=effects.metric,
                direction=one.direction,
                loss_ratio=to_loss(one.loss, effects.metric),
                low=max(to_loss(one.loss - one.margin, effects.metric), 0.0),
                high=to_loss(one.loss + one.margin, effects.metric),
                evidence=names_of(nodes, shown),
                pairs=len(shown),
                p=one.p,
            )
        )
    return faults, ambiguous


def _crossing(group: Indices, one: UplinkEffect) -> list[tuple[int, int]]:
    return [
        (int(source), int(target))
        for here, there in one.ways
        for source in np.flatnonzero(group == here)
        for target in np.flatnonzero(group == there)
    ]


def _cable_findings(
    nodes: Sequence[str], rows: Rows, wiring: Wiring, y: Reals, effects: Effects, error_rate: float
) -> tuple[list[LocatedFault], list[Undecided]]:
    """Cables by the routes; nodes are left to their row and column effects. What cables explain leaves `y`."""
    found = group_test(nodes, rows, (), wiring, effects, error_rate * (1 - NODE_SHARE))
    faults, ambiguous = [], []
    for one in (*found.named, *found.undecided):
        if all(subject.kind is SubjectKind.NODE for subject in one.subjects) or len(one.rows) < 2:
            continue
        source, target = rows.source[one.rows], rows.target[one.rows]
        y[source, target] = np.nan
        if not rows.directed:
            y[target, source] = np.nan
        if len(one.subjects) == 1:
            faults.append(fault_of(nodes, rows, one, effects.metric, found.critical))
        else:
            ambiguous.append(
                Undecided(
                    subjects=one.subjects,
                    metric=effects.metric,
                    loss_ratio=to_loss(one.loss, effects.metric),
                    evidence=evidence(nodes, rows, one.rows),
                )
            )
    return faults, ambiguous


def _node_faults(
    nodes: Sequence[str], y: Reals, found: NodeEffects, metric: str, *, mirrored: bool
) -> list[LocatedFault]:
    faults = []
    tests = found.score.size
    for place in np.flatnonzero(found.slow.any(axis=0)).tolist():
        way = direction_of(found, place)
        effect, margin = float(found.effect[way, place]), found.critical * float(found.error[way, place])
        score = float(found.score[:, place].max())
        ends = _slowest(y, place, OUT if mirrored else way)
        faults.append(
            LocatedFault(
                subject=node(nodes[place]),
                metric=metric,
                direction=DIRECTIONS[way],
                loss_ratio=to_loss(effect, metric),
                low=max(to_loss(effect - margin, metric), 0.0),
                high=to_loss(effect + margin, metric),
                evidence=names_of(nodes, ends),
                pairs=len(ends),
                p=float(adjusted_p(np.array([score]), tests, found.degrees)[0]),
            )
        )
    return faults


def _slowest(y: Reals, place: int, way: int) -> list[tuple[int, int]]:
    """The node's own cells in the directions in question, slowest first."""
    out = [(float(y[place, other]), place, int(other)) for other in np.flatnonzero(np.isfinite(y[place]))]
    into = [(float(y[other, place]), int(other), place) for other in np.flatnonzero(np.isfinite(y[:, place]))]
    cells = sorted((out if way != IN else []) + (into if way != OUT else []))
    return [(source, target) for _, source, target in cells]


def _residuals(y: Reals, rows: Rows, found: NodeEffects) -> Reals:
    """Residual of each row; NaN if an uplink or a cable explains it. Two slow nodes may add up."""
    fit = found.fit
    values = y[rows.source, rows.target]
    values -= np.nan_to_num(fit.out)[rows.source].astype(values.dtype)
    values -= np.nan_to_num(fit.into)[rows.target].astype(values.dtype)
    values -= values.dtype.type(fit.level)
    return values


def _observations(nodes: Sequence[str], found: NodeEffects, effects: Effects) -> tuple[Observation, ...]:
    """Nodes that clearly differ, and are not named."""
    clear = found.clear & (found.effect >= found.practical / 2)
    observed = []
    for place in np.flatnonzero(clear.any(axis=0) & ~found.slow.any(axis=0)).tolist():
        way = direction_of(found, place)
        effect, margin = float(found.effect[way, place]), found.critical * float(found.error[way, place])
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
    """Nodes with too few cells, those aside that are dead."""
    known = np.isfinite(y)
    few = known.sum(axis=1) + known.sum(axis=0) < FEWEST_CELLS
    gone = {fault.subject.name for fault in dead}
    return [place for place in np.flatnonzero(few).tolist() if nodes[place] not in gone]
