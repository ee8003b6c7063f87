"""Slow nodes in a nearly complete table: fit, name, leave the named out, fit again, until nothing is left to name."""

import math

import msgspec
import numpy as np

from seatrial.locate.additive import EFFICIENCY, AdditiveFit, additive_fit, medians
from seatrial.locate.single_pairs import NODE_PAIRS, NODE_SHARE
from seatrial.locate.thresholds import Effects, critical_value, detectable
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import (
    FEWEST_ALIKE,
    MAD_EFFICIENCY,
    MAD_TO_DEVIATION,
    NORMAL_95,
    array_median,
    robust_scale,
)

WAYS = 3
"""Tests of each node: what leaves it, what enters it, both together."""
OUT, IN, BOTH = range(WAYS)
FEWEST_CELLS = FEWEST_ALIKE
"""Partners that a node needs in one direction to be judged in it."""
OWN = 1.5
"""A node whose own cells scatter this much more than the others' has its own standard error."""
SHARED = 0.5
"""A direction is slow, too, if it is significantly slow and has this part of the other direction's effect."""

SMALL = 20.0
"""A slow node's own error is this / m² larger among m peers: found by simulation, for the biweight of few cells."""
TINY = 4.9
"""The effects of fewer than ten peers scatter more than the residuals say: 5 % of eight, 30 % of six."""
MOST_ROUNDS = 30


class NodeEffects(msgspec.Struct, frozen=True, kw_only=True):
    """All arrays are of shape (3, n), rows OUT, IN, BOTH; log differences, positive for a slow node.

    `error`: standard error, for the interval. `score`: effect in standard errors of a healthy node, its natural scatter
    included. `slow`: beyond the critical score and the practical effect; `clear`: beyond the critical score.
    """

    effect: Reals
    error: Reals
    score: Reals
    slow: Flags
    clear: Flags
    fit: AdditiveFit
    degrees: float
    reference: Flags
    critical: float
    practical: float
    scatter: float
    """Scatter of healthy nodes, both directions together."""
    detectable: float
    """The smallest effect in both directions that the node with fewest pairs would be named for with 95 % power."""
    detectable_one_way: float
    hidden: float
    """The part of `detectable` that is due to noise alone, whatever effect counts as practical."""


def node_effects(y: Reals, effects: Effects, floor: float, error_rate: float, *, mirrored: bool = False) -> NodeEffects:
    """Judge all nodes of `y[i, j]` (log, larger is better, NaN where nothing is known) against their peers.

    The reference is every node that is not slow itself. A node leaves it for good when its effect is clear and half
    as large as the practical one; the fit is then repeated without it. `mirrored`: each number is one measurement that
    counts for both directions, so that both together know no more than one.
    """
    measured = np.isfinite(y)
    enough = measured.sum(axis=1) + measured.sum(axis=0) >= FEWEST_CELLS
    reference = enough.copy()
    fit = None
    for _ in range(MOST_ROUNDS):
        fit = additive_fit(y, reference, floor, fit)
        judged = _judged(y, fit, reference, effects, error_rate, mirrored)
        worse = judged.clear & (judged.effect > judged.practical / 2)
        left = reference & ~worse.any(axis=0)
        if (left == reference).all() or left.sum() < max(enough.sum() / 2, 3):
            break
        reference = left
    return judged


def _judged(
    y: Reals, fit: AdditiveFit, reference: Flags, effects: Effects, error_rate: float, mirrored: bool
) -> NodeEffects:
    counts = np.stack([fit.out_count, fit.in_count])
    counts = np.where(counts >= FEWEST_CELLS, counts, 0)
    single = -np.stack([fit.out, fit.into])
    together = counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        both = np.where(counts > 0, np.nan_to_num(single) * counts, 0).sum(axis=0) / together
        effect = np.concatenate([single, both[None]])
        effect[~(np.concatenate([counts, together[None]]) > 0)] = np.nan
        peers, judged = max(int(reference.sum()), 3), max(int((together > 0).sum()), 3)
        independent = np.concatenate([counts, together[None] / (2 if mirrored else 1)])
        shape = np.sqrt(peers / (peers - 1) / EFFICIENCY / independent) * (1 + (TINY / judged) ** 6)
    error = fit.scale * shape
    degrees = fit.degrees * (0.45 if mirrored else 0.9)
    critical = critical_value(WAYS * int((together > 0).sum()), degrees, error_rate)
    natural = np.array([_natural(effect[way][reference], error[way][reference], critical) for way in range(WAYS)])
    score = _scores(effect, error, natural)
    suspect = np.flatnonzero((score > critical).any(axis=0))
    error[:, suspect] = np.maximum(fit.scale, _own_scales(y, fit, reference, suspect)) * shape[:, suspect]
    score = _scores(effect, error, natural)
    usual = np.nanmedian(error, axis=1)
    outside = math.sqrt((peers + 1) / (peers - 1)) * (1 + SMALL / peers**2)
    error[:, ~reference] *= outside
    spread = np.hypot(usual, natural)
    practical = effects.chosen(float(spread[BOTH]))
    fewest = np.where(np.isfinite(shape), shape, np.nan)
    weakest = usual * np.nanmax(fewest, axis=1) / np.nanmedian(fewest, axis=1)
    blurred = np.hypot(weakest, natural)
    unsure = np.hypot(outside * weakest, critical * blurred / math.sqrt(2 * degrees))
    lines = np.array([effects.one_way(practical), effects.one_way(practical), practical])
    clear = score > critical
    return NodeEffects(
        effect=effect,
        error=error,
        score=score,
        slow=clear & (effect >= lines[:, None]),
        clear=clear,
        fit=fit,
        degrees=degrees,
        reference=reference,
        critical=critical,
        practical=practical,
        scatter=float(spread[BOTH]),
        detectable=detectable(max(practical, critical * blurred[BOTH]), float(unsure[BOTH])),
        detectable_one_way=detectable(max(lines[OUT], critical * blurred[:BOTH].max()), float(unsure[:BOTH].max())),
        hidden=detectable(critical * float(blurred[BOTH]), float(unsure[BOTH])),
    )


