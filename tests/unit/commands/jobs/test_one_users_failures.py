"""Failures that users send to one node count once if others' jobs run well there; those of placed jobs count each."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from seatrial.commands.jobs.concurrent_failures import DAY_S, JobUses, binomial_tail, repeated_failures
from seatrial.statistics.strata import Members, shares_of
from tests.support.job_histories import judged_records, record_of

NODES, DAYS, USERS = 30, 14, 5
COMPLETED, FAILED, CRASHED = "COMPLETED|0:0", "FAILED|1:0", "FAILED|0:11"
OUT_OF_MEMORY, TIMED_OUT, NODE_FAILED = "OUT_OF_MEMORY|0:125", "TIMEOUT|0:0", "NODE_FAIL|0:0"
HOUR_S = 3600.0
BROUGHT = 140
"""Good jobs on 30 other members: that none of as many came to one is more probable than 1 %, of one more less."""
Job = tuple[str, float, str, int]
"""User, seconds from the first day on, ending, and number of the node; the name of the program is that of its user."""


def usual(seed: int, failing: float = 0.0, users: Sequence[int] = range(USERS)) -> list[Job]:
    """Jobs of all users on all nodes, of which few fail. `failing`: share of those of some users on n7 besides."""
    random = np.random.default_rng(seed)
    jobs: list[Job] = []
    for day in range(DAYS):
        for user in range(USERS):
            for _ in range(30):
                node = int(random.integers(1, NODES + 1))
                bad = random.random() < (failing if node == 7 and user in users else 0.02)
                jobs.append((f"u{user}", day * DAY_S + random.uniform(0, 86000), FAILED if bad else COMPLETED, node))
    return jobs


def named(jobs: Sequence[Job], *, perhaps_sent: bool = False) -> list[str]:
    text = []
    for number, (user, time, ending, node) in enumerate(sorted(jobs, key=lambda job: job[1])):
        day, rest = divmod(int(time), int(DAY_S))
        begun = f"2026-03-{day + 2:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        text.append(record_of(number, node, user, user=user, time=begun, seconds=600, ended=ending))
    return [node.node for node in judged_records(text).failing if node.perhaps_sent is perhaps_sent]


def debugged(seed: int, ending: str, *, failures: int = 12, production: int = 20, user: str = "dev") -> list[Job]:
    """One afternoon on n7, while the same program does its work elsewhere."""
    random = np.random.default_rng(seed)
    jobs: list[Job] = [(user, 5 * DAY_S + 13 * HOUR_S + 900.0 * place, ending, 7) for place in range(failures)]
    jobs += [(user, 5 * DAY_S + random.uniform(0, 86000), COMPLETED, int(random.integers(8, NODES + 1)))
             for _ in range(production)]  # fmt: skip
    return jobs


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "debugging",
    [
        partial(debugged, ending=FAILED),
        partial(debugged, ending=CRASHED),
        partial(debugged, ending=OUT_OF_MEMORY),
        partial(debugged, ending=TIMED_OUT),
        partial(debugged, ending=CRASHED, failures=30, production=150),
        partial(debugged, ending=CRASHED, user="u1"),
    ],
)
def test_a_program_that_is_debugged_on_one_node_blames_it_not(debugging: "partial[list[Job]]", seed: int) -> None:
    jobs = [*usual(seed), *debugging(seed)]
    assert named(jobs) == named(jobs, perhaps_sent=True) == []


def test_a_node_that_swallows_the_jobs_of_one_user_until_it_is_repaired_is_named() -> None:
    begin = 5 * DAY_S + 8 * HOUR_S
    others = [job for job in usual(1) if job[3] != 7 or not begin < job[1] < begin + 2 * DAY_S]
    swallowed: list[Job] = [("u0", begin + 60 * place, FAILED, 7) for place in range(20)]
    elsewhere: list[Job] = [("u0", begin + 60 * place, COMPLETED, 8 + place % 20) for place in range(30)]
    assert named([*others, *swallowed, *elsewhere]) == ["n7"]


def test_without_other_users_the_same_failures_name_the_node() -> None:
    assert named(debugged(1, CRASHED, production=200)) == ["n7"]


def test_failures_that_are_never_a_programs_count_each() -> None:
    assert named([*usual(1), *debugged(1, NODE_FAILED)]) == ["n7"]


@pytest.mark.parametrize("counts", [(12, 0, 0), (8, 2, 2), (5, 5, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_input_on_three_free_nodes_blames_none(counts: Sequence[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    morning: list[Job] = [
        ("dev", 5 * DAY_S + 8 * HOUR_S + random.uniform(0, HOUR_S), FAILED, 7 + place)
        for place, number in enumerate(counts)
        for _ in range(number)
    ]
    later: list[Job] = [("dev", 5 * DAY_S + 15 * HOUR_S + 60.0 * place, COMPLETED, place + 1) for place in range(NODES)]
    assert named([*usual(seed), *morning, *later]) == []


@pytest.mark.parametrize(("failing", "users"), [(0.5, range(USERS)), (0.9, [1, 2])])
def test_failures_of_several_users_or_days_name_the_node(failing: float, users: Sequence[int]) -> None:
    assert named(usual(3, failing, users)) == ["n7"]


def of_three_users(seed: int, *, failures: int, production: int, apart_s: float = 900.0) -> list[Job]:
    """Three users who try a program on n7 on one day, while the same programs do their work elsewhere."""
    random = np.random.default_rng(seed)
    jobs = usual(seed)
    for user in ("ann", "ben", "eve"):
        jobs += [(user, 5 * DAY_S + 2 * HOUR_S + apart_s * place, FAILED, 7) for place in range(failures)]
        jobs += [(user, 5 * DAY_S + random.uniform(0, 86000), COMPLETED, int(random.integers(1, NODES + 1)))
                 for _ in range(production)]  # fmt: skip
    return jobs


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("failures", "production", "apart_s"),
    [(4, 200, 900.0), (8, 60, 900.0), (12, 200, 900.0), (6, 60, 7200.0), (6, 200, 7200.0)],
)
def test_users_who_try_their_programs_on_one_node_do_not_accuse_it(
    failures: int, production: int, apart_s: float, seed: int
) -> None:
    assert named(of_three_users(seed, failures=failures, production=production, apart_s=apart_s)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_node_that_breaks_the_program_of_one_user_is_named(seed: int) -> None:
    """The scheduler places the jobs, and those of all others run well there."""
    random = np.random.default_rng(seed)
    jobs = usual(seed)
    for day in (10, 11, 12, 13):
        for _ in range(100):
            node = int(random.integers(1, NODES + 1))
            ending = CRASHED if node == 7 and random.random() < 0.9 else COMPLETED
            jobs.append(("gpu", day * DAY_S + random.uniform(0, 86000), ending, node))
    assert named(jobs) == ["n7"]


def of_one_day(seed: int, *, bad: int) -> list[Job]:
    """19 jobs of a program on each of 8 nodes on one day, of which `bad` fail on n7."""
    random = np.random.default_rng(seed)
    return [
        ("ann", 5 * DAY_S + random.uniform(0, 86000), FAILED if node == 7 and place < bad else COMPLETED, node)
        for node in range(1, 9)
        for place in range(19)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_node_with_failures_among_as_many_jobs_as_others_have_is_doubted(seed: int) -> None:
    jobs = [*usual(seed), *of_one_day(seed, bad=8)]
    assert (named(jobs), named(jobs, perhaps_sent=True)) == ([], ["n7"])


@pytest.mark.parametrize(("bad", "expected"), [(2, []), (19, ["n7"])])
def test_few_failures_and_those_in_place_of_good_jobs_leave_no_doubt(bad: int, expected: list[str]) -> None:
    jobs = [*usual(1), *of_one_day(1, bad=bad)]
    assert (named(jobs), named(jobs, perhaps_sent=True)) == (expected, [])


@pytest.mark.parametrize("failures", [5, 10])
@pytest.mark.parametrize("seed", range(2))
def test_tasks_that_begin_together_on_a_shared_node_do_not_accuse_it(failures: int, seed: int) -> None:
    """Ten tasks of an array run on each of ten nodes; the first ones fail."""
    tasks: list[Job] = [
        ("array", 5 * DAY_S + 9 * HOUR_S, FAILED if place < failures else COMPLETED, 7 + place // 10)
        for place in range(100)
    ]
    assert named([*usual(seed), *tasks]) == named([*usual(seed), *tasks], perhaps_sent=True) == []


def repeated(
    others: Sequence[tuple[float, bool]] = (),
    *,
    between: int = 0,
    days: Sequence[int] = (1, 1, 1, 1),
    failing: Sequence[int] = (0, 0, 0, 0),
    users: Sequence[int] = (2,) * 9,
) -> list[int]:
    """Numbers of the repeated ones of the failures on member 0, an hour apart.

    `others`: jobs of `users` there, by time after the last of them, and whether they completed; `between`: jobs
    elsewhere before the last failure; `failing`: users of the failures, whose programs completed on 30 other members.
    """
    rows = [(user, day, True, 0, HOUR_S * place) for place, (user, day) in enumerate(zip(failing, days, strict=True))]
    rows += [
        (user, 1, not completed, 0, 3 * HOUR_S + time) for (time, completed), user in zip(others, users, strict=False)
    ]
    rows += [(0, 1, False, 1 + place % 30, 2.5 * HOUR_S) for place in range(between)]
    rows += [(user, 9, False, member, 9 * DAY_S) for user in range(2) for member in range(1, 31)]
    user, day, failed, member, began = (np.array(column) for column in zip(*rows, strict=True))
    members = Members(stratum=user, job=np.arange(len(rows)), member=member, count=31)
    uses = JobUses(user=user, family=user, day=day, completed=~failed, began=lambda: began)
    return np.flatnonzero(repeated_failures(failed, members, shares_of(members), uses, 0)).tolist()


REPEATED = [1, 2, 3]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], []),
        ([(-HOUR_S, True)], REPEATED),
        ([(-4 * HOUR_S, True)], []),
        ([(0.0, True), (1.0, False)], []),
        ([(0.0, True), (1.0, False), (2.0, True)], REPEATED),
        ([(0.0, False), (DAY_S - 1, True), (DAY_S, True)], REPEATED),
        ([(0.0, False), (DAY_S - 1, True), (DAY_S + 1, True)], []),
        ([(DAY_S, True)], REPEATED),
        ([(DAY_S + 1, True)], []),
    ],
)
def test_jobs_of_others_show_whether_the_node_works(others: Sequence[tuple[float, bool]], expected: list[int]) -> None:
    assert repeated(others) == expected


@pytest.mark.parametrize(("between", "expected"), [(BROUGHT, REPEATED), (BROUGHT + 1, [])])
def test_failures_between_which_fewer_good_jobs_began_there_than_chance_brings_count_each(
    between: int, expected: list[int]
) -> None:
    assert repeated([(0.0, True)], between=between) == expected


def test_failures_of_several_days_count_once_a_day() -> None:
    assert repeated([(0.0, True)], days=(1, 1, 2, 2)) == [1, 3]
    assert repeated([(0.0, True)], days=(1, 1, 1, 2)) == [1, 2]


def test_failures_of_several_users_of_a_day_count_once() -> None:
    assert repeated([(0.0, True)], failing=(0, 0, 0, 1, 1, 1), days=(1,) * 6) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("users", "expected"), [((2, 2, 2, 3), []), ((2, 2, 2, 3, 4), REPEATED)])
def test_other_users_count_alike_however_many_jobs_they_have(users: Sequence[int], expected: list[int]) -> None:
    """The first of them has three failures."""
    others = [(float(place), place >= 3) for place in range(len(users))]
    assert [number for number in repeated(others, users=users) if number < 4] == expected


@pytest.mark.parametrize(
    ("chance", "least", "expected"),
    [(0.25, -1, 1.0), (0.25, 0, 1.0), (0.25, 1, 1 - 0.75**4), (0.25, 4, 0.25**4), (0.25, 5, 0.0),
     (0.0, 0, 1.0), (0.0, 1, 0.0), (1.0, 4, 1.0), (1.0, 5, 0.0)],
)  # fmt: skip
def test_hits_are_binomial_and_without_chance_all_or_none(chance: float, least: int, expected: float) -> None:
    assert binomial_tail(least, 4, chance) == pytest.approx(expected)
