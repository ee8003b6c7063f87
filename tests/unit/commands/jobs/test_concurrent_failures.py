"""Failures of a node that fall together with failures elsewhere."""

import numpy as np
import pytest

from seatrial.commands.jobs.concurrent_failures import NEAR_S, JobUses, p_beside
from seatrial.statistics.strata import Members

TIMES = 100_000.0 * np.arange(10)


@pytest.mark.parametrize(("later_s", "own"), [(NEAR_S, True), (NEAR_S + 1, False)])
def test_a_job_elsewhere_within_an_hour_shows_that_a_failure_is_of_the_node(later_s: float, own: bool) -> None:
    """Two suspects fail at the same times, and two good nodes begin jobs `later_s` behind the first."""
    began = np.concatenate([TIMES, TIMES + 10, TIMES + later_s, TIMES + later_s + 20])
    member = np.repeat(np.arange(4), len(TIMES))
    members = Members(stratum=np.zeros(len(began), np.intp), job=np.arange(len(began)), member=member, count=4)
    same = np.zeros(len(began), np.intp)
    uses = JobUses(user=same, family=same, day=same, completed=member >= 2, began=lambda: began)
    p_value = p_beside(member < 2, members, uses, 0, np.array([0, 1]))
    assert (p_value < 0.01) == own