def cleared_by_partners(y: Reals, judged: NodeEffects) -> NodeEffects:
    """Clear slow nodes that are as fast as others with some partners, in a table that has each pair once.

    A slow link is slow with all partners, and such a table has measured no pair twice. A node is cleared if, of its
    pairs with nodes that are not slow, at least as many are nearer to the speed of their peers as would make a node
    unstable. Its effect becomes zero, so that its bad pairs are left to be judged by themselves.
    """
    fit = judged.fit
    partners = ~judged.slow.any(axis=0)
    out, into, slow, clear = fit.out.copy(), fit.into.copy(), judged.slow.copy(), judged.clear.copy()
    level_into = np.nan_to_num(fit.into)
    for place in np.flatnonzero(slow.any(axis=0)).tolist():
        effect = float(judged.effect[BOTH, place])
        losses = (fit.level + level_into - y[place])[partners]
        losses = losses[np.isfinite(losses)]
        good = int(np.count_nonzero(losses < effect / 2))
        if effect / 2 > judged.critical * fit.scale and good >= max(NODE_PAIRS, NODE_SHARE * len(losses)):
            out[place] = into[place] = 0.0
            slow[:, place] = clear[:, place] = False
    fit = msgspec.structs.replace(fit, out=out, into=into)
    return msgspec.structs.replace(judged, fit=fit, slow=slow, clear=clear)


def _scores(effect: Reals, error: Reals, natural: Reals) -> Reals:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(effect / np.hypot(error, natural[:, None]), nan=-np.inf)


def _natural(effect: Reals, error: Reals, critical: float) -> float:
    """The natural spread of healthy nodes: their robust scatter, less what noise may make of it.

    Nodes that are slow by more than this scatter explains are left out, or one of eight slow nodes would hide itself:
    the smallest scatter that agrees with its own choice of nodes. Only what noise would not exceed with 95 % counts as
    natural.
    """
    measured = np.isfinite(effect)
    effect, error = effect[measured], error[measured]
    natural = 0.0
    for _ in range(MOST_ROUNDS):
        usual = effect <= critical * np.hypot(error, natural)
        if usual.sum() < max(FEWEST_CELLS, len(effect) / 2):
            usual[:] = True
        if usual.sum() < FEWEST_CELLS:
            return 0.0
        values = effect[usual]
        total = robust_scale(values)
        noise = array_median(error[usual]) * (1 + NORMAL_95 / math.sqrt(2 * MAD_EFFICIENCY * len(values)))
        before, natural = natural, math.sqrt(max(total**2 - noise**2, 0.0))
        if natural <= before * 1.001:
            break
    return natural


def _own_scales(y: Reals, fit: AdditiveFit, reference: Flags, nodes: Indices) -> Reals:
    """Robust scatter of each node's own cells about its effects; 0 where it is not clearly greater than the others'."""
    if not nodes.size:
        return np.zeros(0)
    out, into = np.nan_to_num(fit.out), np.nan_to_num(fit.into)
    rows = y[np.ix_(nodes, reference)] - fit.level - out[nodes, None] - into[reference]
    columns = y[np.ix_(reference, nodes)].T - fit.level - into[nodes, None] - out[reference]
    own = MAD_TO_DEVIATION * medians(np.abs(np.concatenate([rows, columns], axis=1)))
    return np.where(own > OWN * fit.scale, own, 0.0)


def direction_of(node_fit: NodeEffects, node: int, *, faster: bool = False) -> int:
    """Which of OUT, IN and BOTH describes a node that is named, or is `faster` than its peers."""
    effects = (-1 if faster else 1) * node_fit.effect[:BOTH, node]
    way = int(np.argmax(np.nan_to_num(effects, nan=-np.inf)))
    other = IN if way == OUT else OUT
    effect, beside = effects[way], effects[other]
    if not np.isfinite(beside):
        return way
    return BOTH if beside > SHARED * effect or node_fit.slow[other, node] else way
