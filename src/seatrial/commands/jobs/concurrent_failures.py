"""Whether a node's failures are its own: not those of one user's program, nor of a campaign that fails elsewhere."""

import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import ERROR_RATE
from seatrial.statistics.rank_sum import log_choose
from seatrial.statistics.strata import Members, Places, Shares, failures_of

LONELY = 2
"""Mark of jobs without one of another member in their stratum."""
NEAR_S = 3600.0
"""How long after a failure the next job shows whether it would have failed elsewhere: a wrong input is soon mended."""

DAY_S = 86400.0
"""How long after a user's failures the jobs of others show whether the node was at fault: later it may be repaired."""


class JobUses(msgspec.Struct, frozen=True, kw_only=True):
    """Who ran each job, of which family and when, and which jobs completed."""

    user: Places
    family: Places
    day: Places
    completed: NDArray[np.bool_]
    began: Callable[[], Reals]


def binomial_tail(least: int, total: int, chance: float) -> float:
    """Probability that of `total`, each with the same chance, at least `least` are hit."""
    if not 0 < chance < 1:
        return float(least <= (total if chance else 0))
    logs = [
        log_choose(total, hits) + hits * math.log(chance) + (total - hits) * math.log1p(-chance)
        for hits in range(max(least, 0), total + 1)
    ]
    return min(math.fsum(map(math.exp, logs)), 1.0)


def repeated_failures(
    failed: NDArray[np.bool_], members: Members, shares: Shares, uses: JobUses, place: int
) -> NDArray[np.bool_]:
    """All but the first failure of each day on a member that came there one after the other for another reason.

    Jobs that a scheduler places one by one are independent evidence. A user's jobs that go to one node again and
    again, and tasks of an array that begin there together, are not: more jobs of the strata began on the member, from
    one failure to the last, than chance brings to it. They do not count against the member if jobs of other
    users there, from the first failure to a day after the last, failed less than half as often (the mean of these
    users, without those that came one after the other).
    """
    own, began = members.jobs_of(place), uses.began()
    trials = list(_trials(failed, members, shares, uses, own))
    marked = np.zeros(len(failed), bool)
    if not trials:
        return marked
    placed = own[~np.isin(own, np.concatenate([jobs for *_, jobs in trials]))]
    repeated: dict[int, list[Places]] = {}
    for user, day, failures, jobs in trials:
        times = began[failures]
        near = (began[placed] >= times[0]) & (began[placed] <= times[-1] + DAY_S)
        others = placed[near & (uses.user[placed] != user)]
        users = np.unique(uses.user[others], return_inverse=True)[1]
        of_users = np.bincount(users, ~uses.completed[others]) / np.bincount(users)
        if len(others) and 2 * float(of_users.mean()) * len(jobs) < len(failures):
            repeated.setdefault(day, []).append(failures)
    for parts in repeated.values():
        jobs = np.concatenate(parts)
        marked[jobs[np.argsort(began[jobs], kind="stable")][1:]] = True
    return marked


def _trials(
    failed: NDArray[np.bool_], members: Members, shares: Shares, uses: JobUses, own: Places
) -> Iterator[tuple[int, int, Places, Places]]:
    """User, day, failures and jobs between them, of each user's failures of a day that came one after the other.

    `own`: the jobs of the member.
    """
    stratum = members.stratum
    nodes = sum(np.bincount(places, minlength=len(members.sizes)) for places in (shares.stratum, shares.whole[0]))
    of_all = np.bincount(stratum[members.job], minlength=len(members.sizes))
    chance = of_all / np.maximum(members.sizes * nodes, 1)
    """Probability that a job of each stratum comes to one of its members."""
    failing = own[failed[own]]
    peers = np.flatnonzero(np.isin(stratum, stratum[failing]))
    peers = peers[np.argsort(uses.began()[peers], kind="stable")]
    for user, day in {(int(uses.user[job]), int(uses.day[job])) for job in failing}:
        same = failing[(uses.user[failing] == user) & (uses.day[failing] == day)]
        if len(same) < 2:
            continue
        alike = peers[np.isin(stratum[peers], stratum[same])]
        places = np.flatnonzero(np.isin(alike, same))
        span = alike[places[0] : places[-1] + 1]
        jobs = span[np.isin(span, own)]
        if binomial_tail(len(jobs) - 1, len(span) - 1, float(chance[stratum[span[1:]]].mean())) <= ERROR_RATE:
            yield user, day, alike[places], jobs


def p_beside(failed: NDArray[np.bool_], members: Members, uses: JobUses, place: int, suspects: Places) -> float:
    """The p-value of a member's failures among jobs beside which the same happened elsewhere at that time.

    Where at least half of its failures in a family fell together with failures elsewhere, they show a bad time of the
    family: that family does not count. Jobs of other suspects count only where nobody else began one at that time:
    several nodes may become bad at once.
    """
    times = uses.began()
    nearest, _ = _nearest_failed(failed, members, times, members.jobs_of(place))
    beside, apart = _nearest_failed(failed, members, times, members.job[np.isin(members.member, suspects)])
    nearest = np.where(apart <= NEAR_S, beside, nearest)
    own = members.jobs_of(place)
    of, failing = uses.family, own[failed[own]]
    families = int(of.max(initial=0)) + 1
    together = np.bincount(of[failing], nearest[failing] == 1, families) * 2
    bad = np.greater_equal(together, np.bincount(of[failing], minlength=families))
    left = np.zeros(len(failed), bool)
    left[own] = bad[of[own]]
    finer = np.unique(members.stratum * (LONELY + 1) + nearest, return_inverse=True)[1]
    rest = msgspec.structs.replace(members, stratum=finer).without(left)
    return float(failures_of(failed, rest).p_value[place])


def _nearest_failed(
    failed: NDArray[np.bool_], members: Members, began: Reals, left_out: Places
) -> tuple[Places, Reals]:
    """Whether the other job failed that began next to each job in its stratum, and how far apart both began.

    `began`: times. Others are all jobs but those left out. Without one: LONELY, endlessly far apart.
    """
    order = np.lexsort((began, members.stratum))
    other = ~np.isin(order, left_out)
    others = order[other]
    number: Places = np.cumsum(other)
    nearest, distance = np.full(len(order), LONELY), np.full(len(order), np.inf)
    for side in (number - other - 1, number):
        at: Places = np.flatnonzero(np.logical_and(side >= 0, side < len(others)))
        job, beside = order[at], others[side[at]]
        apart = np.abs(began[job] - began[beside])
        closer = (members.stratum[job] == members.stratum[beside]) & (apart < distance[job])
        nearest[job[closer]], distance[job[closer]] = failed[beside[closer]], apart[closer]
    return nearest, distance
