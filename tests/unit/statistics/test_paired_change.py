"""Groups before and after a day: planted changes are named with their size, others are not."""

import math

import numpy as np
import pytest

from seatrial.statistics.paired_change import (
    DRAWS,
    ENOUGH,
    TESTS,
    GroupChanges,
    changes_at,
    course,
    day_medians,
    pooled_change,
)
from seatrial.statistics.strata import ENDLESS


def jobs(
    seed: int, factors: dict[int, float], groups: int = 12, size: int = 3000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms, groups and days of jobs in 40 days; the mix changes, and days have a mood of their own."""
    random = np.random.default_rng(seed)
    day = random.integers(1, 41, size)
    group = (random.random(size) ** np.where(day > 20, 0.7, 1.3) * groups).astype(int)
    mood = 0.05 * random.standard_normal((groups, 41))
    later = np.array([math.log(factors.get(number, 1.0)) for number in range(groups)])
    logs = group * 1.0 + mood[group, day] + 0.3 * random.standard_t(3, size) + later[group] * (day > 20)
    return logs, group, day


def test_the_median_of_each_day() -> None:
    medians = day_medians(np.array([3.0, 1.0, 2.0, 7.0]), np.array([0, 0, 0, 1]), np.array([5, 5, 6, 5]))
    assert (medians.group.tolist(), medians.day.tolist(), medians.value.tolist()) == ([0, 0, 1], [5, 6, 5], [2, 2, 7])


def test_planted_changes_are_named_with_their_size() -> None:
    planted = {2: 1.3, 5: 2.0, 9: 4.0}
    right = 0
    for seed in range(20):
        changes = changes_at(day_medians(*jobs(seed, planted, size=8000)), 21, 12, 0.01)
        exact = set(np.flatnonzero(changes.named)) == set(planted)
        right += exact and all(changes.low[at] < math.log(factor) < changes.high[at] for at, factor in planted.items())
    assert right >= 18


def test_a_change_of_mix_is_no_change() -> None:
    named = [changes_at(day_medians(*jobs(seed, {})), 21, 12, 0.01).named.any() for seed in range(40)]
    assert sum(named) <= 3


def test_a_group_on_one_side_is_not_compared() -> None:
    medians = day_medians(np.zeros(8), np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.array([1, 2, 3, 4, 5, 6, 4, 5]))
    changes = changes_at(medians, 4, 2, 0.01)
    assert np.isnan(changes.change).tolist() == [False, True]
    assert not changes.named.any()


def test_two_kinds_of_jobs_hide_no_change() -> None:
    """A third of the days have short jobs only; means of days scatter by a factor of ten, ranks do not."""
    random = np.random.default_rng(3)
    day = np.arange(1, 121)
    value = np.where(random.random(120) < 0.3, 5.0, 9.0) + 0.02 * random.standard_normal(120)
    medians = day_medians(value + math.log(1.3) * (day > 60), np.zeros(120, int), day)
    changes = changes_at(medians, 61, 1, 0.01)
    assert changes.named.all()
    assert changes.low[0] < math.log(1.3) < changes.high[0]
    assert changes.change[0] == pytest.approx(math.log(1.3), abs=0.05)


def test_times_that_are_cut_off_leave_the_interval_open() -> None:
    """Jobs take four times as long and are cut off at twice their time."""
    random = np.random.default_rng(4)
    day = np.arange(1, 41)
    value = 6.0 + 0.02 * random.standard_normal(40) + math.log(4.0) * (day > 20)
    cut_off = value > 6.0 + math.log(2.0)
    ended = day_medians(np.minimum(value, 6.0 + math.log(2.0)), np.zeros(40, int), day)
    medians = day_medians(np.where(cut_off, ENDLESS, value), np.zeros(40, int), day)
    changes = changes_at(medians, 21, 1, 0.01, ended)
    assert changes.named.all()
    assert changes.low[0] <= changes.change[0] == pytest.approx(math.log(2.0), abs=0.03)
    assert math.isinf(changes.high[0])


def test_whole_seconds_widen_the_interval_of_short_jobs() -> None:
    value = np.log(np.repeat([8.0, 10.0], 20))
    medians = day_medians(value, np.zeros(40, int), np.arange(1, 41))
    exact, counted = (changes_at(medians, 21, 1, 0.01, step=step) for step in (0.0, 1.0))
    assert exact.low[0] == exact.high[0]
    assert counted.low[0] < math.log(1.3) < counted.high[0]


def test_all_groups_together() -> None:
    changes = changes_at(day_medians(*jobs(7, dict.fromkeys(range(12), 1.2))), 21, 12, 0.01)
    value, error = pooled_change(changes)
    assert value == pytest.approx(math.log(1.2), abs=4 * error)
    assert error < 0.05


def test_the_course_steps_where_all_change() -> None:
    days, series = course(day_medians(*jobs(8, dict.fromkeys(range(12), 1.5))), 12)
    assert series[days > 20].mean() - series[days <= 20].mean() > 0.5


def of_two_kinds(short_before: float, short_after: float, factor: float, seed: int) -> GroupChanges:
    """One group on 100 days, with a share of days of short jobs before and after; long ones take 3 times as long."""
    random = np.random.default_rng(seed)
    day = np.arange(1, 101)
    short = random.random(100) < np.where(day > 50, short_after, short_before)
    value = np.where(short, 8.0, 8.0 + math.log(3.0)) + 0.02 * random.standard_normal(100)
    medians = day_medians(value + math.log(factor) * (day > 50), np.zeros(100, int), day)
    return changes_at(medians, 51, 1, 0.01)


@pytest.mark.parametrize("seed", range(2))
def test_a_change_of_mix_within_a_group_is_no_change(seed: int) -> None:
    changes = of_two_kinds(0.8, 0.35, 1.0, seed)
    assert changes.p_value[0] < 0.01
    assert not changes.named.any()


@pytest.mark.parametrize("seed", range(2))
def test_kinds_that_lie_farther_apart_than_the_change_do_not_hide_it(seed: int) -> None:
    """Days of short jobs are more afterwards, so that the ranks alone show too little."""
    changes = of_two_kinds(0.3, 0.45, 2.0, seed)
    assert changes.named.all()
    assert changes.low[0] <= math.log(2.0) <= changes.high[0]


def every_draw(values: np.ndarray, first: int) -> float:
    """Probability of Besag and Clifford, of one permutation after another."""

    def gain(days: np.ndarray) -> float:
        far = np.subtract.outer(days[first:], days[:first])
        return float(np.abs(far).mean() - np.abs(far - np.median(far)).mean())

    draw, hits = np.random.default_rng(1), 0
    for number in range(1, DRAWS + 1):
        hits += gain(draw.permutation(values)) >= gain(values)
        if hits == ENOUGH:
            return hits / number
    return (hits + 1) / (DRAWS + 1)


@pytest.mark.parametrize(
    ("kinds", "noise", "step", "digits", "seed"),
    [
        (3.0, 0.05, 0.2, 1, 5),
        (3.0, 0.05, 0.2, 1, 6),
        (3.0, 0.02, 0.3, 2, 2),
        (3.0, 0.1, 0.1, 9, 4),
        (0.0, 0.3, 0.25, 1, 11),
        (0.0, 0.3, 0.25, 9, 21),
        (0.0, 0.3, 0.25, 9, 33),
    ],
)
def test_no_draw_is_passed_over_that_brings_days_together_as_well(
    kinds: float, noise: float, step: float, digits: int, seed: int
) -> None:
    """Only draws whose energy distance permits it are computed in full; rounded times have many equal distances."""
    random = np.random.default_rng(seed)
    values = kinds * (random.random(34) < 0.4) + noise * random.standard_normal(34) + step * (np.arange(34) >= 20)
    values = np.round(8 + values, digits)
    changes = changes_at(day_medians(values, np.zeros(34, int), np.arange(34)), 20, 1, 0.01)
    assert changes.p_value[0] == TESTS * every_draw(values, 20)
