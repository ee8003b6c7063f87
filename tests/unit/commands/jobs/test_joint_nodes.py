"""Jobs on two slow nodes are as slow as the slowest alone, or as both together; few jobs do not say."""

from collections.abc import Callable

import numpy as np
import pytest

from seatrial.commands.jobs.joint_nodes import JointModel, JointNodes, joint_nodes, joint_text
from seatrial.statistics.strata import ENDLESS, Members

SLOW = {0: np.log(1.5), 1: np.log(2.0)}


def judged(together: Callable[[list[float]], float], jobs: int, scatter: float = 0.05) -> JointNodes | None:
    """Jobs on two nodes of five, in three families; each tenth is on both slow nodes. `together`: of their losses."""
    draw = np.random.default_rng(jobs)
    members, logs = [], []
    for job in range(jobs):
        pair = [0, 1] if job % 10 == 0 else [int(each) for each in draw.choice(5, 2, replace=False)]
        pair = pair if job % 10 == 0 or set(pair) != {0, 1} else [2, 3]
        members.append(pair)
        logs.append(job % 3 + together([SLOW.get(node, 0.0) for node in pair]) + draw.normal(0, scatter))
    table = Members(
        stratum=np.arange(jobs) % 3, job=np.repeat(np.arange(jobs), 2), member=np.array(members).ravel(), count=5
    )
    return joint_nodes(np.array(logs), table, SLOW)


def test_the_slowest_alone() -> None:
    found = judged(max, 300)
    assert found and (found.model, found.jobs, found.nearer_slowest) == (JointModel.SLOWEST, 30, 30)
    assert found.slowest == pytest.approx(2.0) and found.total == pytest.approx(3.0)
    assert found.ratio == pytest.approx(2.0, rel=0.03)
    assert joint_text(found).startswith("30 jobs on several of these nodes took 2.0 times as long (the slowest alone")


def test_one_on_top_of_the_other() -> None:
    found = judged(sum, 300)
    assert found and (found.model, found.nearer_slowest) == (JointModel.SUM, 0)
    assert found.ratio == pytest.approx(3.0, rel=0.03)


def test_few_jobs_and_jobs_between_do_not_say() -> None:
    few = judged(max, 50)
    assert few and (few.model, few.jobs) == (JointModel.UNDECIDED, 5)
    between = judged(lambda losses: (max(losses) + sum(losses)) / 2, 300)
    assert between and between.model is JointModel.UNDECIDED


def test_nothing_is_said_without_jobs_that_could_show_it() -> None:
    """One slow node; and jobs that reached their limit, of which only that is known."""
    table = Members(stratum=np.zeros(4, int), job=np.arange(4), member=np.array([0, 1, 2, 3]), count=5)
    assert joint_nodes(np.zeros(4), table, SLOW) is None
    assert joint_nodes(np.zeros(4), table, {}) is None
    both = Members(stratum=np.zeros(2, int), job=np.array([0, 0, 1]), member=np.array([0, 1, 2]), count=5)
    assert joint_nodes(np.array([ENDLESS, 0.0]), both, SLOW) is None
