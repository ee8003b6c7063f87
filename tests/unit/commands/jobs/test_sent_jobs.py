"""Slow jobs that a user sends to one node do not accuse it; those that the scheduler places do."""

import numpy as np
import pytest

from seatrial.commands.jobs.concurrent_failures import sent_jobs
from seatrial.statistics.strata import Members
from tests.support.job_histories import judged_records, record_of

NODES, DAYS, USERS = 100, 14, 5
DAY_S = 86400


@pytest.mark.parametrize(
    ("own", "total", "members", "sent"), [(6, 100, 50, 0), (7, 100, 50, 6), (100, 1000, 20, 0), (101, 1000, 20, 100)]
)
def test_jobs_beyond_chance_and_twice_what_it_brings_count_once(own: int, total: int, members: int, sent: int) -> None:
    member = np.array([0] * own + [1 + place % (members - 1) for place in range(total - own)])
    table = Members(stratum=np.zeros(total, int), job=np.arange(total), member=member, count=members)
    assert np.flatnonzero(sent_jobs(table, 0)).tolist() == list(range(1, sent + 1))


def named(*, sent: int, ratio: float, slow: float = 1.0) -> list[str]:
    """Jobs of all users anywhere, and of one more on a day, who sends some to n7. `slow`: what n7 itself does."""
    random = np.random.default_rng(sent)
    jobs = [(day, f"u{user}", 0.0) for day in range(DAYS) for user in range(USERS) for _ in range(30)]
    jobs += [(5, "ann", 0.0)] * 200 + [(5, "ann", np.log(ratio))] * sent
    text = []
    for number, (day, user, longer) in enumerate(jobs):
        node = 7 if longer else int(random.integers(1, NODES + 1))
        seconds = 1000 * np.exp(random.normal(longer, 0.15)) * (slow if node == 7 else 1.0)
        time = f"2026-03-{day + 2:02}T10:00:00"
        text.append(record_of(number, node, user, user=user, time=time, seconds=seconds, ended="COMPLETED|0:0"))
    return [node.node for node in judged_records(text).slow]


@pytest.mark.parametrize("sent", [25, 40])
def test_a_user_who_sends_long_jobs_to_one_node_does_not_accuse_it(sent: int) -> None:
    assert named(sent=sent, ratio=1.5) == []


def test_a_slow_node_to_which_a_user_sends_jobs_is_named() -> None:
    assert named(sent=25, ratio=1.01, slow=1.4) == ["n7"]
