"""Whether a node's failures are its own: not those of one user's program, nor of a campaign that fails elsewhere."""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.strata import Members, Places, failures_of

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

    def of_families(self) -> Places:
        """Number of the family and the day of each job."""
        _, group = np.unique(self.day * (int(self.family.max(initial=0)) + 1) + self.family, return_inverse=True)
        return np.asarray(group, np.intp)


class DayFailures(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs failed, and how many of each family did on each day."""

    failed: NDArray[np.bool_]
    group: Places
    """Number of the family and the day of each job."""
    jobs: Places
    failures: Places


def by_day(failed: NDArray[np.bool_], group: Places) -> DayFailures:
    """Failures of each group of jobs; `group` as `JobUses.of_families` numbers them."""
    return DayFailures(
        failed=failed,
        group=group,
        jobs=np.bincount(group),
        failures=np.bincount(group[failed], minlength=int(group.max(initial=-1)) + 1),
    )


def repeated_failures(days: DayFailures, members: Members, uses: JobUses, place: int) -> NDArray[np.bool_]:
    """All but the first of a user's failures of one day on a member, if the program may be the cause.

    It may be if other users' jobs there, from the first failure to a day after the last, failed less than half as often
    (the mean of these users), or if the same programs failed at least half as often elsewhere on that day.
    Failures of one program depend on each other; those of several users or days do not.
    """
    failed, repeated = days.failed, np.zeros(len(days.failed), bool)
    own, began = members.jobs_of(place), uses.began()
    failing = own[failed[own]]
    for user, day in {(int(uses.user[job]), int(uses.day[job])) for job in failing}:
        same = failing[(uses.user[failing] == user) & (uses.day[failing] == day)]
        groups = np.unique(days.group[same])
        on_member = own[np.isin(days.group[own], groups)]
        share = float(failed[on_member].mean())
        near = (began[own] >= began[same].min()) & (began[own] <= began[same].max() + DAY_S)
        others = own[near & (uses.user[own] != user)]
        elsewhere = int(days.jobs[groups].sum()) - len(on_member)
        failures = float(days.failures[groups].sum()) - np.count_nonzero(failed[on_member])
        users = np.unique(uses.user[others], return_inverse=True)[1]
        of_users = np.bincount(users, ~uses.completed[others]) / np.bincount(users)
        healthy = len(others) > 0 and 2 * float(of_users.mean()) < share
        if healthy or (elsewhere and 2 * failures >= share * elsewhere):
            repeated[same[np.argsort(began[same], kind="stable")][1:]] = True
    return repeated


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
