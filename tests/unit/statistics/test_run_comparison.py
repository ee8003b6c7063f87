"""Comparisons of runs keep their error rates: intervals cover, sameness is claimed wrongly in few cases."""

import math

import numpy as np
import pytest

from seatrial.statistics.run_comparison import RunComparison, compare_runs
from tests.support.run_tables import JUMPING_PAIRS

SLOWER = 0.98


def draw(
    seed: int, runs: tuple[int, int], subjects: int, of_run: float, of_subject: float, factor: float
) -> RunComparison:
    chance = np.random.default_rng(seed)
    usual = chance.normal(0, 0.05, subjects)
    sets = [
        np.exp(usual + chance.normal(0, of_run, (count, 1)) + chance.normal(0, of_subject, (count, subjects)))
        for count in runs
    ]
    return compare_runs(sets[0], sets[1] * factor)


CASES = [
    ((5, 5), 40, 0.005, 0.005),
    ((2, 3), 40, 0.001, 0.008),
    ((3, 3), 1, 0.006, 0.0),
    ((6, 2), 8, 0.004, 0.006),
]


@pytest.mark.parametrize(("runs", "subjects", "of_run", "of_subject"), CASES)
def test_intervals_cover_the_planted_change_and_sameness_is_rarely_claimed(
    runs: tuple[int, int], subjects: int, of_run: float, of_subject: float
) -> None:
    """150 draws: the standard error of 95 % and of 5 % is 1.8 points. `bench/comparisons.py` draws more."""
    drawn = [draw(seed, runs, subjects, of_run, of_subject, SLOWER) for seed in range(150)]
    planted = math.log(SLOWER)
    of_subjects = np.mean([np.mean((r.subjects.low <= planted) & (planted <= r.subjects.high)) for r in drawn])
    together = np.mean([r.together.low[0] <= planted <= r.together.high[0] for r in drawn])
    claimed = np.mean([r.subjects.within(1 - SLOWER).mean() for r in drawn])
    assert 0.895 < of_subjects < 0.999
    assert 0.895 < together < 0.999
    assert claimed < 0.095


@pytest.mark.parametrize(("runs", "unequal", "factor"), [((2, 5), 1.5, 0.25), ((5, 2), 0.0, 4.0), ((5, 5), 1.0, 1.0)])
def test_sameness_is_rarely_claimed_where_sets_or_subjects_scatter_unequally(
    runs: tuple[int, int], unequal: float, factor: float
) -> None:
    """100 draws: the standard error of 5 % is 2.2 points. Pooled variances claimed it in up to 20 % of them."""
    chance = np.random.default_rng(3)
    claimed = []
    for _ in range(100):
        usual = chance.normal(0, 0.05, 30)
        own = 0.006 * np.exp(chance.normal(0, unequal, 30) - unequal**2 / 2)
        sets = [
            np.exp(usual + times * (chance.normal(0, 0.004, (count, 1)) + own * chance.normal(0, 1, (count, 30))))
            for count, times in zip(runs, (1.0, factor), strict=True)
        ]
        found = compare_runs(sets[0], sets[1] * SLOWER)
        claimed.append([found.subjects.within(1 - SLOWER).mean(), found.together.within(1 - SLOWER)[0]])
    assert (np.mean(claimed, axis=0) <= 0.095).all()


@pytest.mark.parametrize(("runs", "least"), [((2, 5), 0.78), ((5, 2), 0.78), ((3, 5), 0.87)])
def test_intervals_allow_for_sets_that_scatter_unequally(runs: tuple[int, int], least: float) -> None:
    """300 draws: the standard error is about 2 points. Pooled variances covered it in 72 % with 2 and 5 runs."""
    chance = np.random.default_rng(11)
    covered = []
    for _ in range(300):
        times = (4.0, 1.0) if runs[0] < runs[1] else (1.0, 4.0)
        sets = [
            np.exp(wide * chance.normal(0, 0.004, (count, 1)) + np.zeros((count, 8)))
            for count, wide in zip(runs, times, strict=True)
        ]
        together = compare_runs(sets[0], sets[1] * SLOWER).together
        covered.append(together.low[0] <= math.log(SLOWER) <= together.high[0])
    assert np.mean(covered) >= least


