"""Jobs on two slow nodes are as slow as the slowest alone, or as both together; few jobs do not say."""

from collections.abc import Callable

import numpy as np
import pytest

from seatrial.commands.jobs.joint_nodes import JointModel, JointNodes, as_failing, as_slow, joint_nodes, joint_text
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


ELSEWHERE = 400
SIZE = float(np.log(1.5))


def paired(own: int, theirs: int, *, culprit: int) -> tuple[Members, np.ndarray]:
    """Twenty jobs on the nodes 0 and 1 together, some on each alone, others elsewhere; and which are on the culprit."""
    pairs = (
        [(0, 1)] * 20 + [(0, 2 + place % 20) for place in range(own)] + [(1, 2 + place % 20) for place in range(theirs)]
    )
    pairs += [(2 + place % 20, 2 + (place + 1 + place // 20) % 20) for place in range(ELSEWHERE)]
    members = Members(
        stratum=np.zeros(len(pairs), int), job=np.repeat(np.arange(len(pairs)), 2),
        member=np.array(pairs).ravel(), count=22,
    )  # fmt: skip
    return members, np.array([culprit in pair for pair in pairs])


@pytest.mark.parametrize(
    ("own", "theirs", "culprit", "slow", "failing"),
    [
        (0, 0, 0, [1], [1]),
        (1, 0, 0, [1], [1]),
        (2, 0, 0, [], []),
        (0, 1, 0, [1], []),
        (0, 2, 0, [], []),
        (0, 2, 1, [1], [1]),
        (2, 0, 1, [1], [1]),
    ],
)
def test_nodes_that_nearly_always_run_together_are_told_apart_by_their_own_jobs_alone(
    own: int, theirs: int, culprit: int, slow: list[int], failing: list[int]
) -> None:
    """Node 0 was named, whichever of both it is. One job shows little, but that a node fails not always."""
    members, bad = paired(own, theirs, culprit=culprit)
    logs = np.random.default_rng(1).normal(0, 0.02, len(bad)) + SIZE * bad
    assert list(as_slow(logs, members, 0, SIZE, np.zeros(1, int))) == slow
    assert list(as_failing(bad, members, 0)) == failing


@pytest.mark.parametrize(("shared", "named"), [(20, [1]), (19, [])])
def test_a_node_in_fewer_than_half_of_the_jobs_of_a_named_one_is_not_meant(shared: int, named: list[int]) -> None:
    """The other half is on node 2, 3, ... each once, so that nothing else shows which it is."""
    pairs = [(0, 1)] * shared + [(0, 2 + place) for place in range(40 - shared)]
    pairs += [(60 + place % 20, 80 + place % 19) for place in range(ELSEWHERE)]
    members = Members(
        stratum=np.zeros(len(pairs), int), job=np.repeat(np.arange(len(pairs)), 2),
        member=np.array(pairs).ravel(), count=100,
    )  # fmt: skip
    failed = np.array([pair == (0, 1) for pair in pairs])
    assert list(as_failing(failed, members, 0)) == named
