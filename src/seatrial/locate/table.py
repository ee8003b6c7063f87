"""One table of pairs judged: dead parts, uplinks, nodes, single pairs, and what the table could have shown.

Latencies of two sizes that follow groups of nodes are two distances, not a fault: the table's topology classes.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.dense import judge_dense, populations, sparse_paces, split
from seatrial.locate.group_test import group_test
from seatrial.locate.metric_result import MetricResult, MetricScene, dead_faults
from seatrial.locate.nodes import FEWEST_CELLS
from seatrial.locate.rows import Rows, expected_pairs, group_name, rows_of, selected
from seatrial.locate.single_pairs import single_pairs
from seatrial.locate.slow_parts import FEW_NODES, FEWEST_ROWS
from seatrial.locate.thresholds import practical_effects, relative_scale, to_loss
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import MOST_BETTER, Located, LocatedFault, Method, Resolution, TooGood
from seatrial.model.pair_table import Flags, Indices, PairTable, Places, Reals
from seatrial.model.subject import Subject, SubjectKind, node, uplink
from seatrial.model.subject import pair as pair_subject
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import ERROR_RATE, FEWEST_ALIKE, GROUP_SCATTERS, array_median

DENSE_SHARE = 0.5
"""A table with at least this share of all pairs is judged by row and column effects, unless it is of few nodes."""
MOST_UNEVEN = 2
"""Pairs of the node with most pairs, over those of the node with fewest, in a design that was measured to its end."""
METRICS = (BANDWIDTH, LATENCY)


def locate_in_table(
    table: PairTable,
    groups: Sequence[Sequence[str]] = (),
    wiring: Wiring | None = None,
    *,
    asked: Mapping[str, float] | None = None,
) -> Located:
    """Parts that explain the slow, late and dead pairs of a table.

    `groups`: nodes near each other (leaf switches, or topology classes); a pair's peers are pairs of its own distance,
    and from three groups on a group's uplink can be at fault. `wiring`: the parts are its cables and bundles, in place
    of the groups' uplinks. `asked`: practical effect by metric, as a share; see `effects` for the default.
    """
    measured = {metric: rows for metric in METRICS if (rows := rows_of(table, metric)) is not None}
    results = [
        _judged(table, metric, rows, groups, wiring, (asked or {}).get(metric), ERROR_RATE / len(measured))
        for metric, rows in measured.items()
    ]
    faults = sorted((fault for one in results for fault in one.faults), key=lambda fault: -fault.loss_ratio)
    located = Located(
        verdict=Verdict.PASS,
        faults=tuple(faults),
        ambiguous=tuple(each for one in results for each in one.ambiguous),
        unstable=tuple(each for one in results for each in one.unstable),
        observations=tuple(each for one in results for each in one.observations),
        populations=tuple(each for one in results for each in one.populations),
        unjudged=tuple(dict.fromkeys(each for one in results for each in one.unjudged)),
        too_good=tuple(filter(None, (_too_good(table, metric, rows.median) for metric, rows in measured.items()))),
        resolutions=tuple(one.resolution for one in results),
        confidence=1 - ERROR_RATE,
        unstable_pairs=sum(one.unstable_pairs for one in results),
        unlisted_pairs=sum(one.unlisted_pairs for one in results),
    )
    return _with_verdict(located)


def with_switch_names(located: Located, groups: Sequence[Sequence[str]], leaf_of: Mapping[str, str]) -> Located:
    """Uplinks by the names of their leaf switches, not by those of the nodes below them.

    `groups`: those of `locate_in_table`. Groups whose leaf is not in `leaf_of` keep their names.
    """
    switches = {group_name(group): leaf_of[group[0]] for group in groups if group[0] in leaf_of}

    def renamed(subject: Subject) -> Subject:
        known = subject.kind is SubjectKind.UPLINK and subject.name in switches
        return uplink(switches[subject.name]) if known else subject

    return msgspec.structs.replace(
        located,
        faults=tuple(msgspec.structs.replace(one, subject=renamed(one.subject)) for one in located.faults),
        ambiguous=tuple(
            msgspec.structs.replace(one, subjects=tuple(map(renamed, one.subjects))) for one in located.ambiguous
        ),
    )


def _judged(
    table: PairTable, metric: str, rows: Rows, groups: Sequence[Sequence[str]], wiring: Wiring | None,
    asked: float | None, error_rate: float,
) -> MetricResult:  # fmt: skip
    """One metric: dead parts first, then the rest by the method that suits the table."""
    dead, unlisted = dead_faults(table.nodes, metric, rows)
    alive = selected(rows, ~rows.dead) if rows.dead.any() else rows
    effects = practical_effects(metric, rows.median, asked, table.steps.get(metric, 0.0))
    scene, expected = MetricScene(table.nodes, groups, wiring, effects, error_rate), expected_pairs(rows)
    judged = int(np.count_nonzero(alive.cells >= FEWEST_CELLS))
    share = expected / max(alive.nodes * (alive.nodes - 1), 1)
    if judged > FEW_NODES and len(alive.log) >= DENSE_SHARE * share * judged * (judged - 1):
        result = judge_dense(scene, alive, dead, len(rows.log), expected)
    elif len(alive.log):
        result = _judged_sparse(scene, rows, alive, dead, expected)
    else:
        result = MetricResult(
            faults=dead,
            resolution=Resolution(
                metric=metric,
                method=Method.GROUP_TEST,
                effect_ratio=0.0,
                pair_scatter=0.0,
                measured_pairs=len(rows.log),
                expected_pairs=expected,
                complete=True,
                median=rows.median,
                directed=rows.directed,
            ),
        )
    return msgspec.structs.replace(result, unlisted_pairs=result.unlisted_pairs + unlisted)


def _judged_sparse(
    scene: MetricScene, rows: Rows, alive: Rows, dead: tuple[LocatedFault, ...], expected: int
) -> MetricResult:
    """One metric by the group test. `alive`: those of `rows` that are not dead."""
    nodes, effects, cells = scene.nodes, scene.effects, rows.cells
    metric, tested = effects.metric, group_test(scene, alive)
    blamed = [fault.subject for fault in (*dead, *(fault for fault, _ in tested.faults.named))]
    named = {*blamed, *(subject for either, _ in tested.faults.undecided for subject in either.subjects)}
    left = np.bincount(np.concatenate(alive.ends(np.flatnonzero(tested.slow.rest))), minlength=rows.nodes)
    pairs = single_pairs(nodes, alive, tested.residual, tested.scatter, len(alive.log) - 1, effects)
    hidden = tested.slow.hidden + 2 * effects.step
    halves = split(sparse_paces(alive, tested.residual), max(effects.chosen(tested.slow.scatter), hidden))
    even = int(cells.max()) <= MOST_UNEVEN * int(cells.min()) + 1
    peers = len(nodes) >= FEWEST_ALIKE
    return MetricResult(
        faults=(*dead, *(fault for fault, _ in tested.faults.named), *pairs.faults),
        ambiguous=tuple(parts for parts, _ in tested.faults.undecided),
        unstable=pairs.unstable,
        unstable_pairs=pairs.unstable_pairs,
        unlisted_pairs=pairs.unlisted_pairs,
        populations=populations(nodes, halves, metric),
        unjudged=tuple(
            subject
            for place in np.flatnonzero(left < FEWEST_ROWS).tolist()
            if (subject := node(nodes[place])) not in named
        ),
        resolution=Resolution(
            metric=metric,
            method=Method.GROUP_TEST,
            effect_ratio=to_loss(effects.chosen(tested.slow.scatter), metric),
            pair_scatter=tested.scatter,
            detectable_ratio=to_loss(tested.slow.detectable + effects.step, metric) if peers else None,
            detectable_one_way_ratio=to_loss(tested.slow.detectable + effects.step, metric) if peers else None,
            detectable_value_ratio=pairs.detectable_value_ratio,
            hidden_ratio=to_loss(hidden, metric) if peers else None,
            enough=peers and hidden <= effects.must_show,
            majority=tested.majority,
            measured_pairs=len(rows.log),
            expected_pairs=expected,
            # In a sparse table that was cut off, the first nodes have far more pairs than the others.
            complete=len(rows.log) >= expected or (even and len(rows.log) < DENSE_SHARE * expected),
            median=rows.median,
            directed=rows.directed,
        ),
    )


def _too_good(table: PairTable, metric: str, median: float) -> TooGood | None:
    """The best value, if it is so far from the median that no link explains it."""
    values = table.metric(metric)
    late = metric == LATENCY
    good = np.flatnonzero(values * MOST_BETTER < median if late else values > median * MOST_BETTER)
    if not len(good):
        return None
    best = int(good[values[good].argmin() if late else values[good].argmax()])
    pair = pair_subject(table.nodes[table.source[best]], table.nodes[table.target[best]])
    return TooGood(subject=pair, metric=metric, value=float(values[best]), median=median, values=len(good))


def _with_verdict(located: Located) -> Located:
    """SLOW if anything is named; PASS only if the table is complete, agrees with itself and could have shown 10 %.

    A low value of a table without directions has no second one that clears its pair, so that it is a NOTE.
    """
    if located.faults:
        verdict = Verdict.SLOW
    elif located.too_good:
        verdict = Verdict.INCONCLUSIVE
    elif any(one.gross and (one.of_node or not located.populations) for one in located.unstable):
        verdict = Verdict.UNSTABLE
    elif (
        located.ambiguous
        or located.populations
        or not located.resolutions
        or not all(one.enough and one.majority for one in located.resolutions)
        or not all(one.decided for one in located.observations)
    ):
        verdict = Verdict.INCONCLUSIVE
    elif located.unjudged or not all(one.complete for one in located.resolutions):
        verdict = Verdict.NOT_RUN
    else:
        better = any(one.loss_ratio < 0 for one in located.observations)
        verdict = Verdict.NOTE if better or located.low_once else Verdict.PASS
    return msgspec.structs.replace(located, verdict=verdict)


RATIO = 1.15
"""The two sizes differ at least by this factor; a switch more on the way costs 0.1 to 0.3 µs of one or two."""
GAP = 1.05
"""A gap between sorted latencies by this factor may separate the two sizes."""
MOST_CUTS = 6
PURE = 0.97
"""Share of the pairs within groups that must be near, and of those between groups that must be far."""
FEWEST_GROUPS = 2
"""Groups of two nodes or more; a node that is far from all others who are near each other is late."""
MOST_ALONE = 0.4
"""Share of the nodes that may be near nobody."""


class Classes(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of nodes near each other, the largest first; `near_s` and `far_s` are the two median latencies."""

    groups: tuple[tuple[str, ...], ...]
    near_s: float
    far_s: float