def test_runs_that_resemble_the_one_before_are_worth_fewer() -> None:
    """Taken as independent, sets of 20 runs with an autocorrelation of 0.6 differed by chance in 19 % of draws."""
    chance = np.random.default_rng(5)
    wrong = []
    for _ in range(150):
        runs = [chance.normal()]
        while len(runs) < 40:
            runs.append(0.6 * runs[-1] + 0.8 * chance.normal())
        values = np.exp(0.01 * np.array(runs)[:, None] + chance.normal(0, 0.01, (40, 8)))
        wrong.append(compare_runs(values[:20], values[20:]).together.p_value[0] < 0.01)
    assert np.mean(wrong) <= 0.08


def test_a_set_without_any_scatter_is_compared_with_one_that_has_some() -> None:
    runs = np.array([[1.0, 1.0], [1.02, 1.02], [0.98, 0.98]])
    together = compare_runs(np.ones((4, 2)), runs).together
    assert together.low[0] < 0 < together.high[0]


def test_one_run_of_a_set_shows_no_sameness_and_two_quiet_ones_do() -> None:
    chance = np.random.default_rng(4)
    quiet = [np.exp(chance.normal(0, 0.0002, (4, 20))) for _ in range(2)]
    assert not compare_runs(quiet[0], quiet[1][:1]).together.within(0.02).any()
    assert compare_runs(quiet[0], quiet[1][:2]).together.within(0.02).all()


def test_a_change_of_all_subjects_is_never_certain_because_there_are_many() -> None:
    """The deviation of a whole run is shared: 400 subjects of 2 runs each are still 2 runs."""
    wrong = [draw(seed, (2, 2), 400, 0.01, 0.001, 1.0) for seed in range(60)]
    named = np.mean([(r.subjects.p_value < 0.05).mean() for r in wrong])
    assert named < 0.14


def test_pairs_that_jump_between_levels_do_not_make_all_of_them_slower() -> None:
    found = compare_runs(JUMPING_PAIRS[:2], JUMPING_PAIRS[2:])
    assert found.levels.run < 0.01, "the medians of each set agree by chance"
    assert found.together.low[0] < 0 < found.together.high[0]
    assert found.together.p_value[0] > 0.05


def test_all_subjects_together_are_rarely_changed_by_the_jumps_of_some() -> None:
    """200 draws of 2 and 2 runs in which a third of the pairs' values are 40 % higher: 1 % may be wrong."""
    chance = np.random.default_rng(8)
    drawn = [np.exp(chance.normal(0, 0.005, (4, 6)) + 0.34 * (chance.random((4, 6)) < 1 / 3)) for _ in range(200)]
    wrong = [compare_runs(each[:2], each[2:]).together.p_value[0] < 0.01 for each in drawn]
    assert np.mean(wrong) <= 0.02


def test_a_pair_that_jumps_as_others_do_is_not_slower() -> None:
    """Latencies of six pairs without any change: the second pair did 12 in both runs before, and 19 afterwards."""
    values = np.array(
        [
            [9.08, 11.74, 24.46, 11.82, 19.09, 9.43],
            [8.97, 11.51, 19.05, 19.16, 11.88, 9.53],
            [9.24, 19.06, 19.14, 18.98, 19.07, 9.45],
            [9.30, 19.02, 19.07, 18.94, 19.14, 9.51],
        ]
    )
    found = compare_runs(values[:2], values[2:]).subjects
    assert found.p_value[1] == pytest.approx(2 * (2 / 12 / 2) ** 2, rel=1e-3)
    assert found.relative_p[1] > 0.01
    assert math.exp(found.low[1]) < 1.4, "1.57 if nothing jumped"
    assert math.exp(found.high[1]) > 1.9, "1.71 if nothing jumped"


