"""One table of pairs judged: dead parts, uplinks, nodes, single pairs, and what the table could have shown."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.dense import judge_dense
from seatrial.locate.group_test import FEWEST_ROWS, group_test
from seatrial.locate.metric_result import MetricResult, dead_faults
from seatrial.locate.nodes import FEWEST_CELLS
from seatrial.locate.rows import Rows, expected_pairs, group_name, rows_of, selected
from seatrial.locate.significance import detectable
from seatrial.locate.single_pairs import single_pairs
from seatrial.locate.thresholds import SCATTERS, Effects, practical_effects, to_loss
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import Located, LocatedFault, Method, Resolution
from seatrial.model.pair_table import PairTable
from seatrial.model.subject import Subject, SubjectKind, node, uplink
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.pairs.rounds import wrongly_left
from seatrial.pairs.survey import FAULT_SHARE
from seatrial.statistics.estimates import ERROR_RATE, FEWEST_ALIKE

DENSE_SHARE = 0.5
"""A table with at least this share of all pairs is judged by row and column effects."""
FEWEST_DENSE_NODES = 6
"""The row and column effects of fewer nodes leave too few degrees of freedom."""
MOST_UNEVEN = 2
"""Pairs of the node with most pairs, over those of the node with fewest, in a design that was measured to its end."""
METRICS = (BANDWIDTH, LATENCY)


def locate_in_table(
    table: PairTable,
    groups: Sequence[Sequence[str]] = (),
    wiring: Wiring | None = None,
    *,
    fault_share: float = FAULT_SHARE,
    asked: Mapping[str, float] | None = None,
) -> Located:
    """Parts that explain the slow, late and dead pairs of a table.

    `groups`: nodes near each other (leaf switches, or topology classes); a pair's peers are pairs of its own distance,
    and from three groups on a group's uplink can be at fault. `wiring`: the parts are its cables and bundles, in place
    of the groups' uplinks. `asked`: practical effect by metric, as a share; see `effects` for the default.
    `fault_share`: of slow nodes, up to which `wrongly_left` holds in a sparse table.
    """
    measured = {metric: rows for metric in METRICS if (rows := rows_of(table, metric)) is not None}
    results = [
        _judged(table.nodes, metric, rows, groups, wiring, (asked or {}).get(metric), ERROR_RATE / len(measured))
        for metric, rows in measured.items()
    ]
    faults = sorted((fault for one in results for fault in one.faults), key=lambda fault: -fault.loss_ratio)
    sparse = [rows for one, rows in zip(results, measured.values(), strict=True) if not one.dense]
    located = Located(
        verdict=Verdict.PASS,
        faults=tuple(faults),
        ambiguous=tuple(each for one in results for each in one.ambiguous),
        unstable=tuple(each for one in results for each in one.unstable),
        observations=tuple(each for one in results for each in one.observations),
        populations=tuple(each for one in results for each in one.populations),
        unjudged=tuple(dict.fromkeys(each for one in results for each in one.unjudged)),
        resolutions=tuple(one.resolution for one in results),
        confidence=1 - ERROR_RATE,
        unstable_pairs=sum(one.unstable_pairs for one in results),
        unlisted_pairs=sum(one.unlisted_pairs for one in results),
        wrongly_left=_wrongly_left(sparse, fault_share) if sparse else None,
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
    nodes: Sequence[str],
    metric: str,
    rows: Rows,
    groups: Sequence[Sequence[str]],
    wiring: Wiring | None,
    asked: float | None,
    error_rate: float,
) -> MetricResult:
    """One metric: dead parts first, then the rest by the method that suits the table."""
    dead, unlisted = dead_faults(nodes, metric, rows)
    alive = selected(rows, ~rows.dead) if rows.dead.any() else rows
    effects = practical_effects(metric, rows.median, asked)
    expected = expected_pairs(rows)
    if _is_dense(alive, expected):
        result = judge_dense(nodes, alive, groups, wiring, effects, error_rate, dead, len(rows.log), expected)
    elif len(alive.log):
        result = _judged_sparse(nodes, rows, alive, groups, wiring, effects, error_rate, dead, expected)
    else:
        result = MetricResult.empty(metric, dead, len(rows.log), expected, rows)
    return msgspec.structs.replace(result, unlisted_pairs=result.unlisted_pairs + unlisted)


def _judged_sparse(
    nodes: Sequence[str],
    rows: Rows,
    alive: Rows,
    groups: Sequence[Sequence[str]],
    wiring: Wiring | None,
    effects: Effects,
    error_rate: float,
    dead: tuple[LocatedFault, ...],
    expected: int,
) -> MetricResult:
    """One metric by the group test. `alive`: those of `rows` that are not dead."""
    metric, cells = effects.metric, rows.cells
    tested = group_test(nodes, alive, groups, wiring, effects, error_rate)
    pairs = single_pairs(nodes, alive, tested.residual, tested.scatter, len(alive.log) - 1, effects)
    hidden = detectable(-math.log1p(-min(SCATTERS * tested.scatter, 0.999)), tested.scatter)
    peers = len(nodes) >= FEWEST_ALIKE
    return MetricResult(
        dense=False,
        faults=(*dead, *(one.fault for one in tested.named), *pairs.faults),
        ambiguous=tuple(one.fault for one in tested.undecided),
        unstable=pairs.unstable,
        unstable_pairs=pairs.unstable_pairs,
        unlisted_pairs=pairs.unlisted_pairs,
        unjudged=tuple(node(nodes[place]) for place in np.flatnonzero(cells < FEWEST_ROWS).tolist()),
        resolution=Resolution(
            metric=metric,
            method=Method.GROUP_TEST,
            effect_ratio=to_loss(tested.effect, metric),
            pair_scatter=tested.scatter,
            node_scatter=None,
            detectable_ratio=to_loss(tested.detectable, metric) if peers else None,
            detectable_one_way_ratio=to_loss(tested.detectable, metric) if peers else None,
            detectable_value_ratio=pairs.detectable_value_ratio,
            hidden_ratio=to_loss(hidden, metric) if peers else None,
            enough=peers and hidden <= effects.must_show,
            majority=tested.majority,
            measured_pairs=len(rows.log),
            expected_pairs=expected,
            # In a table that was cut off, the first nodes have far more pairs than the others.
            complete=int(cells.max()) <= MOST_UNEVEN * int(cells.min()) + 1,
            median=rows.median,
            directed=rows.directed,
        ),
    )


def _is_dense(alive: Rows, expected: int) -> bool:
    """Whether the nodes that are alive are compared with half of each other or more."""
    judged = int(np.count_nonzero(alive.cells >= FEWEST_CELLS))
    share = expected / max(alive.nodes * (alive.nodes - 1), 1)
    return judged >= FEWEST_DENSE_NODES and len(alive.log) >= DENSE_SHARE * share * judged * (judged - 1)


def _wrongly_left(sparse: Sequence[Rows], fault_share: float) -> float:
    """Healthy nodes that no partner clears, expected for the metric with the fewest partners."""
    partners = min(int(np.median(np.bincount(rows.source, minlength=rows.nodes))) for rows in sparse)
    count = sparse[0].nodes
    return wrongly_left(count, max(math.ceil(count * fault_share), 1), partners)


def _with_verdict(located: Located) -> Located:
    """SLOW if anything is named; PASS only if the table is complete, agrees with itself and could have shown 10 %."""
    if located.faults:
        verdict = Verdict.SLOW
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
        verdict = Verdict.PASS
    return msgspec.structs.replace(located, verdict=verdict)
