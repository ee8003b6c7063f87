"""Jobs that ran on several slow nodes: are they as slow as the slowest of these, or do the losses add up?

A job whose ranks wait for each other is as slow as its slowest node (the maximum model); one whose parts follow each
other would lose on each of its nodes (the additive model, in logarithms). Nodes are named by the first; this says
whether the jobs agree.
"""

import enum
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.commands.jobs.concurrent_failures import binomial_tail
from seatrial.model.pair_table import Reals
from seatrial.model.words import count
from seatrial.statistics.estimates import ERROR_RATE, coverage
from seatrial.statistics.strata import ENDLESS, Members, Places, failures_of, shift_of

CONFIDENCE = 0.95
INTERVAL_DEVIATIONS = 1.96


class JointModel(enum.StrEnum):
    """What jobs on several slow nodes are like; UNDECIDED: nearly as many are nearer to the one as to the other."""

    SLOWEST = "slowest"
    SUM = "sum"
    UNDECIDED = "undecided"


class JointNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs on several named nodes beside jobs on none of them, as ratios of run times, each the median over jobs."""

    model: JointModel
    jobs: int
    nearer_slowest: int
    """Jobs whose time is nearer to what the slowest of their nodes explains than to what all of them would."""
    ratio: float
    slowest: float
    """The ratio that the slowest node alone would give."""
    total: float
    """The ratio that all nodes would give, one on top of the other."""


JOINT_WORDS = {
    JointModel.SLOWEST: "as the slowest of them alone",
    JointModel.SUM: "as all of them one on top of the other, so that their own ratios may be smaller",
    JointModel.UNDECIDED: "which does not distinguish the slowest alone from all of them together",
}


def joint_text(joint: JointNodes) -> str:
    """What jobs on several named nodes show."""
    return (
        f"{count(joint.jobs, 'job')} on several of these nodes took {joint.ratio:.1f} times as long (the slowest "
        f"alone: {joint.slowest:.1f}, all together: {joint.total:.1f}), {JOINT_WORDS[joint.model]}"
    )


def joint_nodes(logs: Reals, members: Members, slow: Mapping[int, float]) -> JointNodes | None:
    """`logs`: run times of all jobs. `slow`: named member -> logarithm of its ratio. None: no such job."""
    sizes = np.zeros(members.count)
    sizes[list(slow)] = list(slow.values())
    on_slow = np.isin(members.member, list(slow))
    jobs = len(logs)
    several = np.bincount(members.job[on_slow], minlength=jobs)
    total = np.bincount(members.job, sizes[members.member], minlength=jobs)
    slowest = np.zeros(jobs)
    np.maximum.at(slowest, members.job, sizes[members.member])
    usual = _usual(logs, members, several == 0)
    ended = (logs < ENDLESS) & (usual < ENDLESS / 2)  # NaN, where no good job is like it, compares as false
    compared = (several > 1) & ended & (total > slowest)
    if not compared.any():
        return None
    excess = (logs - usual)[compared]
    nearer = int((np.abs(excess - slowest[compared]) < np.abs(excess - total[compared])).sum())
    return JointNodes(
        model=_model(nearer, len(excess)),
        jobs=len(excess),
        nearer_slowest=nearer,
        ratio=float(np.exp(np.median(excess))),
        slowest=float(np.exp(np.median(slowest[compared]))),
        total=float(np.exp(np.median(total[compared]))),
    )


def _usual(logs: Reals, members: Members, good: NDArray[np.bool_]) -> Reals:
    """The median of the good jobs of each job's stratum; NaN without a good job."""
    stratum, values = members.stratum[good], logs[good]
    order = np.lexsort((values, stratum))
    stratum, values = stratum[order], values[order]
    places = np.arange(len(members.sizes))
    first, end = np.searchsorted(stratum, places), np.searchsorted(stratum, places, side="right")
    usual = np.full(len(places), np.nan)
    some = end > first
    usual[some] = (values[(first + end - 1)[some] // 2] + values[(first + end)[some] // 2]) / 2
    of_each: Reals = usual[members.stratum]
    return of_each


def _model(nearer: int, jobs: int) -> JointModel:
    """The model that the sign test shows: the interval of the median lies on one side of the middle between both."""
    fewer = min(nearer, jobs - nearer)
    if 2 * (fewer + 1) > jobs or coverage(jobs, fewer + 1) < CONFIDENCE:
        return JointModel.UNDECIDED
    return JointModel.SLOWEST if nearer > fewer else JointModel.SUM


def as_slow(logs: Reals, members: Members, place: int, size: float, group: Places) -> Iterator[int]:
    """Members that may be slow in place of one that is named: its own jobs do not show it, nor theirs that it is not.

    `size`: logarithm of its ratio; `group`: as of `shift_of`.
    """
    for other, own, theirs in _beside(members, place):
        alone = shift_of(logs, own, place, INTERVAL_DEVIATIONS, group)
        rest = shift_of(logs, theirs, other, INTERVAL_DEVIATIONS, group)
        shown = alone.groups and alone.low > 0 and alone.high >= size
        if not shown and not (rest.groups and rest.high < size):
            yield other


def as_failing(failed: NDArray[np.bool_], members: Members, place: int) -> Iterator[int]:
    """Members on which jobs may fail in place of one that is named: neither's own jobs show which of both it is."""
    of_named = float(failed[members.jobs_of(place)].mean())
    for other, own, theirs in _beside(members, place):
        rest = failed[theirs.jobs_of(other)]
        as_often = binomial_tail(int((~rest).sum()), len(rest), 1 - of_named)
        if failures_of(failed, own).p_value[place] > ERROR_RATE and as_often > ERROR_RATE:
            yield other


def _beside(members: Members, place: int) -> Iterator[tuple[int, Members, Members]]:
    """Others in at least half of its jobs; all members without the jobs of the other, and without those of `place`."""
    jobs = members.jobs_of(place)
    shared = np.bincount(members.member[np.isin(members.job, jobs)], minlength=members.count)
    shared[place] = 0
    for other in np.flatnonzero(2 * shared >= len(jobs)).tolist():
        yield other, members.apart_from(other), members.apart_from(place)
