"""Effects within strata: sizes and errors of planted ones, and counts against exact sums."""

import itertools
import math

import numpy as np
import pytest

from seatrial.statistics.strata import (
    ENDLESS,
    Members,
    attainable,
    failures_of,
    midranks,
    shares_of,
    shift_of,
    slowness,
    tail_of_sum,
)


def made(
    seed: int, *, strata: int = 40, jobs: int = 12, count: int = 10, planted: float = 0.0
) -> tuple[np.ndarray, Members]:
    """Jobs of one member each; member 3 takes longer by `planted`."""
    random = np.random.default_rng(seed)
    stratum = np.repeat(np.arange(strata), jobs)
    member = random.integers(0, count, strata * jobs)
    logs = random.normal(0, 3, strata)[stratum] + 0.3 * random.standard_t(3, strata * jobs) + planted * (member == 3)
    return logs, Members(stratum=stratum, job=np.arange(strata * jobs), member=member, count=count)


def test_midranks_share_ties_within_strata() -> None:
    ranks = midranks(np.array([5.0, 1.0, 5.0, 2.0, 9.0]), np.array([0, 0, 0, 1, 1]))
    assert ranks.tolist() == [2.5, 1.0, 2.5, 1.0, 2.0]


def test_the_planted_member_stands_out_with_its_size() -> None:
    logs, members = made(1, planted=math.log(1.5))
    deviations, error = slowness(logs, members)
    assert int(np.argmax(deviations)) == 3 and deviations[3] > 5
    shift = shift_of(logs, members, 3, 1.96, np.arange(40) % 8)
    assert shift.low < math.log(1.5) < shift.high
    assert (shift.high - shift.low) / 3.92 == pytest.approx(error[3], rel=0.6)
    assert 0 < shift.shrunk < shift.value
    assert shift.groups == 8 and shift.longer >= 6


def test_healthy_members_are_standard_normal() -> None:
    deviations = np.concatenate([slowness(*made(seed))[0] for seed in range(60)])
    assert deviations.mean() == pytest.approx(0, abs=0.1)
    assert deviations.std() == pytest.approx(1, abs=0.1)


def test_intervals_hold() -> None:
    holds = 0
    for seed in range(100):
        logs, members = made(seed, strata=10, planted=0.4)
        shift = shift_of(logs, members, 3, 1.96, np.zeros(10, int))
        holds += shift.low <= 0.4 <= shift.high
    assert holds >= 90


def test_a_time_that_was_cut_off_is_longer_than_all_others() -> None:
    logs, members = made(2, planted=0.0)
    logs[members.jobs_of(3)] = ENDLESS
    deviations, _ = slowness(logs, members)
    assert int(np.argmax(deviations)) == 3
    assert shift_of(logs, members, 3, 1.96, np.zeros(40, int)).value > 10


def test_a_member_alone_in_its_strata_is_not_compared() -> None:
    stratum = np.array([0, 0, 1, 1])
    members = Members(stratum=stratum, job=np.arange(4), member=np.array([0, 0, 1, 2]), count=3)
    deviations, _ = slowness(np.array([1.0, 2.0, 3.0, 4.0]), members)
    assert np.isnan(deviations).tolist() == [True, False, False]


def test_jobs_that_are_left_out_do_not_count() -> None:
    logs, members = made(3, planted=2.0)
    left = np.zeros(len(logs), bool)
    left[members.jobs_of(3)] = True
    deviations, _ = slowness(logs, members.without(left))
    assert np.isnan(deviations[3]) and np.nanmax(np.abs(deviations)) < 4


def test_the_tail_of_a_sum_is_exact() -> None:
    draws = [(2, 3, 6), (3, 2, 5)]
    chances = []
    for drawn, marked, total in draws:
        ways = list(itertools.combinations(range(total), drawn))
        chances.append([sum(sum(hit < marked for hit in way) == hits for way in ways) / len(ways) for hits in range(4)])
    exact = sum(chances[0][one] * chances[1][two] for one in range(4) for two in range(4) if one + two >= 3)
    assert tail_of_sum(3, draws) == pytest.approx(exact)


@pytest.mark.parametrize("strata", [1, 4, 20])
def test_a_small_tail_keeps_its_digits(strata: int) -> None:
    """All of the two marked of twenty are the two that are drawn, in each stratum."""
    assert tail_of_sum(2 * strata, [(2, 2, 20)] * strata) == pytest.approx(math.comb(20, 2) ** -strata, rel=1e-9)


def test_failures_of_the_planted_member_only() -> None:
    random = np.random.default_rng(4)
    _, members = made(4)
    failed = random.random(len(members.stratum)) < np.where(members.member == 3, 0.4, 0.03)
    counted = failures_of(failed, members)
    assert counted.p_value[3] < 1e-6
    assert np.delete(counted.p_value, 3).min() > 1e-3
    assert counted.failed[3] > 3 * counted.expected[3]


def test_no_member_ranks_higher_than_is_attainable() -> None:
    logs, members = made(5, strata=3)
    most = attainable(members, shares_of(members))
    logs = logs + 100.0 * (members.member == 3)
    deviations, _ = slowness(logs, members)
    assert deviations[3] == pytest.approx(most[3])
    assert np.nanmax(np.abs(np.delete(deviations, 3)) - np.delete(most, 3)) < 0


@pytest.mark.parametrize(("failures", "shown"), [(1, False), (2, True)])
def test_one_failure_shows_nothing(failures: int, shown: bool) -> None:
    """Two of 10,000 jobs are on member 0, and its failures are the only ones."""
    member = np.r_[0, 0, np.ones(9998, np.intp)]
    members = Members(stratum=np.zeros(10_000, np.intp), job=np.arange(10_000), member=member, count=2)
    p_value = failures_of(np.arange(10_000) < failures, members).p_value[0]
    assert (p_value < 1e-7) == shown
    assert (p_value == 1.0) != shown
