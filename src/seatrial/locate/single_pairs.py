"""Pairs that are bad although both their nodes are good, and pairs whose repetitions disagree.

Losses of healthy pairs have no law of their own, so that the tail of the table itself is the measure (`power_tail`).
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.locate.explanation import Ways, cover
from seatrial.locate.metric_result import MOST_LISTED, FaultNaming
from seatrial.locate.rows import Rows, back_rows
from seatrial.locate.thresholds import Effects, adjusted_p, critical_value
from seatrial.model.pair_faults import Instability, LocatedFault, Unstable
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject, node
from seatrial.statistics.estimates import ERROR_RATE, HEAVY_DEGREES, array_median

MOST_OUT = 0.25
"""Share of all values that can be out; more of them leave no tail to compare with."""
TAIL = 2.0
"""Values of the tail that are compared with, times the root of the number of all values."""
FEWEST = 7
"""Values of the tail that show how heavy it is."""
LEAST_MEAN = 1e-12
"""Least mean of the steps; equal numbers have none."""


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """`line`: values from here on are out; infinite where none is. `detectable`: a single value so large would be."""

    line: float
    detectable: float


def power_tail(losses: Reals, scale: float, heavy_line: float) -> Tail:
    """The values beyond the tail of `losses`: positive is worse, NaN and others that are not finite do not count.

    `scale`: their usual scatter. `heavy_line`: a value that is out whatever the others are, which decides where too few
    values show a tail. Of j values that are out together, the gap to the next one is compared with the mean of the
    steps below it: their ratio has Fisher's distribution with 2 and 2k degrees of freedom. All j are tested, each with
    the share 1 / (j (j + 1)) of half the error rate; the clearest group is taken away, and the rest is tested again.
    """
    finite = losses[np.isfinite(losses)]
    line = float(finite[finite >= heavy_line].min(initial=math.inf))
    most = int(MOST_OUT * len(finite))
    below = min(int(TAIL * math.sqrt(len(finite))), most)
    if below < FEWEST:
        return Tail(line=line, detectable=heavy_line)
    wanted = most + below + 1
    values = np.partition(finite, len(finite) - wanted)[-wanted:] if wanted < len(finite) else finite
    values = np.sort(values)[::-1].astype(np.float64)
    height = np.log(np.maximum(values, 0) + scale)
    taken = 0
    while taken < most and (group := _clearest_group(height[taken:], most - taken, below)):
        taken += group
        line = min(line, float(values[taken - 1]))
    drops = height[taken : taken + below] - height[taken + 1 : taken + below + 1]
    mean = float(np.arange(2, below + 2) @ drops) / below
    step = below * math.expm1(-math.log(ERROR_RATE / 4) / below)
    single = math.exp(min(float(height[taken]) + step * mean, 700.0)) - scale
    return Tail(line=line, detectable=min(single, heavy_line))


def _clearest_group(height: Reals, most: int, below: int) -> int:
    """How many of the largest values are out together; 0 where none is. `height`: logarithms, descending."""
    steps = np.arange(1, len(height)) * (height[:-1] - height[1:])
    sums = np.concatenate(([0.0], np.cumsum(steps)))
    count = np.arange(1, most + 1)
    mean = np.maximum((sums[below + 1 : below + most + 1] - sums[1 : most + 1]) / below, LEAST_MEAN)
    chance = np.log(count * (count + 1.0)) - below * np.log1p(steps[:most] / mean / below)
    best = int(np.argmin(chance))
    return best + 1 if chance[best] < math.log(ERROR_RATE / 2) else 0


NODE_PAIRS = 3
"""A node with at least this many bad or varying pairs, and NODE_SHARE of its pairs, is unstable, not each pair."""
NODE_SHARE = 0.15
"""The share of all its ordered pairs that must be bad or vary before the node is unstable."""
RANGE = 1.5
"""The range of two or three repetitions is about this many of their standard deviations."""
FEWEST_REPEATED = 8
SMALL = 18.0
"""The scatter of m values is uncertain itself: 1 + 18 / m times as much is taken for a single one that is out. Found by
simulation, for Student's noise with three degrees of freedom in tables of four to eight nodes."""


class PairFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What is left if nodes and uplinks are accounted for."""

    faults: tuple[LocatedFault, ...]
    """The worst MOST_LISTED."""
    unstable: tuple[Unstable, ...]
    """Nodes, and of each cause the worst MOST_LISTED pairs."""
    unstable_pairs: int
    """All rows that vary or are bad once, those of pairs that are not listed included."""
    unlisted_pairs: int
    """Pairs at fault beyond those in `faults`."""
    detectable_value_ratio: float
    """The smallest loss of a single value that would have been beyond the tail of all values."""


def single_pairs(
    nodes: Sequence[str], rows: Rows, residual: Reals, scale: float, degrees: float, effects: Effects
) -> PairFindings:
    """Single pairs that are named, and what is unstable.

    `residual[r]`: log of row r less what its nodes explain; NaN for rows that other parts explain.

    A pair is named if it is bad in both directions, or in every repetition of one, and if no more than `ERROR_RATE`
    such pairs are expected by chance with as many bad rows as the table has. Any other bad row is unstable, and
    so is any row with a value beyond the tail of all values, however small its loss.
    """
    naming = FaultNaming(nodes=nodes, metric=effects.metric)
    critical = critical_value(len(residual), degrees, ERROR_RATE)
    line = max(effects.pair, critical * scale)
    with np.errstate(invalid="ignore"):
        worst_values = -(residual - rows.log + rows.worst)  # NaN for dead rows
    unsure = 1 + SMALL / max(len(residual), 1)
    heavy = critical_value(len(residual), HEAVY_DEGREES, ERROR_RATE / 2) * unsure
    tail = power_tail(worst_values, scale, heavy * scale)
    with np.errstate(invalid="ignore"):
        low = np.flatnonzero(residual < -line)
        out = worst_values >= tail.line
    spread = _varying_rows(rows, scale, critical, effects)
    low = np.setdiff1d(low, spread)
    back = back_rows(rows, low)
    returns = back >= 0
    chance = (np.count_nonzero(~returns) / max(len(residual), 1)) ** 2 * len(residual) / 2
    repeated = np.zeros(len(low), dtype=np.bool_) if rows.repetitions is None else rows.repetitions[low] > 1
    mutual = returns & (repeated | repeated[back] | (chance <= ERROR_RATE))
    named = np.flatnonzero(np.where(mutual, rows.source[low] < rows.target[low], repeated))
    both = mutual[named]
    loss = -residual[low[named]].astype(np.float64)
    loss[both] = (loss[both] - residual[low[back[named][both]]]) / 2
    faults = _worst_pairs(naming, rows, low[named], both, loss, scale, critical, degrees)
    several = np.zeros(len(residual), dtype=np.bool_) if rows.repetitions is None else rows.repetitions > 1
    beyond = np.setdiff1d(np.flatnonzero(out), np.concatenate([low, spread]))
    spread = np.union1d(spread, beyond[several[beyond]])
    lone = np.union1d(low[~mutual & ~repeated], beyond[~several[beyond]])
    unstable = _by_node(naming, rows, residual, lone, Instability.SINGLE, out)
    unstable += _by_node(naming, rows, -worst_values, spread, Instability.REPETITIONS, out)
    return PairFindings(
        faults=faults,
        unstable=tuple(unstable),
        unstable_pairs=len(lone) + len(spread),
        unlisted_pairs=len(named) - len(faults),
        detectable_value_ratio=naming.ratio(tail.detectable),
    )


def _worst_pairs(
    naming: FaultNaming, rows: Rows, named: Indices, both: Flags, loss: Reals, scale: float, critical: float,
    degrees: float,
) -> tuple[LocatedFault, ...]:  # fmt: skip
    """The worst MOST_LISTED of the named rows; `both`: which of them stand for both directions."""
    error = scale / np.sqrt(np.where(both, 2, 1))
    worst = np.arange(len(named))
    if len(named) > MOST_LISTED:
        worst = np.sort(np.argsort(-loss, kind="stable")[:MOST_LISTED])
    p = adjusted_p(loss[worst] / error[worst], len(rows.log), degrees)
    faults = []
    for place, chance_of_it in zip(worst.tolist(), p.tolist(), strict=True):
        forth = int(rows.source[named[place]]), int(rows.target[named[place]])
        ends = np.array([forth, forth[::-1]][: 2 if both[place] else 1])
        way = Direction.BOTH if both[place] or not rows.directed else Direction.OUT
        margin = critical * float(error[place])
        faults.append(
            naming.fault(naming.pair(*forth), way, float(loss[place]), margin, chance_of_it, (ends[:, 0], ends[:, 1]))
        )
    return tuple(faults)


def _varying_rows(rows: Rows, scale: float, critical: float, effects: Effects) -> Indices:
    """Rows whose repetitions lie further apart than noise puts them."""
    if rows.repetitions is None:
        return np.zeros(0, dtype=np.intp)
    several = np.flatnonzero((rows.repetitions > 1) & ~rows.dead)
    with np.errstate(invalid="ignore"):
        ranges = np.minimum(rows.best[several] - rows.worst[several], 1e9)
    if len(several) >= FEWEST_REPEATED:
        scale = max(scale, array_median(ranges) / RANGE)
    varies: Indices = several[ranges > max(effects.pair, critical * np.sqrt(2) * scale)]
    return varies


def _by_node(
    naming: FaultNaming, rows: Rows, loss: Reals, chosen: Indices, cause: Instability, out: Flags
) -> list[Unstable]:
    """The chosen rows, those of one node together where they are many."""

    def unstable(subject: Subject, cause: Instability, own: Indices) -> Unstable:
        ordered = own[np.argsort(loss[own], kind="stable")]
        worst = float(-np.nanmin(loss[own])) if np.isfinite(loss[own]).any() else math.inf
        return naming.unstable(subject, cause, worst, rows.ends(ordered), gross=bool(out[own].any()))

    touched = np.stack(rows.ends(chosen), axis=1).ravel()
    ways = Ways(row=np.repeat(np.arange(len(chosen)), 2), part=touched, parts=rows.nodes)
    cells = rows.cells * (1 if rows.directed else 2)
    groups = [*cover(ways, len(chosen), least=np.maximum(NODE_PAIRS, NODE_SHARE * cells))]
    of_node = Instability.SOME_PARTNERS if cause is Instability.SINGLE else cause
    listed = [unstable(node(naming.nodes[one.parts[0]]), of_node, chosen[one.rows]) for one in groups]
    left = np.delete(chosen, [row for one in groups for row in one.rows.tolist()])
    for row in left[np.argsort(loss[left], kind="stable")][:MOST_LISTED].tolist():
        subject = naming.pair(int(rows.source[row]), int(rows.target[row]))
        listed.append(unstable(subject, cause, np.array([row])))
    return listed