def topology_classes(table: PairTable) -> Classes | None:
    """The groups that the latencies show, or None where they show none.

    Pairs are divided at a wide relative gap between sorted latencies; the groups are what near pairs connect. They
    count only if near and far follow the groups nearly everywhere: nodes that share a leaf switch do. Where several
    gaps qualify, because some nodes are late to everybody, the widest that gives such groups counts. A node that is
    near nobody joins the group that it is nearest to.
    """
    count = len(table.nodes)
    measured = np.isfinite(table.latency_s) & (table.latency_s > 0)
    if count < 4 or measured.sum() < DENSE_SHARE * count * (count - 1):
        return None
    source, target, latency = table.source, table.target, table.latency_s
    if not measured.all():
        source, target, latency = source[measured], target[measured], latency[measured]
    for cut in _cuts(latency):
        near = _either_way(count, source, target, latency < cut)
        group = _connected(count, source[near], target[near])
        alone = np.bincount(group, minlength=count)[group] == 1
        core = ~alone[source] & ~alone[target]
        inside = group[source] == group[target]
        if (np.bincount(group) > 1).sum() < FEWEST_GROUPS or alone.mean() > MOST_ALONE:
            continue
        if not (core & inside).any() or not (core & ~inside).any():
            continue
        if near[core & inside].mean() < PURE or (~near[core & ~inside]).mean() < PURE:
            continue
        near_s, far_s = array_median(latency[core & near]), array_median(latency[core & ~near])
        for lonely in np.flatnonzero(alone).tolist():
            group[lonely] = _nearest(lonely, group, alone, source, target, latency)
        return Classes(groups=_named(table.nodes, group), near_s=near_s, far_s=far_s)
    return None


