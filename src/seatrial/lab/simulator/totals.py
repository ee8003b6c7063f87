"""Recall, precision and cost of several trials together."""

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from seatrial.lab.simulator.score import LOSS_CLASSES, Match, ScoredFault, Truth
from seatrial.lab.simulator.trial import FabricTrial

Z = 1.959964
"""Quantile of the normal distribution for 95 %."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """`hits` of `count`; `ratio` is 1 where there are none. `low` to `high`: the 95 % interval by Wilson's method."""

    hits: int
    count: int
    ratio: float
    low: float
    high: float


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """All trials. Means of the cost are a trial's; `cpu_s_max` and `peak_bytes` are the largest.

    `cpu_s`: processor seconds without those that made measurements up, which a real fabric does by itself.
    """

    trials: int
    right: int
    verdicts: dict[str, int]
    false_pass: int
    """Trials with a fault that was missed although the check reports PASS."""
    recall: Share
    recall_by_kind: dict[str, Share]
    recall_by_loss: dict[str, Share]
    precision: Share
    """Findings that are not false, of all findings."""
    partial: int
    """Findings on a pair or cable that is slow only because of a planted larger fault."""
    mean_set: float
    """Subjects that a true finding names or leaves open; 1 for a single name."""
    unseen: int
    measurements: float
    node_s: float
    wall_s: float
    cpu_s: float
    cpu_s_max: float
    peak_bytes: int


def wilson(hits: int, count: int) -> Share:
    """A share with its 95 % interval (Wilson, J. Am. Stat. Assoc. 22, 1927); 0 to 1 where nothing was counted."""
    if not count:
        return Share(hits=0, count=0, ratio=1.0, low=0.0, high=1.0)
    ratio, square = hits / count, Z**2 / count
    centre = (ratio + square / 2) / (1 + square)
    half = math.sqrt(ratio * (1 - ratio) * square + square**2 / 4) / (1 + square)
    return Share(
        hits=hits,
        count=count,
        ratio=ratio,
        low=0.0 if hits == 0 else max(centre - half, 0.0),
        high=1.0 if hits == count else min(centre + half, 1.0),
    )


def totals(trials: Sequence[FabricTrial]) -> Totals:
    """Sums and means; every fault and every finding counts the same."""
    faults = [fault for one in trials for fault in one.score.faults if fault.match is not Match.UNSEEN]
    claims = [claim for one in trials for claim in one.score.claims]
    sets = [1 + len(claim.ambiguous_with) for claim in claims if claim.truth is Truth.TRUE]
    verdicts = [one.verdict.value for one in trials]
    count = max(len(trials), 1)
    return Totals(
        trials=len(trials),
        right=sum(one.score.right for one in trials),
        verdicts={verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        false_pass=sum(
            one.verdict == "PASS" and any(fault.match is Match.MISSED for fault in one.score.faults) for one in trials
        ),
        recall=_recall(faults),
        recall_by_kind=_by(faults, sorted({fault.kind.value for fault in faults}), lambda fault: fault.kind.value),
        recall_by_loss=_by(faults, [name for _, name in LOSS_CLASSES], lambda fault: fault.loss_class),
        precision=wilson(sum(claim.truth is not Truth.FALSE for claim in claims), len(claims)),
        partial=sum(claim.truth is Truth.PARTIAL for claim in claims),
        mean_set=sum(sets) / len(sets) if sets else 1.0,
        unseen=sum(fault.match is Match.UNSEEN for one in trials for fault in one.score.faults),
        measurements=sum(one.cost.measurements for one in trials) / count,
        node_s=sum(one.cost.node_s for one in trials) / count,
        wall_s=sum(one.cost.wall_s for one in trials) / count,
        cpu_s=sum(map(_cpu_s, trials)) / count,
        cpu_s_max=max(map(_cpu_s, trials), default=0.0),
        peak_bytes=max((one.cost.peak_bytes for one in trials), default=0),
    )


def _cpu_s(trial: FabricTrial) -> float:
    return trial.cost.cpu_s - trial.cost.simulated_s


def _by(faults: Sequence[ScoredFault], names: Iterable[str], name_of: Callable[[ScoredFault], str]) -> dict[str, Share]:
    groups = {name: [fault for fault in faults if name_of(fault) == name] for name in names}
    return {name: _recall(group) for name, group in groups.items() if group}


def _recall(faults: Sequence[ScoredFault]) -> Share:
    return wilson(sum(fault.match is not Match.MISSED for fault in faults), len(faults))