def test_one_unsteady_pair_says_nothing_of_the_others() -> None:
    chance = np.random.default_rng(3)
    values = np.exp(chance.normal(0, 0.005, (6, 12)))
    values[3:, 2] *= 0.7
    alone = compare_runs(values[:3], values[3:]).subjects.p_value[2]
    values[[1, 4, 5], 7] *= 0.7
    assert alone < 0.001
    assert compare_runs(values[:3], values[3:]).subjects.p_value[2] < 0.001


def test_few_pairs_are_called_changed_where_many_jump() -> None:
    """50 draws of 2 and 2 runs: a third of all values are 57 % higher. Before, a pair was named in 64 of 100."""
    chance = np.random.default_rng(5)
    drawn = [np.exp(chance.normal(0, 0.01, (4, 56)) + 0.45 * (chance.random((4, 56)) < 1 / 3)) for _ in range(50)]
    named = [compare_runs(each[:2], each[2:]).subjects.p_value.min() < 0.01 / 56 for each in drawn]
    assert np.mean(named) <= 0.05


def test_nodes_are_no_surer_than_the_jumps_of_their_pairs() -> None:
    """Medians over three pairs that jump: they agree within each set by chance."""
    nodes = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.01, 0.99, 1.0], [0.83, 1.0, 1.01, 1.0], [0.82, 1.01, 1.0, 0.99]])
    jumps = compare_runs(JUMPING_PAIRS[:2], JUMPING_PAIRS[2:]).jumps
    assert compare_runs(nodes[:2], nodes[2:]).subjects.p_value[0] < 0.01
    careful = compare_runs(nodes[:2], nodes[2:], pairs=jumps).subjects
    assert careful.p_value[0] > 0.05
    assert careful.low[0] < 0 < careful.high[0]


def test_a_loss_of_all_subjects_is_seen_beside_a_single_wild_run() -> None:
    chance = np.random.default_rng(9)
    values = np.exp(chance.normal(0, 0.002, (6, 30)))
    values[3:] *= 0.95
    values[4, 7] *= 3
    assert compare_runs(values[:3], values[3:]).together.p_value[0] < 0.001


def test_one_run_each_has_no_interval_but_shows_who_changed_otherwise() -> None:
    chance = np.random.default_rng(1)
    first = np.exp(chance.normal(0, 0.003, (1, 64)))
    second = first * np.exp(chance.normal(0, 0.003, (1, 64)))
    second[0, 7] *= 0.9
    found = compare_runs(first, second)
    assert not np.isfinite(found.subjects.high).any()
    assert np.isnan(found.together.p_value[0])
    assert math.isnan(found.levels.run)
    assert not found.subjects.within(0.5).any()
    assert np.flatnonzero(found.subjects.relative_p < 1e-6).tolist() == [7]
    assert math.exp(found.subjects.relative[7]) == pytest.approx(0.9, abs=0.02)


def test_the_estimate_is_the_ratio_of_geometric_means_whatever_is_missing() -> None:
    first = np.array([[100.0, 50.0], [110.0, np.nan]])
    second = np.array([[90.0, 60.0], [np.nan, 60.0]])
    found = compare_runs(first, second)
    assert np.exp(found.subjects.change) == pytest.approx([90 / math.sqrt(100 * 110), 60 / 50])
    assert found.runs == (2, 2)


def test_equal_values_are_the_same_and_never_a_division_by_zero() -> None:
    values = np.full((3, 6), 7.0)
    found = compare_runs(values, values.copy())
    assert found.subjects.within(0.001).all()
    assert found.together.within(0.001).all()
    assert (found.subjects.p_value > 0.99).all()


def test_deviations_of_each_level_are_found_again() -> None:
    levels = [draw(seed, (10, 10), 100, 0.01, 0.004, 1.0).levels for seed in range(30)]
    assert np.mean([each.run for each in levels]) == pytest.approx(0.01, rel=0.1)
    assert np.mean([each.subject_run for each in levels]) == pytest.approx(0.004, rel=0.1)
    assert np.mean([each.subject for each in levels]) == pytest.approx(0.05, rel=0.1)