def _either_way(count: int, source: Places, target: Places, near: Flags) -> Flags:
    """Near in one direction at least: a node that is late in one direction only stays in its group."""
    cells = np.zeros((count, count), dtype=np.bool_)
    cells[source, target] = near
    cells |= cells.T
    return np.asarray(cells[source, target])


def _cuts(latency: Reals) -> list[float]:
    """Latencies above the widest gaps that leave a twentieth of all on either side, the widest gap first."""
    ordered = np.sort(latency)
    least = max(len(ordered) // 20, 2)
    steps = np.log(ordered[least : len(ordered) - least + 1] / ordered[least - 1 : len(ordered) - least])
    wide = np.flatnonzero(steps >= np.log(GAP))
    cuts = []
    for place in wide[np.argsort(-steps[wide], kind="stable")][:MOST_CUTS].tolist():
        cut = least + place
        below, above = ordered[:cut], ordered[cut:]
        low, high = array_median(below), array_median(above)
        if high >= RATIO * low and high - low >= GROUP_SCATTERS * relative_scale(below) * low:
            cuts.append(float(ordered[cut]))
    return cuts


def _nearest(node: int, group: Indices, alone: Flags, source: Places, target: Places, latency: Reals) -> int:
    """The group to whose nodes the latency is clearly least; the node's own number where none is."""
    own = (source == node) | (target == node)
    other = np.where(source[own] == node, target[own], source[own])
    values = latency[own]
    found = sorted(
        (array_median(values[(group[other] == label) & ~alone[other]]), int(label))
        for label in np.unique(group[other][~alone[other]])
    )
    if len(found) < FEWEST_GROUPS or found[1][0] < RATIO * found[0][0]:
        return node
    return found[0][1]


def _connected(count: int, source: Places, target: Places) -> Indices:
    """The number of each node's connected component, by the smallest node in it."""
    label: Indices = np.arange(count, dtype=np.intp)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, source, label[target])
        np.minimum.at(lowest, target, label[source])
        lowest = lowest[lowest]
        if (lowest == label).all():
            return label
        label = lowest


def _named(nodes: tuple[str, ...], group: Indices) -> tuple[tuple[str, ...], ...]:
    members = [tuple(nodes[place] for place in np.flatnonzero(group == label)) for label in np.unique(group)]
    return tuple(sorted(members, key=lambda each: (-len(each), each)))
