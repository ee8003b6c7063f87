"""Whether a node's failures are its own: not those of one user's program, nor of a campaign that fails elsewhere."""

import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import ERROR_RATE
from seatrial.statistics.strata import Members, Places, Shares, failures_of, log_choose, shares_of

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
    failed: NDArray[np.bool_], members: Members, shares: Shares, uses: JobUses, place: int, *, sent: bool = False
) -> NDArray[np.bool_]:
    """All but the first failure of each day on a member that users may have sent there.

    `sent`: only where they did, since more jobs came to the member than chance brings, or began there together.

    Jobs that a scheduler places one by one are independent evidence; those that a user sends to one node again and
    again, and tasks of an array that begin there together, are not. Where failures take the place of good jobs, fewer
    good ones of the families began on the member, from the user's first repeated failure to the last, than chance
    brings to it. Other failures do not count against the member if jobs of other users there, from the first of the
    day to a day after the last, failed less than half as often (the mean of these users, without jobs that were sent).
    """
    own, began = members.jobs_of(place), uses.began()
    trials = list(_trials(failed, members, shares, uses, own))
    marked, many = np.zeros(len(failed), bool), [jobs for *_, jobs, improbable in trials if improbable]
    placed = own[~np.isin(own, np.concatenate([own[:0], *many]))]
    repeated: dict[int, list[Places]] = {}
    for user, day, failures, jobs, improbable in trials:
        if sent and not improbable and began[failures[0]] < began[failures[-1]]:
            continue
        near = (began[placed] >= began[failures[0]]) & (began[placed] <= began[failures[-1]] + DAY_S)
        others = placed[near & (uses.user[placed] != user)]
        users = np.unique(uses.user[others], return_inverse=True)[1]
        of_users = np.bincount(users, ~uses.completed[others]) / np.bincount(users)
        if len(others) and 2 * float(of_users.mean()) * len(jobs) < len(failures):
            repeated.setdefault(day, []).append(failures)
    for parts in repeated.values():
        of_day = np.concatenate(parts)
        marked[of_day[np.argsort(began[of_day], kind="stable")][1:]] = True
    return marked


def sent_jobs(members: Members, place: int) -> NDArray[np.bool_]:
    """All but the first job of each stratum of which a member got more than chance brings, and more than twice as many.

    Jobs that a user sends to one node are alike, and independent evidence neither of the node nor of each other.
    """
    shares = shares_of(members)
    chances, own, sent = _chances(members, shares), members.jobs_of(place), np.zeros(len(members.stratum), bool)
    mine = shares.member == place
    for stratum, number in zip(shares.stratum[mine].tolist(), shares.number[mine].tolist(), strict=True):
        total, chance = int(members.sizes[stratum]), float(chances[stratum])
        if number > max(1, 2 * total * chance) and binomial_tail(number, total, chance) <= ERROR_RATE:
            sent[own[members.stratum[own] == stratum][1:]] = True
    return sent


def _chances(members: Members, shares: Shares) -> Reals:
    """Probability that a job of each stratum comes to one of the members that met any of it."""
    nodes = sum(np.bincount(places, minlength=len(members.sizes)) for places in (shares.stratum, shares.whole[0]))
    of_all = np.bincount(members.stratum[members.job], minlength=len(members.sizes))
    chances: Reals = of_all / np.maximum(members.sizes * nodes, 1)
    return chances


def _trials(
    failed: NDArray[np.bool_], members: Members, shares: Shares, uses: JobUses, own: Places
) -> Iterator[tuple[int, int, Places, Places, bool]]:
    """User, day, failures and jobs between them, of each user's failures of a day that may have been sent; and whether
    these are more than chance brings. `own`: the jobs of the member.
    """
    stratum, began = members.stratum, uses.began()
    chance = _chances(members, shares)[stratum]
    failing = own[failed[own]]
    failing = failing[np.argsort(began[failing], kind="stable")]
    for user in np.unique(uses.user[failing]).tolist():
        of_user = failing[uses.user[failing] == user]
        days, place, times = np.unique(uses.day[of_user], return_inverse=True, return_counts=True)
        again = of_user[times[place] > 1]
        if not len(again):
            continue
        meanwhile = (began > began[again[0]]) & (began < began[again[-1]])
        good = np.flatnonzero(meanwhile & ~failed & np.isin(uses.family, uses.family[again]))
        own_good = int(np.isin(good, own).sum())
        if len(good) and binomial_tail(len(good) - own_good, len(good), 1 - float(chance[good].mean())) <= ERROR_RATE:
            continue
        for day in days[times > 1].tolist():
            same = again[uses.day[again] == day]
            span = np.isin(stratum, stratum[same]) & (began >= began[same[0]]) & (began <= began[same[-1]])
            jobs = own[span[own]]
            p_value = binomial_tail(len(jobs) - 1, int(span.sum()) - 1, float(chance[span].mean()))
            yield user, day, same, jobs, p_value <= ERROR_RATE


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
