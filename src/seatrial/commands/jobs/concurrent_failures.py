"""Whether a node's failures fall together with failures elsewhere, as those of a campaign with a wrong input do."""

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


def p_beside(
    failed: NDArray[np.bool_], members: Members, group: Places, began: Callable[[], Reals], place: int, suspects: Places
) -> float:
    """The p-value of a member's failures among jobs beside which the same happened elsewhere at that time.

    Where at least half of its failures in a group fell together with failures elsewhere, they show a bad time of the
    group: that group does not count. `began`: the time of each job. `group`: that of each stratum. Jobs of other
    suspects count only where nobody else began one at that time: several nodes may become bad at once.
    """
    times = began()
    nearest, _ = _nearest_failed(failed, members, times, members.jobs_of(place))
    beside, apart = _nearest_failed(failed, members, times, members.job[np.isin(members.member, suspects)])
    nearest = np.where(apart <= NEAR_S, beside, nearest)
    of = group[np.minimum(members.stratum, len(group) - 1)]
    own = members.jobs_of(place)
    failing = own[failed[own]]
    together = np.bincount(of[failing], nearest[failing] == 1, len(of) + 1) * 2
    bad = np.greater_equal(together, np.bincount(of[failing], minlength=len(of) + 1))
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
